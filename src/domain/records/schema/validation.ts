import { z } from 'zod';
import { type FieldMessage, ServiceError } from '../../../platform/errors.ts';
import { instantOf } from './isoDates.ts';
import { isUspsState } from './states.ts';

/** Whether a schema would return an input unchanged: nothing invalid, dropped or altered. */
type Accepts = (input: unknown) => boolean;

type Def = z.core.$ZodTypes['_zod']['def'];

interface Field {
  name: string;
  isOptional: boolean;
  isNullable: boolean;
  accepts: Accepts;
}

/**
 * Returns a function that accepts inputs in place of a schema, in a third of the time; undefined for a schema that
 * uses more than records consist of: objects, strings with bounds and patterns, enumerations, flags. An input it does
 * not accept is left to the schema.
 */
export function acceptor(schema: z.core.$ZodType): Accepts | undefined {
  const { def } = schema._zod as { def: Def };
  switch (def.type) {
    case 'object':
      return def.checks?.length || def.catchall ? undefined : acceptObject(def.shape);
    case 'string':
      return 'coerce' in def || 'format' in def ? undefined : acceptString(def.checks ?? []);
    case 'enum': {
      const values = new Set<unknown>(Object.values(def.entries));
      return def.checks?.length ? undefined : (input) => values.has(input);
    }
    case 'boolean':
      return def.checks?.length || 'coerce' in def ? undefined : (input) => typeof input === 'boolean';
    default:
      return undefined;
  }
}

function acceptObject(shape: Readonly<Record<string, z.core.$ZodType>>): Accepts | undefined {
  const fields: Field[] = [];
  for (const [name, schema] of Object.entries(shape)) {
    const field = fieldOf(name, schema);
    if (field === undefined) return undefined;
    fields.push(field);
  }
  return (input) => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return false;
    const sent = input as Record<string, unknown>;
    let known = 0;
    for (const { name, isOptional, isNullable, accepts } of fields) {
      const value = sent[name];
      if (value === undefined) {
        if (!isOptional || name in sent) return false;
      } else {
        known += 1;
        if (value === null ? !isNullable : !accepts(value)) return false;
      }
    }
    // An input with unknown fields is left to the schema, which drops them.
    let all = 0;
    for (const _ in sent) all += 1;
    return all === known;
  };
}

function fieldOf(name: string, schema: z.core.$ZodType): Field | undefined {
  let inner = schema;
  let isOptional = false;
  let isNullable = false;
  for (;;) {
    const { def } = inner._zod as { def: Def };
    if (def.type === 'optional') isOptional = true;
    else if (def.type === 'nullable') isNullable = true;
    else break;
    if (def.checks?.length) return undefined;
    inner = def.innerType;
  }
  const accepts = acceptor(inner);
  return accepts && { name, isOptional, isNullable, accepts };
}

function acceptString(checks: readonly z.core.$ZodCheck<never>[]): Accepts | undefined {
  const checked = checks.map(({ _zod }) => _zod.check as (payload: z.core.ParsePayload) => unknown);
  const payload: z.core.ParsePayload = { value: undefined, issues: [] };
  return (input) => {
    if (typeof input !== 'string') return false;
    payload.value = input;
    for (const check of checked) {
      check(payload);
      if (payload.issues.length === 0 && payload.value === input) continue;
      payload.issues = [];
      return false;
    }
    return true;
  };
}

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

/** Other spellings of the countries whose addresses claims carry in a form of their own. */
const countrySpellings = new Map([
  ['USA', 'US'],
  ['UNITED STATES', 'US'],
  ['UNITED STATES OF AMERICA', 'US'],
  ['CAN', 'CA'],
  ['CANADA', 'CA'],
]);

/**
 * Returns the ISO 3166-1 alpha-2 code of a country as people write it: in any case, with periods, and for the United States and Canada
 * by name or alpha-3 code. Undefined for anything that does not have the form of a code.
 */
export function countryCode(country: string): string | undefined {
  if (country === 'US') return country;
  const plain = country.replaceAll('.', '').trim().toUpperCase();
  const code = countrySpellings.get(plain) ?? plain;
  return /^[A-Z]{2}$/.test(code) ? code : undefined;
}

/** Whether an address with this country, if any, is in the United States. */
export function isUs(country: unknown): boolean {
  return typeof country !== 'string' || countryCode(country) === 'US';
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

type Issue = z.core.$ZodRawIssue;

/** Returns a message that says what to fix and never repeats the rejected value. */
function explain(issue: Issue): string {
  if (issue.input === undefined) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      if (issue.exact) return `must be exactly ${issue.minimum} characters`;
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      if (issue.exact) return `must be exactly ${issue.maximum} characters`;
      return `must be at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
    default:
      return 'is not valid';
  }
}

/** Returns the `validation_failed` error that names every field in `details`, and the first few in its text. */
export function validationError(details: FieldMessage[]): ServiceError {
  const named = details.slice(0, 5).map(({ field, message }) => (field ? `${field} ${message}` : message));
  const more = details.length > named.length ? `; and ${details.length - named.length} more` : '';
  return new ServiceError('validation_failed', `Validation failed: ${named.join('; ')}${more}`, { details });
}

/** Names repeated in a refusal, and characters of each. */
const MAX_NAMED = 20;
const MAX_SHOWN_NAME = 100;

/** Returns a detail for each of the first names that are not known; `parent`: the place of the object that has them. */
export function unknownNames(
  names: readonly string[],
  message: string,
  parent: readonly PropertyKey[] = [],
): FieldMessage[] {
  return names.slice(0, MAX_NAMED).map((name) => {
    const shown = name.slice(0, MAX_SHOWN_NAME).toWellFormed();
    return { field: [...parent, shown].join('.'), message };
  });
}

/**
 * Returns the schema of an object without other fields, whose refusal names those that it knows: a misspelled filter or condition
 * must not pass for its default. `what`: what the object's members are called.
 */
export function exactObject<Shape extends z.ZodRawShape>(shape: Shape, what = 'field') {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? `is not a known ${what}; the ${what}s are ${known}` : undefined,
  });
}

const acceptors = new WeakMap<z.ZodType, Accepts>();

/**
 * Returns a function that accepts inputs in place of a schema; one that accepts nothing where only the schema itself
 * can judge.
 */
function acceptorOf(schema: z.ZodType): Accepts {
  let accepts = acceptors.get(schema);
  if (accepts === undefined) {
    accepts = acceptor(schema) ?? (() => false);
    acceptors.set(schema, accepts);
  }
  return accepts;
}

function detailsOf(issue: z.core.$ZodIssue): FieldMessage[] {
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys') return unknownNames(issue.keys, message, path);
  const field = path.join('.');
  return [{ field, message: field === '' ? `The body ${message}` : message }];
}

/**
 * Returns the input as parsed by the schema, which drops keys it does not know, unless it is exact. Throws `validation_failed` with one
 * detail per bad field.
 */
export function validate<Schema extends z.ZodType>(schema: Schema, input: unknown): z.infer<Schema> {
  if (acceptorOf(schema)(input)) return input as z.infer<Schema>;
  const result = schema.safeParse(input, { error: explain });
  if (result.success) return result.data;
  const details = new Map<string, FieldMessage>();
  for (const issue of result.error.issues) {
    for (const detail of detailsOf(issue)) if (!details.has(detail.field)) details.set(detail.field, detail);
  }
  throw validationError([...details.values()]);
}
