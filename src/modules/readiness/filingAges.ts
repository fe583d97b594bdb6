import { instantOf } from '../../domain/records/schema/isoDates.ts';
import type { WorklistStep } from './worklistFanOut.ts';

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

/** Returns a count of blocked encounters by age, on a day of the workspace, and what adds an encounter of the worklist to it. */
export function filingAgeCount(today: string): {
  ages: Record<FilingAge, number>;
  add(step: WorklistStep): void;
} {
  const ages: Record<FilingAge, number> = { thisWeek: 0, nextWeek: 0, thisMonth: 0, lost: 0 };
  const bounds = filingAges.map((age) => ({ age, from: '', ...filingDays(age, today) }));
  return {
    ages,
    add({ entry: { state, filing }, isWanted }) {
      const last = filing?.last_day;
      if (!isWanted || state !== 'blocked' || last === undefined) return;
      const found = bounds.find(({ from, to }) => last >= from && last <= to);
      if (found) ages[found.age] += 1;
    },
  };
}
