import { z } from 'zod';
import { instantOf } from '../../../../domain/records/schema/isoDates.ts';
import { stateCode } from '../../../../domain/records/schema/states.ts';
import { offsetOf } from '../../../../domain/records/schema/timeZones.ts';
import { shownOffset } from '../../fields.ts';
import { inTable } from '../../mapping.ts';

const COUNTRIES = new Map([
  ['usa', 'US'],
  ['united states', 'US'],
  ['united states of america', 'US'],
]);

/** Returns an address as a record has it. */
export function addressFields(address: Address | undefined): Record<string, string> {
  if (address === undefined) return {};
  const { line = [], city, state, postalCode, country } = address;
  const [first, second] = [line[0], line.slice(1).join(', ')];
  return {
    ...(first && { address_line_1: first }),
    ...(second && { address_line_2: second }),
    ...(city && { city }),
    ...(state && { state: stateCode(state) }),
    ...(postalCode && { zip_code: postalCode }),
    ...(country && { country: COUNTRIES.get(country.toLowerCase()) ?? country }),
  };
}

const WHOLE_DAY = '2026-03-14'.length;

/**
 * Whether a period includes a moment, in milliseconds since 1970; without a period, or where an end is open, it does.
 * Its last day is included.
 */
export function inForce({ period }: { period?: Period | undefined }, at: number): boolean {
  const { start, end } = period ?? {};
  return (start === undefined || startOf(start) <= at) && (end === undefined || at <= endOf(end));
}

/**
 * Returns the first moment of a date of any precision: `2026`, `2026-03`, `2026-03-14` or with a time (FHIR R4,
 * 2.24.0.1).
 */
export function startOf(date: string): number {
  const [year = '', month = '01', day = '01'] = date.slice(0, 10).split('-');
  return date.includes('T') ? instantOf(date) : Date.UTC(Number(year), Number(month) - 1, Number(day));
}

/** Returns the last moment of such a date. */
export function endOf(date: string): number {
  if (date.includes('T')) return instantOf(date);
  const [year = '', month, day] = date.split('-');
  const next =
    month === undefined
      ? Date.UTC(Number(year) + 1, 0, 1)
      : day === undefined
        ? Date.UTC(Number(year), Number(month), 1)
        : Date.UTC(Number(year), Number(month) - 1, Number(day) + 1);
  return next - 1;
}

/** Returns the first day of a date that may lack its day or month; one that has both, or a time, as it is. */
export function firstDay(date: string): string {
  return date.length < WHOLE_DAY ? `${date}-01-01`.slice(0, WHOLE_DAY) : date;
}

/** Returns the last day of such a date. */
export function lastDay(date: string): string {
  if (date.length >= WHOLE_DAY) return date;
  const [year = '', month = '12'] = date.split('-');
  // The month has the same length 400 years later; `Date` interprets years before 100 differently.
  const days = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  return `${year}-${month}-${days}`;
}

interface Usable {
  use?: string | undefined;
  period?: Period | undefined;
}

/** Uses in order of preference; '' means none given. A use that is not listed is not accepted. */
type Uses = readonly string[];

const nameUses: Uses = ['official', 'usual', '', 'temp', 'nickname', 'maiden'];
const addressUses: Uses = ['home', '', 'work', 'temp', 'billing'];
const contactUses: Uses = ['mobile', 'home', '', 'work', 'temp'];
const workUses: Uses = ['work', '', 'mobile', 'home', 'temp'];

/**
 * Returns the name to show: a complete one comes first, then one in force before one that is not, then an official
 * one before others.
 */
export function chooseName(names: readonly HumanName[] | undefined, at: number): HumanName | undefined {
  const whole = names?.filter(({ family, given }) => family && given?.[0]);
  return choose(whole, nameUses, at) ?? choose(names, nameUses, at);
}

/** Returns where somebody lives, or where a place is. */
export function chooseAddress(addresses: readonly Address[] | undefined, at: number): Address | undefined {
  return choose(addresses, addressUses, at);
}

/** Returns the preferred value among the contact points of a system (`phone`, `email`, `fax`, `url`). */
export function chooseContact(
  points: readonly ContactPoint[] | undefined,
  system: string,
  at: number,
  whose: 'person' | 'work' = 'person',
): string | undefined {
  const own = points?.filter((point) => point.system === system && point.value !== undefined);
  const ranked = own?.toSorted((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity));
  return choose(ranked, whose === 'person' ? contactUses : workUses, at)?.value;
}

/** Returns the first of the best use among those in force; a former one is used only where there is nothing else. */
function choose<One extends Usable>(
  all: readonly One[] | undefined,
  uses: Uses,
  at: number,
): One | undefined {
  const placeOf = ({ use = '' }: Usable) => uses.indexOf(use);
  const usable = (all ?? []).filter((one) => placeOf(one) >= 0);
  const present = usable.filter((one) => inForce(one, at));
  return (present.length > 0 ? present : usable).toSorted((a, b) => placeOf(a) - placeOf(b))[0];
}

/** A FHIR code: what it allows is checked where it matters. */
const code = z.string();

/** For an array: more than any resource has, and few enough to report what is wrong with each. */
const MAX_ELEMENTS = 1000;

/**
 * Returns the schema of an array of elements (FHIR R4, 2.6.2.2); an array that is too long is refused before its
 * elements are looked at.
 */
export function listOf<Element extends z.ZodType>(element: Element, most = MAX_ELEMENTS) {
  return z.array(z.unknown()).max(most).pipe(z.array(element));
}

/** An array of texts; a text that has only extensions is `null` in it (FHIR R4, 2.6.2.3). */
export const textsSchema = listOf(z.string().nullable()).transform((texts) =>
  texts.filter((text): text is string => Boolean(text?.trim())),
);

const MONTH = '-(?:0[1-9]|1[0-2])';
const DAY = '-(?:0[1-9]|[12]\\d|3[01])';
const TIME =
  'T(?:[01]\\d|2[0-3]):[0-5]\\d(?::(?:[0-5]\\d|60)(?:\\.\\d{1,12})?)?(?:Z|[+-](?:0\\d|1[0-4]):[0-5]\\d)?';

/** FHIR R4, 2.24.0.1: a date of any precision, or with a time. */
export const dateTimeSchema = z.string().regex(new RegExp(`^\\d{4}(?:${MONTH}(?:${DAY}(?:${TIME})?)?)?$`));

/** FHIR R4, 2.24.0.12: a time span; either end may be open. */
export const periodSchema = z.object({ start: dateTimeSchema.optional(), end: dateTimeSchema.optional() });
export type Period = z.infer<typeof periodSchema>;

export const codingSchema = z.object({
  system: z.string().optional(),
  code: code.optional(),
  display: z.string().optional(),
});

export const codeableConceptSchema = z.object({
  coding: listOf(codingSchema).optional(),
  text: z.string().optional(),
});
export type CodeableConcept = z.infer<typeof codeableConceptSchema>;

export const identifierSchema = z.object({
  use: code.optional(),
  type: codeableConceptSchema.optional(),
  system: z.string().optional(),
  value: z.string().trim().optional(),
  period: periodSchema.optional(),
});
export type Identifier = z.infer<typeof identifierSchema>;

export const humanNameSchema = z.object({
  use: code.optional(),
  text: z.string().optional(),
  family: z.string().optional(),
  given: textsSchema.optional(),
  period: periodSchema.optional(),
});
type HumanName = z.infer<typeof humanNameSchema>;

export const contactPointSchema = z.object({
  system: code.optional(),
  value: z.string().optional(),
  use: code.optional(),
  rank: z.int().positive().optional(),
  period: periodSchema.optional(),
});
type ContactPoint = z.infer<typeof contactPointSchema>;

export const addressSchema = z.object({
  use: code.optional(),
  type: code.optional(),
  line: textsSchema.optional(),
  city: z.string().optional(),
  state: z.string().optional(),
  postalCode: z.string().optional(),
  country: z.string().optional(),
  period: periodSchema.optional(),
});
type Address = z.infer<typeof addressSchema>;

/** FHIR R4, 2.29: a reference to a resource by its address, or by one of its identifiers. */
export const referenceSchema = z.object({
  reference: z.string().optional(),
  type: z.string().optional(),
  identifier: identifierSchema.optional(),
  display: z.string().optional(),
});
export type Reference = z.infer<typeof referenceSchema>;

/** Returns the non-empty value of the identifier of a system; that of an `old` one only where there is no other. */
export function identifierOf(
  identifiers: readonly Identifier[] | undefined,
  system: string,
): string | undefined {
  const own = identifiers?.filter((one) => one.system === system && one.value) ?? [];
  return (own.find(({ use }) => use !== 'old') ?? own[0])?.value;
}

/** Returns the identifier of a system whose values are numbers, which people write with blanks. */
export function numberOf(identifiers: readonly Identifier[] | undefined, system: string): string | undefined {
  return identifierOf(identifiers, system)?.replaceAll(/\s/g, '');
}

type Coding = z.infer<typeof codingSchema>;

/**
 * Returns the entry of a source's table for the first of these codes that it has, with their system as prefix or
 * without.
 */
export function ofCodes<Entry>(
  entries: Readonly<Record<string, Entry>> | undefined,
  codings: readonly Coding[],
): Entry | undefined {
  if (entries === undefined) return undefined;
  for (const { system, code } of codings) {
    if (code === undefined) continue;
    const found = inTable(entries, `${system}|${code}`) ?? inTable(entries, code);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the codes of concepts, in order. */
export function codingsOf(concepts: readonly (CodeableConcept | undefined)[]): Coding[] {
  return concepts.flatMap((concept) => concept?.coding ?? []);
}

/** What a reference names. */
export type Referred =
  /** A resource contained in the one that refers to it, by its id there. */
  | { by: 'contained'; id: string }
  /** An entry of the same bundle, by its `fullUrl`. */
  | { by: 'fullUrl'; url: string }
  /** A resource by its type and id, on this server or, with `url`, anywhere. */
  | { by: 'id'; type: string; id: string; url?: string }
  /** The only resource of a type that has an identifier. */
  | { by: 'identifier'; type: string | undefined; system: string | undefined; value: string }
  /** Only a text for people. */
  | { by: 'display'; display: string };

/** Longer than any address: anything longer is not looked at. */
const MAX_LENGTH = 2048;

const RELATIVE = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[^/]+)?$/;
const ABSOLUTE = /^(https?:\/\/.+\/)([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[^/]+)?$/;
const CONDITIONAL = /^([A-Z][A-Za-z]+)\?identifier=(.+)$/;

/**
 * Returns what a reference names (FHIR R4, 2.29; conditional ones: 3.1.0.11.2); undefined for one that names nothing,
 * or in an unknown way. A literal reference takes precedence over an identifier, and that over a text.
 */
export function referredBy({ reference, identifier, type, display }: Reference): Referred | undefined {
  if (reference !== undefined) return reference.length > MAX_LENGTH ? undefined : literally(reference);
  if (identifier?.value !== undefined) {
    return { by: 'identifier', type, system: identifier.system, value: identifier.value };
  }
  return display === undefined ? undefined : { by: 'display', display };
}

function literally(reference: string): Referred | undefined {
  if (reference.startsWith('#')) return { by: 'contained', id: reference.slice(1) };
  if (/^urn:(?:uuid|oid):/.test(reference)) return { by: 'fullUrl', url: reference };
  const conditional = CONDITIONAL.exec(reference);
  if (conditional) return byToken(conditional[1] as string, conditional[2] as string);
  const absolute = ABSOLUTE.exec(reference);
  if (absolute) {
    return { by: 'id', type: absolute[2] as string, id: absolute[3] as string, url: reference };
  }
  const relative = RELATIVE.exec(reference);
  return relative ? { by: 'id', type: relative[1] as string, id: relative[2] as string } : undefined;
}

/** Parses a search token: `system|value`, `|value` or `value`, percent-encoded or not. */
function byToken(type: string, token: string): Referred | undefined {
  const text = decoded(token);
  const bar = text.indexOf('|');
  const [system, value] =
    bar < 0 ? [undefined, text] : [text.slice(0, bar) || undefined, text.slice(bar + 1)];
  return value === '' ? undefined : { by: 'identifier', type, system, value };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Matches a time of day without an offset. */
const WITHOUT_OFFSET = /T[\d:.]+$/;

/** Returns a date of any precision, or a time with its offset, or that of the time zone where it has none. */
export function zoned(dateTime: string, timeZone: string): string {
  if (!WITHOUT_OFFSET.test(dateTime)) return dateTime;
  return `${dateTime}${shownOffset(offsetOf(instantOf(dateTime), timeZone))}`;
}

/** Returns a period with both ends in that form. */
export function zonedPeriod({ start, end }: Period, timeZone: string): Period {
  return {
    ...(start !== undefined && { start: zoned(start, timeZone) }),
    ...(end !== undefined && { end: zoned(end, timeZone) }),
  };
}
