import type { FieldMessage } from '../../../platform/errors.ts';
import { instantOf } from './instantOf.ts';
import { isUspsState } from './uspsStates.ts';

/** What is doubtful about a value that was accepted, if anything; `fields` are those that were sent with it. */
export type Check = (value: string, fields: Record<string, unknown>) => string | undefined;

/** The checks of fields, by name. */
export type Checks = Readonly<Record<string, Check>>;

/** Whether a value is beyond doubt by a check that looks at no other field. */
export const passes = (check: Check) => (value: string) => check(value, {}) === undefined;

/** It is tomorrow somewhere by so many milliseconds before it is in UTC. */
const EASTERNMOST_MS = 14 * 3_600_000;

const pattern =
  (regex: RegExp, message: string): Check =>
  (value) =>
    regex.test(value) ? undefined : message;

export const email = pattern(/^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/, 'does not look like an email address');

export const phone: Check = (value) => {
  const digitCount = value.replace(/\D/g, '').length;
  return digitCount >= 7 && digitCount <= 15
    ? undefined
    : 'does not look like a phone number (7 to 15 digits)';
};

export const zipCode: Check = (value, fields) =>
  !isUs(fields.country) || /^\d{5}(?:-?\d{4})?$/.test(value)
    ? undefined
    : 'is not a US ZIP code (5 or 9 digits)';

export const state: Check = (value, fields) =>
  !isUs(fields.country) || isUspsState(value) ? undefined : 'is not a USPS state code';

/** An NPI begins with 1 or 2 (45 CFR 162.406). */
export const npi: Check = (value) => {
  if (!/^[12]/.test(value)) return 'does not begin with 1 or 2, as every NPI does';
  return hasNpiCheckDigit(value) ? undefined : 'has a wrong check digit';
};

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

export const website: Check = (value) => {
  const url = URL.parse(/^https?:/i.test(value) ? value : `https://${value}`);
  return url?.hostname.includes('.') ? undefined : 'does not look like a web address';
};

/** Numbers that were given out: no area 000, 666 or from 900 on, no group 00, no serial 0000 (SSA). */
const SSN = /^(?!000|666|9)\d{3}([- ]?)(?!00)\d{2}\1(?!0000)\d{4}$/;

export const notSsn: Check = (value) =>
  SSN.test(value) ? 'looks like a Social Security number, which does not belong here' : undefined;

export const notBlank: Check = (value) => (value.trim() === '' ? 'is blank' : undefined);

export const inLifetime: Check = (value) => {
  if (value < '1900') return 'lies before 1900';
  return instantOf(value) > Date.now() + EASTERNMOST_MS ? 'lies in the future' : undefined;
};

/** Coverage is counted by days, as they were written. */
export const afterStart: Check = (value, { effective_date: start }) =>
  typeof start === 'string' && value.slice(0, 10) < start.slice(0, 10)
    ? 'lies before effective_date'
    : undefined;

/** The groups of the NUCC set have the numbers 10 to 49. */
export const taxonomyCode = pattern(
  /^[1-4]\d[0-9A-Z]{7}X$/,
  'is not a NUCC taxonomy code (10 characters, the first two a number from 10 to 49, the last an X)',
);

export const ein = pattern(/^\d{2}-?\d{7}$/, 'is not an EIN (9 digits)');

export const cliaNumber = pattern(/^\d{2}D\d{7}$/, 'is not a CLIA number (2 digits, D, 7 digits)');

/** Of the fields of an address. */
export const addressChecks = {
  state,
  zip_code: zipCode,
  country: pattern(/^[A-Z]{2}$/, 'is not an ISO 3166-1 alpha-2 country code'),
} as const satisfies Checks;

/** The remark on a field that billing needs, and that was not sent though `reason`. */
export function notSent(field: string, reason: string): FieldMessage {
  return {
    field,
    message: `was not sent, though ${reason}; billing needs it, now or from an earlier version`,
  };
}
