import { z } from 'zod';
import { systems } from '../../../../domain/fhirElements.ts';
import { stateCode } from '../../../../domain/records/schema/states.ts';
import {
  addressFields,
  addressSchema,
  chooseAddress,
  chooseContact,
  chooseName,
  contactPointSchema,
  humanNameSchema,
  identifierOf,
  identifierSchema,
  listOf,
  type Reference,
  referenceSchema,
} from './elements.ts';
import {
  type FieldReference,
  type Issue,
  type MappedRecord,
  type MappingContext,
  refused,
  remarked,
} from './issues.ts';

/** The parts of a Patient (FHIR R4, 8.1) that are used. */
export const patientSchema = z.object({
  resourceType: z.literal('Patient'),
  id: z.string().optional(),
  identifier: listOf(identifierSchema).optional(),
  name: listOf(humanNameSchema).optional(),
  telecom: listOf(contactPointSchema).optional(),
  gender: z.enum(['male', 'female', 'other', 'unknown']).optional(),
  birthDate: z.string().optional(),
  address: listOf(addressSchema).optional(),
  active: z.boolean().optional(),
  deceasedBoolean: z.boolean().optional(),
  deceasedDateTime: z.string().optional(),
  link: listOf(z.object({ type: z.string(), other: referenceSchema.optional() })).optional(),
});
type Patient = z.infer<typeof patientSchema>;

const WHOLE_DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Returns what a Patient says about a patient. */
export function mapPatient(patient: Patient, { at }: MappingContext): MappedRecord {
  const { identifier, name: names, telecom, gender, birthDate, address } = patient;
  const issues = remarksOn(patient);
  const name = chooseName(names, at);
  const [given, family] = [name?.given?.[0], name?.family];
  if (!given || !family) {
    issues.push(
      refused(
        'required',
        'Patient.name',
        'Send a name with given and family; its text does not separate them.',
      ),
    );
  }
  if (birthDate === undefined || !WHOLE_DATE.test(birthDate)) {
    issues.push(refused('required', 'Patient.birthDate', 'Send the full date, with month and day.'));
  }
  const home = chooseAddress(address, at);
  if (home?.state && stateCode(home.state).length !== 2) {
    const text = 'A state without a two-letter code is ignored.';
    issues.push(remarked('not-supported', 'Patient.address.state', text));
    delete home.state;
  }
  const ssn = identifierOf(identifier, systems.ssn)?.replaceAll(/\D/g, '');
  const [phone, email] = [chooseContact(telecom, 'phone', at), chooseContact(telecom, 'email', at)];
  return {
    of: 'record',
    kind: 'patient',
    fields: {
      first_name: given,
      last_name: family,
      date_of_birth: birthDate,
      ...(gender !== undefined && gender !== 'unknown' && { gender }),
      ...(phone && { phone }),
      ...(email && { email }),
      ...(ssn?.length === 9 && { ssn_last4: ssn.slice(-4) }),
      ...addressFields(home),
    },
    references: linksOf(patient, 'replaced-by').slice(0, 1),
    merged: linksOf(patient, 'replaces'),
    issues,
  };
}

/** One of two patients replaces the other, as both are the same person (FHIR R4, 8.1.10). */
const mergeLinks = ['replaced-by', 'replaces'];

/** Returns the patients named by links of a type. */
function linksOf({ link = [] }: Patient, type: string): FieldReference[] {
  const named = link.flatMap(({ other, ...one }) => (one.type === type && isOfPatient(other) ? [other] : []));
  return named.map((reference) => ({
    ...{ field: 'merged_into', kind: 'patient', expression: 'Patient.link.other' },
    reference,
  }));
}

/** It may also be a person who is related to the patient. */
function isOfPatient(other: Reference | undefined): other is Reference {
  const { reference, identifier, type } = other ?? {};
  if (reference === undefined) return identifier?.value !== undefined && type !== 'RelatedPerson';
  return !reference.includes('RelatedPerson/') && !reference.startsWith('#');
}

/** Returns remarks on what has no field in a patient but affects how they are to be understood. */
function remarksOn({ active, gender, link, deceasedBoolean, deceasedDateTime }: Patient): Issue[] {
  const remarks: [boolean, string, string][] = [
    [gender === 'unknown', 'gender', 'An unknown gender is ignored.'],
    [
      active === false,
      'active',
      'The record is marked as not in use. This is ignored: the patient is treated like any other.',
    ],
    [
      link?.some(({ type, other }) => mergeLinks.includes(type) && !isOfPatient(other)) === true,
      'link',
      'A link that does not name another patient by address or identifier is ignored.',
    ],
    [
      deceasedBoolean === true || deceasedDateTime !== undefined,
      'deceased',
      'The patient is marked as deceased. This is ignored.',
    ],
  ];
  return remarks.flatMap(([holds, element, text]) =>
    holds ? [remarked('informational', `Patient.${element}`, text)] : [],
  );
}
