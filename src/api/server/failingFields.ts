import type { FieldMessage } from '../../platform/errors.ts';

/** Stands for fields that the interface does not know: their names are the caller's own data. */
export const UNKNOWN_FIELD = 'unknown_field';

/** Maximum number of fields reported for one refusal. */
export const MAX_FIELDS = 20;

/** Indexes into lists: `kinds.0` is a fault of `kinds`. */
const places = /\.\d+(?=\.|$)/g;

/**
 * Returns the names of the fields at fault that are among those known, without duplicates; none where the fault is
 * not in a field.
 */
export function failingFields(
  details: readonly FieldMessage[] | undefined,
  known: ReadonlySet<string> | undefined,
): string[] {
  const names = new Set<string>();
  for (const { field } of details ?? []) {
    const name = field.replace(places, '');
    if (name !== '') names.add(known?.has(name) ? name : UNKNOWN_FIELD);
  }
  return [...names].slice(0, MAX_FIELDS);
}
