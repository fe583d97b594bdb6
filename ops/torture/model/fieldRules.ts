import type { Fields, Kind } from './requests.ts';

/**
 * What a field may be, according to the specification's tables (section 2), without looking at the service's schemas.
 */
export interface FieldRule {
  required?: boolean;
  isValid(value: unknown): boolean;
  /** The kind of the record that it names. */
  refersTo?: Kind;
  /** Values to try, valid ones and others; for a reference, ids. */
  examples: unknown[];
}

const isText = (value: unknown) => typeof value === 'string';

const name: FieldRule = {
  required: true,
  isValid: (value) => isText(value) && value !== '',
  examples: ['Ada', 'Zoë', '', 7],
};
const text: FieldRule = { isValid: isText, examples: ['Omaha', '', 7] };
const oneOf = (...values: string[]): FieldRule => ({
  isValid: (value) => values.includes(value as string),
  examples: [...values, 'other than those'],
});
const digits = (count: number): FieldRule => ({
  isValid: (value) => isText(value) && new RegExp(`^[0-9]{${count}}$`).test(value as string),
  examples: ['1'.repeat(count), '1'.repeat(count + 1)],
});
const date: FieldRule = {
  isValid: (value) => value === '1984-02-29' || value === '2026-03-14T09:30:00Z',
  examples: ['1984-02-29', '2026-03-14T09:30:00Z', '2023-02-29', '14.3.2026'],
};
const reference = (kind: Kind): FieldRule => ({ isValid: isText, refersTo: kind, examples: [] });
const required = (rule: FieldRule): FieldRule => ({ ...rule, required: true });

export const insuranceRules: Record<string, FieldRule> = {
  payer_id: required(reference('payer')),
  policy_number: text,
  subscriber_relationship: oneOf('self', 'spouse'),
};

export const fieldRules: Record<Kind, Record<string, FieldRule>> = {
  payer: { name, payer_type: text, country: text },
  provider: {
    first_name: name,
    last_name: name,
    npi: digits(10),
    role: oneOf('attending_physician', 'billing_provider'),
  },
  facility: { name, facility_type: oneOf('hospital', 'clinic'), npi: digits(10) },
  patient: {
    first_name: name,
    last_name: name,
    date_of_birth: required(date),
    gender: oneOf('male', 'female'),
    ssn_last4: digits(4),
    state: { isValid: (value) => isText(value) && (value as string).length === 2, examples: ['NE', 'Neb'] },
  },
  encounter: {
    patient_id: required(reference('patient')),
    provider_id: reference('provider'),
    rendering_provider_id: reference('provider'),
    facility_id: reference('facility'),
    date_of_service: date,
    visit_type: oneOf('inpatient', 'telehealth'),
    status: text,
    is_completed: { isValid: (value) => typeof value === 'boolean', examples: [true, false, 'yes'] },
  },
};

/** Returns the names of the fields that are missing or invalid, those of an insurance dotted. */
export function invalidFields(kind: Kind, record: Fields): string[] {
  const found = invalidBy(fieldRules[kind], record, '');
  const insurance = record.primary_insurance;
  if (kind === 'patient' && insurance !== undefined && insurance !== null)
    found.push(...invalidBy(insuranceRules, insurance as Fields, 'primary_insurance.'));
  return found.sort();
}

function invalidBy(rules: Record<string, FieldRule>, record: Fields, prefix: string): string[] {
  return Object.entries(rules)
    .filter(([field, rule]) => {
      const value = record[field];
      const isLeftOut = value === undefined || (value === null && !rule.required);
      return isLeftOut ? rule.required === true : !rule.isValid(value);
    })
    .map(([field]) => prefix + field);
}

/** Returns the records that a record names, by the names of the fields. */
export function references(kind: Kind, record: Fields): [field: string, kind: Kind, id: string][] {
  const found: [string, Kind, string][] = [];
  for (const [field, { refersTo }] of Object.entries(fieldRules[kind])) {
    if (refersTo && typeof record[field] === 'string') found.push([field, refersTo, record[field]]);
  }
  const payer = (record.primary_insurance as Fields | null | undefined)?.payer_id;
  if (kind === 'patient' && typeof payer === 'string')
    found.push(['primary_insurance.payer_id', 'payer', payer]);
  return found;
}
