import { z } from 'zod';
import { iso8601, storedDate } from './isoDates.ts';

/** Spec section 2 leaves lengths open; this bounds every string, in characters. */
const MAX_STRING_LENGTH = 1000;

export const MAX_ID_LENGTH = 255;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it keeps out
const noControlCharacters = /^[^\u0000-\u001f\u007f-\u009f]*$/;
const blanks = /[\s\p{Cc}]+/gu;

function meta(description: string | undefined, example: unknown): Record<string, unknown> {
  return { ...(description && { description }), ...(example !== undefined && { examples: [example] }) };
}

/** A string of at most `most` characters, counted as JSON Schema's `maxLength` counts them: in code points. */
function bounded(most: number) {
  const fits = (value: string) =>
    value.length <= most || (value.length <= 2 * most && [...value].length <= most);
  return z.string().refine(fits, { error: `must be at most ${most} characters`, abort: true });
}

/** A caller's identifier: 1 to 255 characters, any Unicode except control characters. */
export function identifier(description: string, example: string | undefined) {
  return bounded(MAX_ID_LENGTH)
    .min(1)
    .regex(noControlCharacters, { error: 'must not contain control characters' })
    .meta({ ...meta(description, example), maxLength: MAX_ID_LENGTH });
}

/**
 * A text: control characters, with the white space around them, become one blank, and nothing at its ends. Terminals, forms and
 * claims choke on them; without the blank, words would run together.
 */
function cleaned() {
  return bounded(MAX_STRING_LENGTH).overwrite((value) =>
    noControlCharacters.test(value) ? value : withoutControlCharacters(value),
  );
}

function withoutControlCharacters(text: string): string {
  return text.replace(blanks, (run, at: number) => {
    if (noControlCharacters.test(run)) return run;
    return at === 0 || at + run.length === text.length ? '' : ' ';
  });
}

/**
 * How the search finds a record by a field: a name by its words; a date in its usual forms; a number also without its
 * punctuation; a phone number or e-mail address, too, although results do not show it.
 */
export type FoundAs = 'name' | 'date' | 'number' | 'contact';

const foundAs = new WeakMap<z.ZodType, FoundAs>();

/** Marks a field as one by which the search finds records. */
export function foundBy<Field extends z.ZodType>(as: FoundAs, field: Field): Field {
  foundAs.set(unwrapped(field), as);
  return field;
}

/** Returns how the search finds records by a field; undefined when it does not. */
export function foundByOf(field: z.ZodType): FoundAs | undefined {
  return foundAs.get(unwrapped(field));
}

/** A required, non-empty name by which the search finds records. */
export function requiredName(example: string) {
  const field = cleaned()
    .min(1)
    .meta({ ...meta(undefined, example), maxLength: MAX_STRING_LENGTH });
  return foundBy('name', field);
}

/** An optional name by which the search finds records; `null` clears it. */
export function name(example: string) {
  const field = cleaned()
    .nullable()
    .optional()
    .meta({ ...meta(undefined, example), maxLength: MAX_STRING_LENGTH });
  return foundBy('name', field);
}

/** An optional string; `null` clears it. */
export function text(example: string | undefined, description?: string) {
  return cleaned()
    .nullable()
    .optional()
    .meta({ ...meta(description, example), maxLength: MAX_STRING_LENGTH });
}

/** The kind that a field refers to. */
interface Reference {
  kind: string;
  title?: string;
}

const references = new WeakMap<z.ZodType, Reference>();

/**
 * The caller's identifier of another record, which must exist; `title` is what that record is called when it is
 * missing, if not by its kind's title.
 */
export function requiredReference(
  kind: string,
  description: string,
  example: string | undefined,
  title?: string,
) {
  const field = identifier(description, example);
  references.set(field, { kind, ...(title && { title }) });
  return field;
}

/** The optional form of `requiredReference`. */
export function reference(kind: string, description: string, example: string | undefined, title?: string) {
  return requiredReference(kind, description, example, title).nullable().optional();
}

/** Returns the kind of record that a field refers to; undefined when it refers to none. */
export function referenceOf(field: z.ZodType): Reference | undefined {
  return references.get(unwrapped(field));
}

/** Returns a field's schema without `null` and without being optional. */
export function unwrapped(field: z.ZodType): z.ZodType {
  let inner = field;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) {
    inner = inner.unwrap() as z.ZodType;
  }
  return inner;
}

/** An optional string of exactly `count` ASCII digits. */
export function digits(count: number, example: string | undefined, description: string) {
  return z
    .string()
    .regex(new RegExp(`^\\d{${count}}$`), { error: `must be exactly ${count} digits` })
    .nullable()
    .optional()
    .meta(meta(description, example));
}

/** An optional string of exactly `count` characters. */
export function exactly(count: number, example: string, description: string) {
  return z.string().length(count).nullable().optional().meta(meta(description, example));
}

/** An optional string from a fixed set. */
export function oneOf<const Values extends readonly [string, ...string[]]>(
  values: Values,
  description?: string,
) {
  return z.enum(values).nullable().optional().meta(meta(description, values[0]));
}

const NO_DATE = 'must be an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z';

/**
 * An ISO 8601 date-time or plain date, checked against the calendar, and brought into the form in which it is stored
 * (`storedDate`).
 */
export function requiredDate(example: string | undefined, description?: string) {
  return z
    .string()
    .check((payload) => {
      const found = storedDate(payload.value);
      if (found === undefined)
        payload.issues.push({ code: 'custom', message: NO_DATE, input: payload.value });
      else payload.value = found;
    })
    .meta({ ...meta(description, example), pattern: iso8601.source });
}

/** A day of the calendar, also in the other forms that ISO 8601 has for one. */
export function requiredDay(example: string, description: string) {
  return z
    .string()
    .overwrite((value) => storedDate(value) ?? value)
    .regex(z.regexes.date, { error: 'must be a date, such as 2026-01-31' })
    .meta({ ...meta(description, example), format: 'date' });
}

/** The optional form of `requiredDate`. */
export function date(example: string | undefined, description?: string) {
  return requiredDate(example, description).nullable().optional();
}

/** An optional boolean. */
export function flag(description: string) {
  return z.boolean().nullable().optional().meta(meta(description, true));
}
