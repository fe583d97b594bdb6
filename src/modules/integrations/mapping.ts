import { z } from 'zod';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import { visitTypes } from '../../domain/records/kinds/encounter.ts';
import { exactObject } from '../../domain/records/schema/validation.ts';

const places = ['city', 'state', 'zip_code', 'country'];
const fhirAddress = ['address_line_1', 'address_line_2', ...places];
const facilities = ['Organization', 'Location'];

/** For records that are only mentioned in passing. */
export const IN_PASSING = 'passing';

/** How fields are read from FHIR R4 resources. */
export const fhirRules: readonly MappingRule[] = [
  {
    ...{ name: 'id', sets: '`id`, `document_id`', fields: ['id', 'document_id'] },
    of: ['Patient', 'Organization', 'Location', 'Practitioner', 'Encounter', 'DocumentReference'],
    from: 'the `identifier` of the system that the source names for the type, else `id`',
  },
  {
    ...{ name: 'person.name', of: ['Patient', 'Practitioner'], sets: 'name' },
    fields: ['first_name', 'last_name'],
    from: '`name`: one with `given` and `family`, in force, official first',
  },
  {
    ...{ name: 'person.birth', of: ['Patient'], fields: ['date_of_birth'], sets: '`date_of_birth`' },
    from: '`birthDate`',
  },
  {
    ...{ name: 'person.gender', of: ['Patient'], fields: ['gender'], sets: '`gender`' },
    from: '`gender`; `unknown` says nothing',
  },
  {
    ...{ name: 'patient.merge', of: ['Patient'], fields: ['merged_into'], sets: '`merged_into`' },
    from: '`link.other` of the type `replaced-by`',
  },
  {
    ...{ name: 'person.ssn', of: ['Patient'], fields: ['ssn_last4'], sets: '`ssn_last4`' },
    from: '`identifier` of the system for Social Security numbers: its last four digits; the rest is never stored',
  },
  {
    ...{ name: 'organization.name', of: facilities, fields: ['name'], sets: 'name of a payer or facility' },
    from: '`name`, else the first `alias` of an Organization, the `description` of a Location',
  },
  {
    ...{ name: 'numbers', of: ['Organization', 'Location', 'Practitioner'] },
    sets: '`npi`, `tax_id`, `clia_number`, `payer_code`',
    fields: ['npi', 'tax_id', 'clia_number', 'payer_code'],
    from: '`identifier` of the systems for NPI, EIN, CLIA and NAIC numbers',
  },
  {
    ...{
      name: 'contact',
      of: ['Patient', 'Practitioner', ...facilities],
      sets: 'phone, fax, email, website',
    },
    fields: ['phone', 'email', 'fax', 'contact_phone', 'contact_email', 'website'],
    from: '`telecom`: by system, in force; of the best `rank`, then by use',
  },
  {
    ...{ name: 'address', of: ['Patient', 'Practitioner', ...facilities], sets: 'address' },
    fields: [...fhirAddress, 'address_line1', 'address_line2'],
    from: '`address`: in force, home first',
  },
  {
    ...{ name: 'role.specialty', of: ['PractitionerRole'], fields: ['taxonomy_code', 'specialty'] },
    sets: '`taxonomy_code`, `specialty`',
    from: 'a code of NUCC’s taxonomy in `specialty`, else in `code`',
  },
  {
    ...{ name: 'coverage', of: ['Coverage', 'ExplanationOfBenefit'], sets: 'insurance, its rank by `order`' },
    fields: [
      ...['payer_id', 'policy_number', 'group_number', 'effective_date', 'termination_date'],
      ...['subscriber_id', 'subscriber_relationship'],
    ],
    from: '`payor`; `identifier` of type `MB`, else `subscriberId`; `class` of type `group`; `period`; `relationship`',
  },
  {
    ...{ name: 'coverage.subscriber', of: ['Coverage', 'ExplanationOfBenefit'], sets: 'subscriber' },
    fields: ['first_name', 'last_name', 'date_of_birth', 'address_line_1', ...places].map(
      (field) => `subscriber_${field}`,
    ),
    from: 'the resource to which `subscriber` refers, unless the relationship is `self`',
  },
  {
    ...{ name: 'encounter.patient', of: ['Encounter'], fields: ['patient_id'], sets: '`patient_id`' },
    from: '`subject`',
  },
  {
    ...{ name: 'encounter.participants', of: ['Encounter'], sets: '`provider_id`, `rendering_provider_id`' },
    fields: ['provider_id', 'rendering_provider_id'],
    from: '`participant`: who is `ATND`, else `PPRF`; who is `PPRF`; the first where none has a type',
  },
  {
    ...{ name: 'encounter.facility', of: ['Encounter'], fields: ['facility_id'], sets: '`facility_id`' },
    from: '`location` that is not `completed`, else `serviceProvider`',
  },
  {
    ...{ name: 'encounter.time', of: ['Encounter'], fields: ['date_of_service'], sets: '`date_of_service`' },
    from: '`period.start`',
  },
  {
    ...{ name: 'encounter.class', of: ['Encounter'], fields: ['visit_type'], sets: '`visit_type`' },
    from: '`class`: `AMB` outpatient, `EMER` emergency, `IMP`, `ACUTE` and `NONAC` inpatient, `OBSENC` observation, `VR` telehealth',
  },
  {
    ...{
      name: 'encounter.status',
      of: ['Encounter'],
      sets: '`status`, `is_completed`, `voided_at`, `void_reason`',
    },
    fields: ['status', 'is_completed', 'voided_at', 'void_reason'],
    from: '`status`: `finished` is completed, `cancelled` and `entered-in-error` are void since the end or start of `period`',
  },
  {
    ...{ name: 'document', of: ['DocumentReference'], sets: 'document' },
    fields: ['category', 'filename', 'file'],
    from: '`category` by the LOINC code of `type`, else of `category`, otherwise `medical_record`; the first `attachment` that is a PDF or DOCX, its name from `title`',
  },
  {
    ...{ name: IN_PASSING, sets: 'a payer or provider who is named in passing', of: [], fields: [] },
    from: 'a contained resource, or the text of a reference',
  },
];

const hl7Address = ['address_line_1', 'address_line_2', 'city', 'state', 'zip_code', 'country'];
const subscriberPlace = ['address_line_1', 'city', 'state', 'zip_code', 'country'];

/** How fields are read from HL7 v2 messages. */
export const hl7Rules: readonly MappingRule[] = [
  {
    ...{ name: 'patient.id', of: ['patient'], fields: ['id'], sets: 'patient `id`' },
    from: "PID-3: the identifier of the source's authority, else the first; never a Social Security number (type `SS`)",
  },
  {
    ...{ name: 'patient.merge', of: ['patient'], fields: ['merged_into'], sets: '`merged_into`' },
    from: 'PID-3 of the survivor; the patient that has it is the one of MRG-1, of several identifiers the one with the authority and type of the survivor',
  },
  {
    ...{ name: 'patient.name', of: ['patient'], fields: ['first_name', 'last_name'], sets: 'name' },
    from: 'PID-5: one with family and given name, the one of type `L` first',
  },
  {
    ...{ name: 'patient.birth', of: ['patient'], fields: ['date_of_birth'], sets: '`date_of_birth`' },
    from: 'PID-7, the day as it is written',
  },
  {
    ...{ name: 'patient.gender', of: ['patient'], fields: ['gender'], sets: '`gender`' },
    from: 'PID-8: `M`, `F`; `O`, `A`, `N` and `X` are `other`; `U` says nothing',
  },
  {
    ...{ name: 'patient.address', of: ['patient'], fields: hl7Address, sets: 'address' },
    from: 'PID-11: home first; birth places and bad addresses are not taken',
  },
  {
    ...{ name: 'patient.contact', of: ['patient'], fields: ['phone', 'email'], sets: '`phone`, `email`' },
    from: 'PID-13, then PID-14: by use, equipment or looks; no fax, no pager',
  },
  {
    ...{ name: 'patient.ssn', of: ['patient'], fields: ['ssn_last4'], sets: '`ssn_last4`' },
    from: 'PID-19, or PID-3 of type `SS`: its last four digits; the rest is never stored',
  },
  {
    ...{ name: 'insurance.rank', of: ['patient'], sets: 'insurance' },
    fields: ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'],
    from: 'IN1, its rank from IN1-22, else IN1-1; three at most',
  },
  {
    ...{ name: 'insurance.payer', of: ['insurance'], fields: ['payer_id'], sets: '`payer_id`' },
    from: 'IN1-3',
  },
  {
    ...{ name: 'insurance.policy', of: ['insurance'], fields: ['policy_number'], sets: '`policy_number`' },
    from: 'IN1-36, else IN1-49; never IN1-2',
  },
  {
    ...{ name: 'insurance.group', of: ['insurance'], fields: ['group_number'], sets: '`group_number`' },
    from: 'IN1-8',
  },
  {
    ...{ name: 'insurance.period', of: ['insurance'], sets: 'coverage' },
    fields: ['effective_date', 'termination_date'],
    from: 'IN1-12, IN1-13',
  },
  {
    ...{ name: 'insurance.subscriber', of: ['insurance'], sets: 'subscriber' },
    fields: [...['first_name', 'last_name', 'date_of_birth', 'relationship', 'id', ...subscriberPlace]].map(
      (field) => `subscriber_${field}`,
    ),
    from: 'IN1-16 to IN1-19, IN1-49',
  },
  {
    ...{ name: 'encounter.id', of: ['encounter'], fields: ['id'], sets: 'encounter `id`' },
    from: "PV1-19, else PID-18 with a warning, or as the source has it: of several the one of the source's authority, else the first",
  },
  {
    ...{ name: 'encounter.patient', of: ['encounter'], fields: ['patient_id'], sets: '`patient_id`' },
    from: 'as the `id` of the patient',
  },
  {
    ...{ name: 'encounter.class', of: ['encounter'], fields: ['visit_type'], sets: '`visit_type`' },
    from: 'PV1-2: `I`, `B` inpatient; `O`, `R` outpatient; `E` emergency; `OBS` observation; else by A06 and A07',
  },
  {
    ...{ name: 'encounter.attending', of: ['encounter'], fields: ['provider_id'], sets: '`provider_id`' },
    from: 'PV1-7',
  },
  {
    ...{ name: 'encounter.performer', of: ['encounter'], sets: '`rendering_provider_id`' },
    fields: ['rendering_provider_id'],
    from: 'FT1-20',
  },
  {
    ...{ name: 'encounter.facility', of: ['encounter'], fields: ['facility_id'], sets: '`facility_id`' },
    from: 'PV1-39, else the facility of PV1-3, else the one of the source',
  },
  {
    ...{ name: 'encounter.time', of: ['encounter'], fields: ['date_of_service'], sets: '`date_of_service`' },
    from: 'PV1-44; of appointments TQ1-7, else SCH-11, else AIS-4',
  },
  {
    ...{ name: 'encounter.status', of: ['encounter'], sets: '`status`, `is_completed`' },
    fields: ['status', 'is_completed'],
    from: 'MSH-9: [the event](#messages-that-are-taken)',
  },
  {
    ...{ name: 'encounter.void', of: ['encounter'], sets: '`voided_at`, `void_reason`' },
    fields: ['voided_at', 'void_reason'],
    from: 'EVN-2, else MSH-7; EVN-4, of appointments SCH-6, else the event (MSH-9): cancelled, deleted, merged',
  },
  {
    ...{ name: 'payer', of: ['payer'], sets: 'payer' },
    fields: [
      ...['id', 'name', 'contact_phone', 'address_line1', 'address_line2'],
      ...['city', 'state', 'zip_code', 'country'],
    ],
    from: 'IN1-3, IN1-4, IN1-5, IN1-7',
  },
  {
    ...{ name: 'provider', of: ['provider'], sets: 'provider' },
    fields: [...['id', 'first_name', 'last_name', 'npi', 'phone', 'email', 'specialty'], ...hl7Address],
    from: 'PV1-7, FT1-20: id, family name, given name; `npi` of type or authority `NPI`; of MFN STF-1, STF-3, STF-10, STF-11, STF-15, PRA-5, PRA-6',
  },
  {
    ...{ name: 'facility', of: ['facility'], sets: 'facility' },
    fields: ['id', 'name', 'phone', ...hl7Address],
    from: 'as `facility_id`, which is its name as well; or as the source has it; of MFN the facility of LOC-1, LOC-4 else LOC-2, LOC-5, LOC-6',
  },
  {
    ...{ name: 'document', of: ['document'], sets: 'document' },
    fields: ['document_id', 'category', 'filename', 'file'],
    from: '`document_id` TXA-12, `category` by TXA-2 (table 0270, otherwise `medical_record`), file name TXA-16, the file OBX-5',
  },
];

/** How fields of a record are read from messages. */
export interface MappingRule {
  /** The name used in the guides, and wherever it is reported which rule set a field. */
  name: string;
  /** What it sets, as worded in the guide. */
  sets: string;
  /** From what, as worded in the guide. */
  from: string;
  /** Kind of the record (HL7 v2), including `insurance` and `document`; type of the resource (FHIR). */
  of: readonly string[];
  /** The fields; of an insurance without its rank. */
  fields: readonly string[];
}

/** Returns the rule that sets a field of one of these. */
export function ruleOf(rules: readonly MappingRule[], of: string, field: string): MappingRule | undefined {
  return rules.find((rule) => rule.of.includes(of) && rule.fields.includes(field));
}

/** Codes per table: more than any EMR has that departs from the standard. */
const MAX_CODES = 500;

/** HL7 v2 places from which a field may be taken; the first is the usual one. */
export const mappingPlaces = {
  visit_id: ['PV1-19', 'PV1-50', 'PID-18'],
  policy_number: ['IN1-36', 'IN1-2', 'IN1-49'],
  payer_id: ['IN1-3', 'IN1-2', 'IN1-4'],
} as const;

export type VisitPlace = (typeof mappingPlaces.visit_id)[number];

const organizationKinds = ['payer', 'facility'] as const;

const key = z
  .string()
  .min(1)
  .max(255)
  .regex(/^\P{Cc}*$/u, { error: 'must not contain control characters' });

const options = {
  visit_types: table(z.enum(visitTypes)),
  document_categories: table(documentFieldsSchema.shape.category),
  visit_id: z.enum(mappingPlaces.visit_id).optional(),
  policy_number: z.enum(mappingPlaces.policy_number).optional(),
  payer_id: z.enum(mappingPlaces.payer_id).optional(),
  organization_types: table(z.enum(organizationKinds)),
  organization_ids: table(z.enum(organizationKinds)),
};

/** The names of all options. */
export const mappingOptions = Object.keys(options) as (keyof typeof options)[];

/** Where the usual rules are wrong about an EMR; unknown options are refused, as they would have no effect. */
export const mappingSchema = exactObject(options, 'option');

/**
 * A source's own mapping, in place of the usual rules. Codes are compared exactly as written.
 *
 * - `visit_types`: by PV1-2 (HL7 v2); by a code of `Encounter.type`, otherwise of `Encounter.class` (FHIR).
 * - `document_categories`: by TXA-2 (HL7 v2); by a code of `DocumentReference.type`, otherwise of its `category`
 *   (FHIR).
 * - `visit_id`, `policy_number`, `payer_id` (HL7 v2): where they are.
 * - `organization_ids`, `organization_types` (FHIR): what an Organization is by the id of its record, otherwise by a
 *   code of its type.
 *
 * FHIR codes may have their system as a prefix: `system|code`.
 */
export type Mapping = z.output<typeof mappingSchema>;

/** The options that are only for one format. */
export const mappingsOfFormat = {
  fhir: ['organization_types', 'organization_ids'],
  hl7v2: ['visit_id', 'policy_number', 'payer_id'],
} as const satisfies Record<string, readonly (keyof Mapping)[]>;

/** Returns what is set in a mapping, by option: a place, or a table of codes. */
export function setIn(mapping: Mapping = {}): [option: string, what: string | Record<string, string>][] {
  return Object.entries(mapping).flatMap(([option, what]) => (what === undefined ? [] : [[option, what]]));
}

/** Returns a table's entry for a code; undefined where it has none. */
export function inTable<Entry>(
  entries: Readonly<Record<string, Entry>> | undefined,
  code: string,
): Entry | undefined {
  return entries && Object.hasOwn(entries, code) ? entries[code] : undefined;
}

function table<Entry extends z.ZodType>(entry: Entry) {
  return z
    .record(key, entry)
    .refine((entries) => Object.keys(entries).length <= MAX_CODES, {
      error: `must have at most ${MAX_CODES} codes`,
    })
    .optional();
}
