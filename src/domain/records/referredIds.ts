import type { CatalogEntry, RecordFields } from './catalog.ts';

/** Returns the ids of the records of a kind that a record's fields refer to; empty where they refer to none. */
export function referredIds(
  { references }: CatalogEntry,
  fields: Partial<RecordFields>,
  kind: string,
): string[] {
  const ids = new Set<string>();
  for (const reference of references) {
    if (reference.kind !== kind) continue;
    const id = reference.path.reduce<unknown>(
      (value, name) => (value as Record<string, unknown> | null | undefined)?.[name],
      fields,
    );
    if (typeof id === 'string') ids.add(id);
  }
  return [...ids];
}
