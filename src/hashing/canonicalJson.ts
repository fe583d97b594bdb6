/**
 * The canonical form of a JSON value (RFC 8785): members sorted by their names' UTF-16 code units, no white space,
 * numbers and strings as ECMAScript writes them. Equal values have equal texts. Takes what `JSON.parse` gives.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  const object = value as Record<string, unknown>;
  const members = Object.keys(object)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(object[name])}`);
  return `{${members.join()}}`;
}
