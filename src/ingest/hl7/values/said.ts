/** The fields of which something is said; `null` clears. */
export function said<Fields extends Record<string, unknown>>(fields: Fields): Fields {
  return without(fields, [undefined]);
}

/** The fields that have a value: of what is written whole, or not at all unless it is new, nothing needs to be cleared. */
export function given<Fields extends Record<string, unknown>>(fields: Fields): Fields {
  return without(fields, [undefined, null]);
}

function without<Fields extends Record<string, unknown>>(fields: Fields, left: unknown[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !left.includes(value))) as Fields;
}
