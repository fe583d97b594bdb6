import { instantOf } from './instantOf.ts';
import { isUspsState } from './uspsStates.ts';

/** What is doubtful about a value that was accepted, if anything; `fields` are those that were sent with it. */
export type Check = (value: string, fields: Record<string, unknown>) => string | undefined;

/** It is tomorrow somewhere by so many milliseconds before it is in UTC. */
const EASTERNMOST_MS = 14 * 3_600_000;

const pattern =
  (regex: RegExp, message: string): Check =>
  (value) =>
    regex.test(value) ? undefined : message;

const email = pattern(/^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/, 'does not look like an email address');

const phone: Check = (value) => {
  const digitCount = value.replace(/\D/g, '').length;
  return digitCount >= 7 && digitCount <= 15
    ? undefined
    : 'does not look like a phone number (7 to 15 digits)';
};

const zipCode: Check = (value, fields) =>
  !isUs(fields.country) || /^\d{5}(?:-?\d{4})?$/.test(value)
    ? undefined
    : 'is not a US ZIP code (5 or 9 digits)';

const state: Check = (value, fields) =>
  !isUs(fields.country) || isUspsState(value) ? undefined : 'is not a USPS state code';

const npi: Check = (value) => (hasNpiCheckDigit(value) ? undefined : 'has a wrong check digit');

function isUs(country: unknown): boolean {
  return country === undefined || country === null || country === 'US';
}

/** The NPI's check digit: Luhn over the 10 digits behind the prefix 80840 (45 CFR 162.406, CMS "NPI check digit"). */
function hasNpiCheckDigit(value: string): boolean {
  let sum = 24;
  for (let place = 0; place < 10; place++) {
    const digit = Number(value[9 - place]);
    const weighted = place % 2 === 0 ? digit : digit * 2;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

const website: Check = (value) => {
  const url = URL.parse(/^https?:/i.test(value) ? value : `https://${value}`);
  return url?.hostname.includes('.') ? undefined : 'does not look like a web address';
};

/** Numbers that were given out: no area 000, 666 or from 900 on, no group 00, no serial 0000 (SSA). */
const SSN = /^(?!000|666|9)\d{3}([- ]?)(?!00)\d{2}\1(?!0000)\d{4}$/;

const notSsn: Check = (value) =>
  SSN.test(value) ? 'looks like a Social Security number, which does not belong here' : undefined;

const notBlank: Check = (value) => (value.trim() === '' ? 'is blank' : undefined);

const inLifetime: Check = (value) => {
  if (value < '1900') return 'lies before 1900';
  return instantOf(value) > Date.now() + EASTERNMOST_MS ? 'lies in the future' : undefined;
};

/** Coverage is counted by days, as they were written. */
const afterStart: Check = (value, { effective_date: start }) =>
  typeof start === 'string' && value.slice(0, 10) < start.slice(0, 10)
    ? 'lies before effective_date'
    : undefined;

/** What the spec leaves open but billing wants to know; field names mean the same in every kind. */
export const fieldChecks: Record<string, Check> = {
  id: notSsn,
  patient_id: notSsn,
  provider_id: notSsn,
  rendering_provider_id: notSsn,
  facility_id: notSsn,
  payer_id: notSsn,
  subscriber_id: notSsn,
  policy_number: notSsn,
  name: notBlank,
  first_name: notBlank,
  last_name: notBlank,
  subscriber_first_name: notBlank,
  subscriber_last_name: notBlank,
  date_of_birth: inLifetime,
  subscriber_date_of_birth: inLifetime,
  date_of_service: inLifetime,
  termination_date: afterStart,
  npi,
  taxonomy_code: pattern(/^[0-9A-Z]{9}X$/, 'is not a NUCC taxonomy code (10 characters, the last an X)'),
  tax_id: pattern(/^\d{2}-?\d{7}$/, 'is not an EIN (9 digits)'),
  clia_number: pattern(/^\d{2}D\d{7}$/, 'is not a CLIA number (2 digits, D, 7 digits)'),
  email,
  contact_email: email,
  phone,
  contact_phone: phone,
  fax: phone,
  website,
  state,
  zip_code: zipCode,
  country: pattern(/^[A-Z]{2}$/, 'is not an ISO 3166-1 alpha-2 country code'),
  subscriber_state: (value, fields) => state(value, { country: fields.subscriber_country }),
  subscriber_zip_code: (value, fields) => zipCode(value, { country: fields.subscriber_country }),
};
