/** What a field may hold, as the specification's tables say it (section 2). */
export type FieldType =
  | { type: 'id' | 'text' | 'date' | 'boolean' | 'insurance' }
  | { type: 'reference'; to: string }
  | { type: 'oneOf'; values: string[] }
  | { type: 'digits' | 'characters'; count: number };

/** One row of a table; `field` is dotted inside an insurance object. */
export interface FieldRow {
  field: string;
  required: boolean;
  is: FieldType;
}

const id: FieldType = { type: 'id' };
const text: FieldType = { type: 'text' };
const date: FieldType = { type: 'date' };
const boolean: FieldType = { type: 'boolean' };
const insurance: FieldType = { type: 'insurance' };
const refersTo = (to: string): FieldType => ({ type: 'reference', to });
const oneOf = (...values: string[]): FieldType => ({ type: 'oneOf', values });
const digits = (count: number): FieldType => ({ type: 'digits', count });
const characters = (count: number): FieldType => ({ type: 'characters', count });

type Fields = Record<string, FieldType>;

function rows(required: Fields, optional: Fields): FieldRow[] {
  return [
    ...Object.entries(required).map(([field, is]) => ({ field, required: true, is })),
    ...Object.entries(optional).map(([field, is]) => ({ field, required: false, is })),
  ];
}

const address = {
  address_line_1: text,
  address_line_2: text,
  city: text,
  state: text,
  zip_code: text,
  country: text,
};

/** Section 2.2. */
export const insuranceRows = rows(
  { payer_id: refersTo('payer') },
  {
    policy_number: text,
    group_number: text,
    effective_date: date,
    termination_date: date,
    subscriber_id: text,
    subscriber_first_name: text,
    subscriber_last_name: text,
    subscriber_relationship: oneOf('self', 'spouse', 'child', 'other'),
    subscriber_date_of_birth: date,
    subscriber_address_line_1: text,
    subscriber_city: text,
    subscriber_state: text,
    subscriber_zip_code: text,
    subscriber_country: text,
  },
);

/** Sections 2.1 and 2.3 to 2.6. */
export const specTables = {
  patient: rows(
    { id, first_name: text, last_name: text, date_of_birth: date },
    {
      gender: oneOf('male', 'female', 'other'),
      phone: text,
      email: text,
      ssn_last4: digits(4),
      ...address,
      state: characters(2),
      primary_insurance: insurance,
      secondary_insurance: insurance,
      tertiary_insurance: insurance,
      // Beyond the specification.
      merged_into: refersTo('patient'),
    },
  ),
  payer: rows(
    { id, name: text },
    {
      payer_code: text,
      payer_type: text,
      contact_email: text,
      contact_phone: text,
      fax: text,
      website: text,
      address_line1: text,
      address_line2: text,
      city: text,
      state: text,
      zip_code: text,
      country: text,
    },
  ),
  provider: rows(
    { id, first_name: text, last_name: text },
    {
      npi: digits(10),
      email: text,
      phone: text,
      role: oneOf(
        'attending_physician',
        'rendering_provider',
        'referring_provider',
        'billing_provider',
        'operating_physician',
      ),
      taxonomy_code: text,
      specialty: text,
      ...address,
    },
  ),
  facility: rows(
    { id, name: text },
    {
      npi: digits(10),
      facility_type: oneOf(
        'hospital',
        'clinic',
        'ambulatory_surgery_center',
        'skilled_nursing_facility',
        'laboratory',
        'pharmacy',
        'home_health',
        'telehealth',
        'other',
      ),
      phone: text,
      fax: text,
      email: text,
      tax_id: text,
      clia_number: text,
      ...address,
    },
  ),
  encounter: rows(
    { id, patient_id: refersTo('patient') },
    {
      provider_id: refersTo('provider'),
      rendering_provider_id: refersTo('provider'),
      facility_id: refersTo('facility'),
      date_of_service: date,
      visit_type: oneOf(
        'office_visit',
        'telehealth',
        'inpatient',
        'outpatient',
        'emergency',
        'observation',
        'surgical',
      ),
      status: text,
      is_completed: boolean,
      // Beyond the specification.
      voided_at: date,
      void_reason: text,
    },
  ),
} satisfies Record<string, FieldRow[]>;

/** The kinds of the specification; the catalog may have more. */
export type SpecKind = keyof typeof specTables;
export const specKinds = Object.keys(specTables) as SpecKind[];

/** A kind's rows, followed by those of each insurance object in it. */
export function allRows(kind: SpecKind): FieldRow[] {
  const own = specTables[kind];
  const nested = own
    .filter(({ is }) => is.type === 'insurance')
    .flatMap(({ field }) => insuranceRows.map((row) => ({ ...row, field: `${field}.${row.field}` })));
  return [...own, ...nested];
}
