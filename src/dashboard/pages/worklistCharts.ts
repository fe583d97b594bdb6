import { readinessStates } from '../../modules/readiness/rules/findings.ts';
import { type ShownCounts, shownCounts } from '../../modules/readiness/shownCounts.ts';
import { daysIn, isEmpty, type Tally } from '../../modules/readiness/tally.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { barChart, type ChartPoint, rankedBars } from '../components/chart.ts';
import { type Html, html } from '../components/html.ts';
import { ruleTitle } from '../components/ruleTitle.ts';
import { empty } from '../components/text.ts';
import { worklistPath } from '../components/worklistPaths.ts';
import { type ShownState, shownStates, stateTexts } from './stateTexts.ts';
import type { WorklistQuery } from './worklistQuery.ts';

const MONTHS = 12;

/** Returns links to each state, with how many encounters are in it, where that is known. */
export function stateTabs(workspace: string, { limits }: WorklistQuery, counts?: ShownCounts): Html {
  const figure = (state: ShownState) =>
    counts && html` <strong>${countIn(counts, state).toLocaleString('en-US')}</strong>`;
  return html`<nav class="tabs" aria-label="States"><ul>${shownStates.map(
    (state) =>
      html`<li><a href="${worklistPath(workspace, { ...limits, state })}"${
        state === limits.state && html` aria-current="page"`
      }>${stateTexts[state]}${figure(state)}</a></li>`,
  )}</ul></nav>`;
}

/** Returns the rules that encounters do not meet, the most frequent first; each leads to these encounters. */
export function ruleChart(workspace: string, { limits, selection }: WorklistQuery, counts?: Tally): Html {
  if (counts === undefined) {
    return empty(
      'Counts are available for one payer, facility or provider, or for dates, but not for several of these together.',
    );
  }
  if (isEmpty(counts)) return empty('No encounters match.');
  const bars = Object.entries(shownCounts(counts, selection).rules).map(([rule, value]) => ({
    name: ruleTitle(rule),
    value,
    href: worklistPath(workspace, { ...limits, rule }),
    isShown: rule === limits.rule,
  }));
  return bars.length === 0 ? empty('All rules are met.') : rankedBars('Encounters by unmet rule', bars);
}

/**
 * Resolves with how many encounters of each of the last months of service are in the selected state and do not meet
 * the selected rule; each bar leads to these. Undefined where a payer, facility or provider is selected: there are no
 * such counts by day. Rejects with `unavailable`.
 */
export async function monthChart(
  readModels: ReadModels,
  workspace: string,
  { selection, limits }: WorklistQuery,
): Promise<Html | undefined> {
  const { state = 'any', rule, payer, facility, provider } = selection;
  if ([payer, facility, provider].some((one) => one !== undefined)) return undefined;
  const months = lastMonths(selection.to ?? new Date().toISOString());
  const counts = new Map(months.map(({ name }) => [name, 0]));
  const days = { from: months[0]?.from, to: months.at(-1)?.to };
  for await (const { value, tally } of daysIn(readModels, workspace, days)) {
    const name = monthOf(value);
    counts.set(name, (counts.get(name) ?? 0) + countIn(shownCounts(tally, { rule }), state));
  }
  const points = months.map(({ name, from, to }): ChartPoint => {
    const value = counts.get(name) ?? 0;
    const path = worklistPath(workspace, { ...limits, from, to }).replace('/dashboard', '');
    return { name, value, ...(value > 0 && { link: { path, id: `month-${name}` } }) };
  });
  const sum = [...counts.values()].reduce((all, count) => all + count, 0).toLocaleString('en-US');
  const words = `in ${MONTHS} months until ${months.at(-1)?.name}`;
  return html`<p class="chart-total"><strong>${sum}</strong> <span class="muted">${words}</span></p>
${barChart(`Encounters by month of service: ${sum} ${words}`, points)}`;
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

/** `2026-03` of `2026-03-14`. */
function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** Returns how many encounters are in a state. */
export function countIn({ states }: ShownCounts, state: ShownState): number {
  if (state !== 'any') return states[state];
  return readinessStates.reduce((sum, one) => sum + states[one], 0);
}
