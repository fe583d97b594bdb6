import { readTrend } from '../../modules/readiness/readTrend.ts';
import { shownCounts } from '../../modules/readiness/shownCounts.ts';
import type { Tally } from '../../modules/readiness/tally.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { barChart } from '../components/chart.ts';
import { type Html, html } from '../components/html.ts';
import { empty } from '../components/text.ts';
import { countIn } from './worklistCharts.ts';
import type { WorklistQuery } from './worklistQuery.ts';

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
  const { state = 'any', rule, ...others } = selection;
  if (now === undefined || Object.values(others).some((one) => one !== undefined)) return undefined;
  const counted = await readTrend(eventLog, workspace, DAYS);
  if (counted.length === 0) return empty('The trend starts at the end of the first day.');
  const countOf = (tally: Tally) => countIn(shownCounts(tally, { rule }), state);
  const points = lastDays(DAYS - 1).map((day) => {
    // Nothing was counted while the service was down: nothing changed then.
    const last = counted.findLast((one) => one.day <= day);
    return { name: day, value: last ? countOf(last.tally) : 0 };
  });
  const [first, today] = [points.find(({ value }) => value > 0)?.value ?? 0, countOf(now)];
  const change = `${today.toLocaleString('en-US')} now, ${first.toLocaleString('en-US')} at first`;
  return html`<p class="chart-total"><strong>${today.toLocaleString('en-US')}</strong> <span class="muted">now, and at the end of each of the last ${DAYS - 1} days</span></p>
${barChart(`Encounters day by day: ${change}`, [...points, { name: 'now', value: today }])}`;
}

/** Returns the days before today (UTC), in order. */
function lastDays(count: number): string[] {
  const today = Date.now();
  return Array.from({ length: count }, (_, at) =>
    new Date(today - (count - at) * DAY_MS).toISOString().slice(0, 10),
  );
}
