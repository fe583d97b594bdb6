import type { MappingRule } from './mappingRule.ts';

const places = ['city', 'state', 'zip_code', 'country'];
const address = ['address_line_1', 'address_line_2', ...places];
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
    fields: [...address, 'address_line1', 'address_line2'],
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
