import type { FieldMessage } from '../errors.ts';
import type { CatalogEntry, RecordFields } from './catalog.ts';
import { insuranceFields, insuranceSchema } from './patient.ts';
import { isUspsState } from './uspsStates.ts';

/** Unknown fields that are named in warnings, and characters shown of each name. */
const MAX_UNKNOWN_NAMED = 20;
const MAX_SHOWN_NAME = 100;

type Check = (value: string, fields: Record<string, unknown>) => string | undefined;

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

/** What the spec leaves open but billing wants to know; field names mean the same in every kind. */
const checks: Record<string, Check> = {
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

function checkFields(fields: Record<string, unknown>, prefix: string): FieldMessage[] {
  const warnings: FieldMessage[] = [];
  for (const field in fields) {
    const value = fields[field];
    const check = checks[field];
    if (check === undefined || typeof value !== 'string') continue;
    const message = check(value, fields);
    if (message) warnings.push({ field: prefix + field, message });
  }
  return warnings;
}

function unknownFields(input: object, known: object, prefix: string): FieldMessage[] {
  const warnings: FieldMessage[] = [];
  for (const field of Object.keys(input)) {
    if (Object.hasOwn(known, field)) continue;
    warnings.push({
      field: prefix + field.slice(0, MAX_SHOWN_NAME).toWellFormed(),
      message: 'is not a known field and was not stored',
    });
  }
  return warnings.slice(0, MAX_UNKNOWN_NAMED);
}

/**
 * Remarks on an accepted upsert: sent fields that were dropped because the schema does not know them, and values
 * that billing is likely to refuse. `input` is the body as sent, `sent` what validation kept of it.
 */
export function qualityWarnings(entry: CatalogEntry, input: object, sent: RecordFields): FieldMessage[] {
  const warnings = [...unknownFields(input, entry.schema.shape, ''), ...checkFields(sent, '')];
  if (entry.kind !== 'patient') return warnings;
  for (const rank of insuranceFields) {
    const insurance = sent[rank] as Record<string, unknown> | null | undefined;
    if (!insurance) continue;
    const raw = (input as Record<string, object>)[rank] as object;
    warnings.push(
      ...unknownFields(raw, insuranceSchema.shape, `${rank}.`),
      ...checkFields(insurance, `${rank}.`),
    );
  }
  return warnings;
}
