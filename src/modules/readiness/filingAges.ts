import { instantOf } from '../../domain/records/schema/isoDates.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { lookThrough, MOST_COUNTED } from './worklist.ts';
import type { WorklistSelection } from './worklistFanOut.ts';

/** How many blocked encounters lose their claim when: the day after the last one on which the payer takes it. */
export interface FilingAges {
  lost: number;
  /** Within the next 7 days, in the 7 days after those, and in the rest of 30 days. */
  thisWeek: number;
  nextWeek: number;
  thisMonth: number;
}

const DAY_MS = 86_400_000;

/** Returns how many days are left on a day for filing: 0 on the last one, negative once it has passed. Both such as `2026-03-14`. */
export function daysLeft(lastDay: string, today: string): number {
  return Math.round((instantOf(lastDay) - instantOf(today)) / DAY_MS);
}

/**
 * Resolves with the ages of the blocked encounters of a selection against the filing limits, on a day of the workspace; at most
 * `MOST_COUNTED` encounters are looked at. It does not wait for the worklist. Rejects with `unavailable`.
 */
export async function readFilingAges(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  today: string,
): Promise<FilingAges> {
  const ages: FilingAges = { lost: 0, thisWeek: 0, nextWeek: 0, thisMonth: 0 };
  const blocked = { ...selection, state: 'blocked' } as const;
  await lookThrough(readModels, workspace, blocked, MOST_COUNTED, ({ entry, isWanted }) => {
    const { filing } = entry;
    if (!isWanted || filing === undefined) return;
    const days = daysLeft(filing.last_day, today);
    // The claim is lost at the end of the last day.
    if (days < 0) ages.lost += 1;
    else if (days < 7) ages.thisWeek += 1;
    else if (days < 14) ages.nextWeek += 1;
    else if (days < 30) ages.thisMonth += 1;
  });
  return ages;
}
