import { z } from 'zod';
import { systems } from '../../../../domain/fhirElements.ts';
import {
  addressFields,
  addressSchema,
  type CodeableConcept,
  chooseAddress,
  chooseContact,
  chooseName,
  codeableConceptSchema,
  contactPointSchema,
  humanNameSchema,
  identifierSchema,
  inForce,
  listOf,
  numberOf,
  periodSchema,
  referenceSchema,
} from './elements.ts';
import {
  type Issue,
  type MappedRecord,
  type MappedRole,
  type MappingContext,
  type NothingMapped,
  refused,
  remarked,
} from './issues.ts';

/** The parts of a Practitioner (FHIR R4, 8.4) that are used. */
export const practitionerSchema = z.object({
  resourceType: z.literal('Practitioner'),
  id: z.string().optional(),
  identifier: listOf(identifierSchema).optional(),
  name: listOf(humanNameSchema).optional(),
  telecom: listOf(contactPointSchema).optional(),
  address: listOf(addressSchema).optional(),
});

/** Returns what a Practitioner says about a provider. */
export function mapPractitioner(
  practitioner: z.infer<typeof practitionerSchema>,
  { at }: MappingContext,
): MappedRecord {
  const { identifier, name: names, telecom, address } = practitioner;
  const issues: Issue[] = [];
  const name = chooseName(names, at);
  const [given, family] = [name?.given?.[0], name?.family];
  if (!given || !family) {
    issues.push(refused('required', 'Practitioner.name', 'Send a name with given and family.'));
  }
  const npi = numberOf(identifier, systems.npi);
  const contact = (system: string) => chooseContact(telecom, system, at, 'work');
  const [phone, email] = [contact('phone'), contact('email')];
  return {
    of: 'record',
    kind: 'provider',
    fields: {
      first_name: given,
      last_name: family,
      ...(npi && { npi }),
      ...(phone && { phone }),
      ...(email && { email }),
      ...addressFields(chooseAddress(address, at)),
    },
    references: [],
    issues,
  };
}

/** The parts of a PractitionerRole (FHIR R4, 8.5) that are used. */
export const practitionerRoleSchema = z.object({
  resourceType: z.literal('PractitionerRole'),
  id: z.string().optional(),
  active: z.boolean().optional(),
  period: periodSchema.optional(),
  practitioner: referenceSchema.optional(),
  code: listOf(codeableConceptSchema).optional(),
  specialty: listOf(codeableConceptSchema).optional(),
});

/** NUCC's set of provider taxonomy codes. */

/** Returns what a PractitionerRole says about its provider. */
export function mapPractitionerRole(
  role: z.infer<typeof practitionerRoleSchema>,
  { at }: MappingContext,
): MappedRole | NothingMapped {
  const { practitioner, specialty, code, active } = role;
  const coded = codingOf([...(specialty ?? []), ...(code ?? [])]);
  if (practitioner === undefined) {
    return left('PractitionerRole.practitioner', 'A role without a practitioner is ignored.');
  }
  if (active === false || !inForce(role, at)) {
    return left('PractitionerRole.active', 'A role that is not in force is ignored.');
  }
  if (!coded?.code) {
    return left(
      'PractitionerRole.specialty',
      'A role without a code from the NUCC provider taxonomy is ignored.',
    );
  }
  return {
    of: 'role',
    kind: 'provider',
    practitioner,
    fields: {
      taxonomy_code: coded.code,
      ...(coded.display && { specialty: coded.display }),
    },
    references: [],
    issues: [],
  };
}

function left(expression: string, text: string): NothingMapped {
  return { of: 'nothing', issues: [remarked('informational', expression, text)] };
}

function codingOf(concepts: readonly CodeableConcept[]) {
  return concepts.flatMap(({ coding = [] }) => coding).find(({ system }) => system === systems.taxonomy);
}
