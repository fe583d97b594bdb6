import { z } from 'zod';
import { type FoundAs, foundByOf, unwrapped } from './schema/fields.ts';
import { instantOf } from './schema/isoDates.ts';
import { type CatalogEntry, nestedIn, type RecordFields } from './schema/kind.ts';

/**
 * Matches records whose field has a value. For a flag, `false` matches every value but `true`: it may never have been
 * sent.
 */
interface ValueFilter {
  field: string;
  value: string | boolean;
}

/** Matches records whose field is a date within bounds, both inclusive; a record without the date does not match. */
interface RangeFilter {
  field: string;
  from?: string | undefined;
  to?: string | undefined;
}

export type Filter = ValueFilter | RangeFilter;

/** Whether a record with these fields, as folded, passes all of the filters. */
export function passes(filters: readonly Filter[], fields: Record<string, unknown>): boolean {
  return filters.every((filter) => {
    const value = fields[filter.field];
    if ('value' in filter) return meantBy(filter.value, value) === filter.value;
    return typeof value === 'string' && isWithin(filter, value);
  });
}

/** Returns a field's value as a filter with such a value interprets it. */
function meantBy(wanted: string | boolean, value: unknown): unknown {
  return typeof wanted === 'boolean' ? value === true : value;
}

function isWithin({ from, to }: RangeFilter, value: string): boolean {
  return (from === undefined || compare(value, from) >= 0) && (to === undefined || compare(value, to) <= 0);
}

/** A plain date is compared with the date as sent, in whatever zone; any other bound is a moment. */
function compare(value: string, bound: string): number {
  if (bound.length > 10) return instantOf(value) - instantOf(bound);
  const day = value.slice(0, 10);
  return day < bound ? -1 : Number(day > bound);
}

/** Returns the list, in the read model of records, of those that match a filter by value. */
export function listOf({ field, value }: ValueFilter): string {
  return `${field}=${encodeURIComponent(value)}`;
}

/** Returns the lists that a record with these fields is on. */
export function listsOf(entry: CatalogEntry, fields: Record<string, unknown>): string[] {
  return entry.filters.flatMap(({ field, by }) => {
    if (by !== 'value') return [];
    const value = isFlag(entry, field) ? fields[field] === true : fields[field];
    return value === undefined ? [] : [listOf({ field, value: value as string | boolean })];
  });
}

/** Whether a field is a boolean. */
export function isFlag({ schema }: CatalogEntry, field: string): boolean {
  return unwrapped(schema.shape[field] as z.ZodType) instanceof z.ZodBoolean;
}

/** Longer words are cut, in the index and in queries alike. In characters. */
const MAX_WORD = 64;
/** Parts of an id are also found by their endings, from this many characters on. */
export const LEAST_END = 4;
/** Endings per part: the shortest ones of a longer part. */
const MAX_ENDS = 8;

const marks = /\p{M}+/gu;
/** Dropped within a word: O'Brien is found as obrien. */
const apostrophes = /['’ʼ`]/gu;
const notOfWords = /[^\p{L}\p{N}]+/u;
const blanks = /\s+/u;

/** Returns a text in the form used for comparison: NFKD, without accents and case. */
function folded(text: string): string {
  return text.normalize('NFKD').replace(marks, '').toLowerCase();
}

function cut(word: string): string {
  return word.length <= MAX_WORD ? word : [...word].slice(0, MAX_WORD).join('');
}

/** Returns the words of a text: what stands between blanks and punctuation. */
export function wordsOf(text: string): string[] {
  return folded(text)
    .replace(apostrophes, '')
    .split(notOfWords)
    .filter((word) => word !== '')
    .map(cut);
}

/** Returns a text as one word, without blanks and punctuation; a text of nothing but punctuation keeps it. */
export function joinedWord(text: string): string {
  return cut(wordsOf(text).join('') || folded(text).replace(/\s+/gu, ''));
}

/** Returns the blank-separated parts, each as one word. */
function joinedWords(text: string): string[] {
  return text
    .split(blanks)
    .filter((part) => part !== '')
    .map(joinedWord);
}

/** Returns the endings by which a part of an id is also found. */
function endsOf(word: string): string[] {
  const characters = [...word];
  const longest = Math.min(characters.length - 1, LEAST_END + MAX_ENDS - 1);
  const lengths = Array.from({ length: Math.max(0, longest - LEAST_END + 1) }, (_, at) => LEAST_END + at);
  return lengths.map((length) => characters.slice(-length).join(''));
}

const dateForms: readonly [form: RegExp, read: (parts: string[]) => string[]][] = [
  [/^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/, (parts) => parts],
  [/^(\d{4})(\d{2})(\d{2})$/, (parts) => parts],
  // As written in the United States.
  [/^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})$/, ([month = '', day = '', year = '']) => [year, month, day]],
];

/** Returns the day that a word names in one of the usual forms, as `19900102`; undefined where it names none. */
export function dayIn(word: string): string | undefined {
  for (const [form, read] of dateForms) {
    const found = form.exec(word)?.slice(1);
    if (found === undefined) continue;
    const [year = '', month = '', day = ''] = read(found);
    const isDay = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31;
    if (isDay) return `${year}${month.padStart(2, '0')}${day.padStart(2, '0')}`;
  }
  return undefined;
}

/** Whether a word may be a year. */
export function isYear(word: string): boolean {
  return /^(?:18|19|20)\d\d$/.test(word);
}

/** Terms of one record or document; it is not found by any beyond these. */
const MAX_TERMS = 64;

/** Prefixes of terms that are not words of a text. No word begins with one. */
const sorts = { whole: '#', day: '@', initial: '^' } as const;

/** Returns the term of a whole id or number. */
export function wholeTerm(text: string): string {
  return `${sorts.whole}${joinedWord(text)}`;
}

/** Returns the term of a day, `19900102`, or of a year. */
export function dateTerm(dayOrYear: string): string {
  return `${sorts.day}${dayOrYear}`;
}

/** Returns the term of the first letter of a word in a name. */
export function initialTerm(letter: string): string {
  return `${sorts.initial}${letter}`;
}

/** Returns the terms of an id: the whole, its parts, and the endings of those parts that contain digits. */
export function idTerms(id: string): string[] {
  const parts = wordsOf(id);
  return [wholeTerm(id), ...parts, ...parts.filter((part) => /\d/.test(part)).flatMap(endsOf)];
}

const termsAs: Record<FoundAs, (value: string) => string[]> = {
  name: nameTerms,
  number: (value) => [wholeTerm(value), ...wordsOf(value), joinedWord(value)],
  date: dateTerms,
  contact: (value) => [...wordsOf(value), joinedWord(value), ...nationalNumber(value)],
};

/** A phone number of North America: perhaps a country code, then area, exchange and line. */
const phoneNumber = /^\d*(\d{3})(\d{3})(\d{4})$/;

/** Returns the usual parts of a phone number, however it is punctuated; nothing for any other text. */
function nationalNumber(text: string): string[] {
  const [, area, exchange, line] = phoneNumber.exec(joinedWord(text)) ?? [];
  if (area === undefined || exchange === undefined || line === undefined) return [];
  return [area + exchange + line, exchange + line, area, exchange, line];
}

/** Returns the terms of a name: its words, words with punctuation also as one, and their initials. */
export function nameTerms(name: string): string[] {
  const words = wordsOf(name);
  const initials = words.map((word) => initialTerm([...word][0] as string));
  return [...words, ...joinedWords(name), ...initials];
}

function dateTerms(date: string): string[] {
  const day = date.slice(0, 10).replaceAll('-', '');
  const year = day.slice(0, 4);
  return [dateTerm(day), ...(isYear(year) ? [dateTerm(year)] : [])];
}

/** Returns the terms without duplicates, up to the maximum. */
export function boundedTerms(terms: readonly string[]): string[] {
  return [...new Set(terms)].slice(0, MAX_TERMS);
}

/** A field by which records of a kind are found, or that tells found records apart. */
interface SearchField {
  /** The field's name, preceded by that of the object that holds it, if any. */
  path: readonly string[];
  as: FoundAs | undefined;
}

const searchFields = new WeakMap<CatalogEntry, readonly SearchField[]>();

/**
 * Returns the fields of a kind that the search knows: those by which records are found, those that refer to other
 * records, and those that tell records apart in lists.
 */
function searchFieldsOf(entry: CatalogEntry): readonly SearchField[] {
  const known = searchFields.get(entry);
  if (known) return known;
  const referring = new Set(entry.references.map(({ field }) => field));
  const fields = pathsIn(entry.schema.shape).flatMap(([path, schema]) => {
    const as = foundByOf(schema);
    const name = path.join('.');
    return as || referring.has(name) || name === entry.listedBy ? [{ path, as }] : [];
  });
  searchFields.set(entry, fields);
  return fields;
}

function pathsIn(shape: z.ZodRawShape, holder: readonly string[] = []): [readonly string[], z.ZodType][] {
  return Object.entries(shape).flatMap(([name, schema]): [readonly string[], z.ZodType][] => {
    const path = [...holder, name];
    const nested = nestedIn(schema as z.ZodType);
    return nested ? pathsIn(nested.schema.shape, path) : [[path, schema as z.ZodType]];
  });
}

function valueAt(fields: Record<string, unknown>, path: readonly string[]): string | undefined {
  let value: unknown = fields;
  for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}

/** Whether records with these fields, and the same id, have the same terms. */
export function hasSameTerms(entry: CatalogEntry, before: RecordFields, after: RecordFields): boolean {
  return searchFieldsOf(entry).every(
    ({ path, as }) => as === undefined || valueAt(before, path) === valueAt(after, path),
  );
}

/** Returns the terms of a record with these fields. */
export function recordTerms(entry: CatalogEntry, fields: RecordFields): string[] {
  const terms = searchFieldsOf(entry).flatMap(({ path, as }) => {
    const value = valueAt(fields, path);
    return as === undefined || value === undefined ? [] : termsAs[as](value);
  });
  return boundedTerms([...idTerms(fields.id), ...terms]);
}

/**
 * Returns the fields, by their dotted names, whose own terms fit, without those of names: by which a record is found, although nothing
 * that it is called shows it.
 */
export function fieldsFoundBy(
  entry: CatalogEntry,
  fields: RecordFields,
  fits: (terms: ReadonlySet<string>) => boolean,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { path, as } of searchFieldsOf(entry)) {
    const value = valueAt(fields, path);
    if (as === undefined || as === 'name' || value === undefined) continue;
    if (fits(new Set(termsAs[as](value)))) found[path.join('.')] = value;
  }
  return found;
}

/**
 * Returns what tells a record apart from others of the same name: fields by their dotted names. Names, phone numbers
 * and e-mail addresses are not among them.
 */
export function distinguishingFields(entry: CatalogEntry, fields: RecordFields): Record<string, string> {
  const told: Record<string, string> = {};
  for (const { path, as } of searchFieldsOf(entry)) {
    const value = as === 'name' || as === 'contact' ? undefined : valueAt(fields, path);
    if (value !== undefined) told[path.join('.')] = value;
  }
  return told;
}
