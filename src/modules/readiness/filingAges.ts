import { instantOf } from '../../domain/records/schema/isoDates.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { lookThrough, MOST_COUNTED } from './worklist.ts';
import type { WorklistSelection } from './worklistFanOut.ts';

/** When blocked encounters lose their claim: the day after the last one on which the payer takes it. */
export const filingAges = ['thisWeek', 'nextWeek', 'thisMonth', 'lost'] as const;
export type FilingAge = (typeof filingAges)[number];

/** How many days are left, at least and at most: in the next 7 days, in the 7 days after those, in the rest of 30 days. */
const daysLeftOf: Record<FilingAge, { least?: number; most: number }> = {
  thisWeek: { least: 0, most: 6 },
  nextWeek: { least: 7, most: 13 },
  thisMonth: { least: 14, most: 29 },
  lost: { most: -1 },
};

const DAY_MS = 86_400_000;

/** Returns how many days are left on a day for filing: 0 on the last one, negative once it has passed. Both such as `2026-03-14`. */
export function daysLeft(lastDay: string, today: string): number {
  return Math.round((instantOf(lastDay) - instantOf(today)) / DAY_MS);
}

/** Returns the first and the last of the last days for filing that encounters of an age have, on a day such as `2026-03-14`. */
export function filingDays(age: FilingAge, today: string): { from?: string; to: string } {
  const { least, most } = daysLeftOf[age];
  const dayIn = (days: number) => new Date(instantOf(today) + days * DAY_MS).toISOString().slice(0, 10);
  return { ...(least !== undefined && { from: dayIn(least) }), to: dayIn(most) };
}

/**
 * Resolves with how many blocked encounters of a selection have each age, on a day of the workspace; at most `MOST_COUNTED` encounters are looked at. It
 * does not wait for the worklist. Rejects with `unavailable`.
 */
export async function readFilingAges(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  today: string,
): Promise<Record<FilingAge, number>> {
  const ages: Record<FilingAge, number> = { thisWeek: 0, nextWeek: 0, thisMonth: 0, lost: 0 };
  const blocked = { ...selection, state: 'blocked' } as const;
  const bounds = filingAges.map((age) => ({ age, from: '', ...filingDays(age, today) }));
  await lookThrough(readModels, workspace, blocked, MOST_COUNTED, ({ entry, isWanted }) => {
    const last = entry.filing?.last_day;
    if (!isWanted || last === undefined) return;
    const found = bounds.find(({ from, to }) => last >= from && last <= to);
    if (found) ages[found.age] += 1;
  });
  return ages;
}
