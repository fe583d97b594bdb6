import type { ReadModels } from '../../storage/readModels.ts';
import { entryOf, worklistModel } from './worklistEntry.ts';
import { listsResting, worklistPartition } from './worklistLists.ts';

/** Maximum number of encounters looked at of those that depend on a record. */
export const MOST_LOOKED_AT = 200;

/** What is blocked by a record itself. */
export interface Blocked {
  /** Encounters. */
  count: number;
  /** Encounters by the codes of the rules. */
  rules: Record<string, number>;
  /** Whether every encounter that depends on the record was looked at, rather than only the first ones. */
  isWhole: boolean;
}

/**
 * Resolves with how many encounters a patient, payer, facility or provider blocks: those with a blocking finding in
 * which it is at fault. It does not wait for the worklist. Rejects with `unavailable`.
 */
export async function readBlocked(
  readModels: ReadModels,
  workspace: string,
  { kind, id }: { kind: string; id: string },
): Promise<Blocked> {
  const partition = worklistPartition(workspace);
  const limit = MOST_LOOKED_AT + 1;
  const pages = await Promise.all(
    listsResting(kind, id, ['blocked']).map((list) =>
      readModels.page(worklistModel, { partition, list, limit }),
    ),
  );
  const blocked: Blocked = { count: 0, rules: {}, isWhole: pages.every((page) => page.length < limit) };
  for (const row of pages.flatMap((page) => page.slice(0, MOST_LOOKED_AT))) {
    const entry = entryOf(row);
    if (entry?.state !== 'blocked') continue;
    const own = entry.findings.filter(
      (one) => one.severity === 'blocks' && one.kind === kind && one.id === id,
    );
    if (own.length > 0) blocked.count += 1;
    for (const code of new Set(own.map(({ rule }) => rule)))
      blocked.rules[code] = (blocked.rules[code] ?? 0) + 1;
  }
  return blocked;
}
