/**
 * The canonical form of a JSON value (RFC 8785): members sorted by their names' UTF-16 code units, no white space, numbers and
 * strings as ECMAScript writes them. Equal values have equal texts. Accepts what `JSON.stringify` accepts.
 */
export function canonicalJson(value: object): string {
  // Every event is written this way, and most are sorted already: a single `JSON.stringify` is fastest.
  const ordered = sortMembers(value);
  return isSorted(ordered) ? JSON.stringify(ordered) : write(JSON.parse(JSON.stringify(value)));
}

/**
 * Returns the value with the members of its objects sorted by their names' UTF-16 code units; returns the value itself if they
 * are sorted, or if some object cannot hold them in that order: numeric names come first in every object, and `__proto__` cannot
 * be a member.
 */
export function sortMembers<Value extends object>(value: Value): Value {
  if (isSorted(value)) return value;
  const copy = sorted(value);
  return copy === unsortable ? value : (copy as Value);
}

function isSorted(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isSorted);
  let last = '';
  // Takes half the time of `Object.keys`; JSON objects inherit no members.
  for (const name in value) {
    if (name < last || !isSorted((value as Record<string, unknown>)[name])) return false;
    last = name;
  }
  return true;
}

const unsortable = Symbol('unsortable');

function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.map(sorted);
    return items.includes(unsortable) ? unsortable : items;
  }
  // It defines its own text.
  if ('toJSON' in value) return unsortable;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value).sort()) {
    const inner = sorted((value as Record<string, unknown>)[name]);
    if (inner === unsortable || name === '__proto__' || startsWithDigit(name)) return unsortable;
    copy[name] = inner;
  }
  return copy;
}

function startsWithDigit(name: string): boolean {
  const first = name.charCodeAt(0);
  return first >= 0x30 && first <= 0x39;
}

function write(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(write).join()}]`;
  const object = value as Record<string, unknown>;
  const members = Object.keys(object).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${write(object[name])}`).join()}}`;
}
