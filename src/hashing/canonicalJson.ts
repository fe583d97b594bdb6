import { isSorted, sortMembers } from '../events/sortMembers.ts';

/**
 * The canonical form of a JSON value (RFC 8785): members sorted by their names' UTF-16 code units, no white space,
 * numbers and strings as ECMAScript writes them. Equal values have equal texts. Takes what `JSON.parse` gives.
 */
export function canonicalJson(value: unknown): string {
  // Every event is written so, and new ones are sorted already: one call of `JSON.stringify` takes the least time.
  const ordered = sortMembers(value);
  return isSorted(ordered) ? JSON.stringify(ordered) : write(ordered);
}

function write(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(write).join()}]`;
  const object = value as Record<string, unknown>;
  const members = Object.keys(object).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${write(object[name])}`).join()}}`;
}
