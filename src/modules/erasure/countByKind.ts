import { catalog } from '../../domain/records/catalog.ts';

/** The number of each kind, in words: `2 encounters and 1 document`. Empty when there are none. */
export function countByKind(kinds: readonly string[]): string {
  const counts = Map.groupBy(kinds, (kind) => kind);
  return [...counts]
    .map(([kind, { length }]) => `${length.toLocaleString('en-US')} ${length === 1 ? kind : pluralOf(kind)}`)
    .join(' and ');
}

function pluralOf(kind: string): string {
  return catalog.find((entry) => entry.kind === kind)?.plural ?? `${kind}s`;
}
