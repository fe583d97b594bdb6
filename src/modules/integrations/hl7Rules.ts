import type { MappingRule } from './mappingRule.ts';

const address = ['address_line_1', 'address_line_2', 'city', 'state', 'zip_code', 'country'];
const subscriberPlace = ['address_line_1', 'city', 'state', 'zip_code', 'country'];

/** How fields are read from HL7 v2 messages. */
export const hl7Rules: readonly MappingRule[] = [
  {
    ...{ name: 'patient.id', of: ['patient'], fields: ['id'], sets: 'patient `id`' },
    from: "PID-3: the identifier of the source's authority, else the first; never a Social Security number (type `SS`)",
  },
  {
    ...{ name: 'patient.merge', of: ['patient'], fields: ['merged_into'], sets: '`merged_into`' },
    from: 'PID-3 of the survivor; the patient that has it is the one of MRG-1',
  },
  {
    ...{ name: 'patient.name', of: ['patient'], fields: ['first_name', 'last_name'], sets: 'name' },
    from: 'PID-5: the one of type `L`, else the first',
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
    ...{ name: 'patient.address', of: ['patient'], fields: address, sets: 'address' },
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
    from: 'IN1-36',
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
    from: "PV1-19: of several the one of the source's authority, else the first",
  },
  {
    ...{ name: 'encounter.patient', of: ['encounter'], fields: ['patient_id'], sets: '`patient_id`' },
    from: 'as the `id` of the patient',
  },
  {
    ...{ name: 'encounter.class', of: ['encounter'], fields: ['visit_type'], sets: '`visit_type`' },
    from: 'PV1-2: `I`, `B` inpatient; `O`, `R` outpatient; `E` emergency; `OBS` observation',
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
    from: 'EVN-2, else MSH-7; EVN-4, of appointments SCH-6, else the event (MSH-9)',
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
    fields: ['id', 'first_name', 'last_name', 'npi'],
    from: 'PV1-7, FT1-20: id, family name, given name; `npi` of type or authority `NPI`',
  },
  {
    ...{ name: 'facility', of: ['facility'], fields: ['id', 'name'], sets: 'facility' },
    from: 'as `facility_id`, which is its name as well; or as the source has it',
  },
  {
    ...{ name: 'document', of: ['document'], sets: 'document' },
    fields: ['document_id', 'category', 'filename', 'file'],
    from: '`document_id` TXA-12, `category` by TXA-2 (table 0270, otherwise `medical_record`), file name TXA-16, the file OBX-5',
  },
];
