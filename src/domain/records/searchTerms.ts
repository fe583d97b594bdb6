import type { z } from 'zod';
import type { CatalogEntry, RecordFields } from './schema/defineKind.ts';
import { type FoundAs, foundByOf } from './schema/fields.ts';
import { nestedIn } from './schema/nestedObject.ts';
import { endsOf, isYear, joinedWord, joinedWords, wordsOf } from './searchWords.ts';

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
};

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
  const value = path.reduce<unknown>(
    (holder, name) => (holder as Record<string, unknown> | null | undefined)?.[name],
    fields,
  );
  return typeof value === 'string' ? value : undefined;
}

/** Returns those of a record's fields that the search knows. */
export function searchedFields(entry: CatalogEntry, fields: RecordFields): RecordFields {
  const known: RecordFields = { id: fields.id };
  for (const { path } of searchFieldsOf(entry)) {
    const value = valueAt(fields, path);
    const [first, second] = path as readonly [string, string?];
    if (value === undefined) continue;
    if (second === undefined) known[first] = value;
    else known[first] = { ...(known[first] as object | undefined), [second]: value };
  }
  return known;
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
 * Returns what tells a record apart from others of the same name: fields by their dotted names. Names are not among
 * them.
 */
export function tellingFields(entry: CatalogEntry, fields: RecordFields): Record<string, string> {
  const told: Record<string, string> = {};
  for (const { path, as } of searchFieldsOf(entry)) {
    const value = as === 'name' ? undefined : valueAt(fields, path);
    if (value !== undefined) told[path.join('.')] = value;
  }
  return told;
}
