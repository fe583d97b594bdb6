/**
 * The JSON value with the members of its objects sorted by their names' UTF-16 code units; the value itself where they are,
 * and where some object cannot hold them so: names that are numbers come first in every object, and `__proto__` is none of
 * its members.
 */
export function sortMembers<Value>(value: Value): Value {
  if (isSorted(value)) return value;
  const copy = sorted(value);
  return copy === unsortable ? value : (copy as Value);
}

/** Whether `JSON.stringify` writes the members of all objects of a JSON value in the order of their names' UTF-16 code units. */
export function isSorted(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isSorted);
  let last = '';
  for (const name of Object.keys(value)) {
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
