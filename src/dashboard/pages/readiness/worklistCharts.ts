import { readinessStates } from '../../../domain/events/readinessEvents.ts';
import {
  daysIn,
  readTrend,
  type ShownCounts,
  shownCounts,
  type Tally,
} from '../../../modules/readiness/counts.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';
import { barChart, type ChartPoint, lineChart } from '../../components/charts.ts';
import { type Html, html } from '../../components/page.ts';
import { dayText, empty } from '../../components/text.ts';
import { worklistPath } from '../../components/urls.ts';
import type { ShownState, WorklistQuery } from './worklistQuery.ts';

const MONTHS = 12;

/**
 * Resolves with how many encounters of each of the last months of service are in the selected state and do not meet
 * the selected rule; each bar leads to these. Undefined where more than that and days is selected: there are no such counts by
 * day. Rejects with `unavailable`.
 */
export async function monthChart(
  readModels: ReadModels,
  workspace: string,
  { selection, limits }: WorklistQuery,
): Promise<Html | undefined> {
  const { state = 'any', rule, from: _, to, sort: __, ...others } = selection;
  if (Object.values(others).some((one) => one !== undefined)) return undefined;
  const months = lastMonths(to ?? new Date().toISOString());
  const counts = new Map(months.map(({ name }) => [name, 0]));
  const days = { from: months[0]?.from, to: months.at(-1)?.to };
  for await (const { value, tally } of daysIn(readModels, workspace, days)) {
    const name = monthOf(value);
    counts.set(name, (counts.get(name) ?? 0) + countIn(shownCounts(tally, { rule }), state));
  }
  const points = months.map(({ name, from, to }): ChartPoint => {
    const value = counts.get(name) ?? 0;
    const path = worklistPath(workspace, { ...limits, from, to }).replace('/dashboard', '');
    return { name: monthText(from), value, ...(value > 0 && { link: { path, id: `month-${name}` } }) };
  });
  const sum = [...counts.values()].reduce((all, count) => all + count, 0).toLocaleString('en-US');
  const words = `in ${MONTHS} months until ${monthText(months.at(-1)?.from ?? '')}`;
  return html`<p class="chart-total"><strong>${sum}</strong> <span class="muted">${words}</span></p>
${barChart({ summary: `Encounters by month of service: ${sum} ${words}`, unit: 'encounters' }, points)}`;
}

/** Returns the months up to that of a day, with their first and last days. */
function lastMonths(day: string): { name: string; from: string; to: string }[] {
  const [year, month] = monthOf(day).split('-').map(Number) as [number, number];
  const dayAt = (months: number, date: number) =>
    new Date(Date.UTC(year, months, date)).toISOString().slice(0, 10);
  return Array.from({ length: MONTHS }, (_, at) => {
    const index = month - MONTHS + at;
    const from = dayAt(index, 1);
    return { name: monthOf(from), from, to: dayAt(index + 1, 0) };
  });
}

const monthFormat = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', year: 'numeric', month: 'short' });

/** `Mar 2026` of `2026-03-14`. */
function monthText(day: string): string {
  return monthFormat.format(Date.parse(day));
}

/** `2026-03` of `2026-03-14`. */
function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** Returns how many encounters are in a state. */
export function countIn({ states }: ShownCounts, state: ShownState): number {
  if (state !== 'any') return states[state];
  return readinessStates.reduce((sum, one) => sum + states[one], 0);
}

const DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * Resolves with how many encounters were in the selected state, and did not meet the selected rule, at the end of
 * each of the last days, and how many are now. Undefined where more than that is selected: there are no such counts.
 * Rejects with `unavailable`.
 */
export async function trendChart(
  eventLog: EventLog,
  workspace: string,
  { selection }: WorklistQuery,
  now: Tally | undefined,
): Promise<Html | undefined> {
  const { state = 'any', rule, sort: _, ...others } = selection;
  if (now === undefined || Object.values(others).some((one) => one !== undefined)) return undefined;
  const counted = await readTrend(eventLog, workspace, DAYS);
  if (counted.length === 0) return empty('The trend starts at the end of the first day.');
  const countOf = (tally: Tally) => countIn(shownCounts(tally, { rule }), state);
  const points = lastDays(DAYS - 1).map((day) => {
    // Nothing was counted while the service was down: nothing changed then.
    const last = counted.findLast((one) => one.day <= day);
    return { name: dayText(day), value: last ? countOf(last.tally) : 0 };
  });
  const [first, today] = [points.find(({ value }) => value > 0)?.value ?? 0, countOf(now)];
  const change = `${today.toLocaleString('en-US')} now, ${first.toLocaleString('en-US')} at first`;
  return html`<p class="chart-total"><strong>${today.toLocaleString('en-US')}</strong> <span class="muted">now, and at the end of each of the last ${DAYS - 1} days</span></p>
${lineChart({ summary: `Encounters day by day: ${change}`, unit: 'encounters' }, [...points, { name: 'now', value: today }])}`;
}

/** Returns the days before today (UTC), in order. */
function lastDays(count: number): string[] {
  const today = Date.now();
  return Array.from({ length: count }, (_, at) =>
    new Date(today - (count - at) * DAY_MS).toISOString().slice(0, 10),
  );
}
