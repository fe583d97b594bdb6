import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadModels } from '../../storage/readModels.ts';
import { type WorklistSelection, walkWorklist } from './worklistFanOut.ts';

/** How many blocked encounters lose their claim when: the day after the last one on which the payer takes it. */
export interface FilingAges {
  lost: number;
  /** Within the next 7 days, in the 7 days after those, and in the rest of 30 days. */
  thisWeek: number;
  nextWeek: number;
  thisMonth: number;
}

const DAY_MS = 86_400_000;
const AT_ONCE = 200;
const MOST_LOOKED_AT = 100_000;

/**
 * Resolves with the ages of the blocked encounters of a selection against the filing limits, as of a moment in
 * milliseconds since 1970; at most 100,000 encounters are looked at. It does not wait for the worklist. Rejects with
 * `unavailable`.
 */
export async function readFilingAges(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  now: number,
): Promise<FilingAges> {
  const ages: FilingAges = { lost: 0, thisWeek: 0, nextWeek: 0, thisMonth: 0 };
  let lookedAt = 0;
  const blocked = { ...selection, state: 'blocked' } as const;
  for await (const { entry, isWanted } of walkWorklist(readModels, workspace, blocked)) {
    if (lookedAt === MOST_LOOKED_AT) break;
    lookedAt += 1;
    if (lookedAt % AT_ONCE === 0) await nextTurn();
    const { filing } = entry;
    if (!isWanted || filing === undefined) continue;
    // The claim is lost at the end of the last day.
    const days = (Date.parse(filing.last_day) + DAY_MS - now) / DAY_MS;
    if (days <= 0) ages.lost += 1;
    else if (days <= 7) ages.thisWeek += 1;
    else if (days <= 14) ages.nextWeek += 1;
    else if (days <= 30) ages.thisMonth += 1;
  }
  return ages;
}
