import {
  type AuditTally,
  type KeyTally,
  MAX_KEYS,
  spans,
  sumTallies,
  timeBounds,
} from '../../../projections/auditAggregation.ts';
import type { AuditFirsts } from '../../../projections/auditTrail.ts';
import type { AppPorts } from '../../api/routes/index.ts';
import { readFirsts, readTallies } from '../../modules/audit/trail.ts';
import type { Role } from '../../modules/auth/users.ts';
import { clockProblem, type Finding } from '../../modules/health.ts';
import {
  type AttemptResults,
  attemptResults,
  attemptsBefore,
  LONGEST_WAIT_MS,
} from '../../modules/webhooks/attempts.ts';
import { type WebhookManager, type WebhookProblem, webhookProblems } from '../../modules/webhooks/manager.ts';
import type { Webhook } from '../../modules/webhooks/webhook.ts';
import { systemClock } from '../../storage/rateLimiters.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { barChart, type ChartPoint, lineChart, stateStrip } from '../components/charts.ts';
import { titleOf } from '../components/labels.ts';
import {
  type Html,
  type HtmlValue,
  html,
  integrators,
  requestReaders,
  trailReaders,
  type Visit,
} from '../components/page.ts';
import { type BarTime, barTimes, iso, type RangeName, rangeOf, ranges } from '../components/ranges.ts';
import { table } from '../components/tables.ts';
import { badge, bdi, empty, time } from '../components/text.ts';
import { type RequestLimits, requestsPath, webhookPath, webhooksPath } from '../components/urls.ts';

/** What happened in the time of one bar. */
interface Bar extends AuditTally, BarTime {}

/**
 * Resolves with what happened in a workspace, bar by bar, oldest first; the last one is not over yet. Rejects with
 * `unavailable`.
 */
export async function readBars(
  ports: { readModels: ReadModels },
  workspace: string,
  name: RangeName,
): Promise<Bar[]> {
  const { span, spansABar, bars } = ranges[name];
  const times = barTimes(name);
  const first = Math.round((times[0] as BarTime).from / spans[span].ms);
  const tallies = await readTallies(ports, workspace, span, { first, count: spansABar * bars });
  return times.map((time, at) => ({
    ...sumTallies(first + at * spansABar, tallies.slice(at * spansABar, (at + 1) * spansABar)),
    ...time,
  }));
}

/** Returns the address of a workspace's overview, below `/dashboard`. */
export function overviewPath(workspace: string, range: RangeName): string {
  return `/workspaces/${workspace}?range=${range}`;
}

/** Returns the address of a workspace's audit trail within limits, below `/dashboard`. */
export function auditPath(workspace: string, limits: Record<string, string>): string {
  return `/workspaces/${workspace}/audit?${new URLSearchParams(limits).toString()}`;
}

/** Returns what limits a list to the time of a bar. */
function limitsOfBar({ from, to }: Bar): { from: string; to: string } {
  return { from: iso(from), to: iso(to) };
}

/** Returns where the range begins, in ISO 8601. */
function startOf({ bars }: Overview): string {
  return iso(bars[0]?.from ?? 0);
}

/** Returns what makes a bar a link, where it is one. */
function linked(isLink: boolean, path: string | undefined, id: string): Pick<ChartPoint, 'link'> | undefined {
  return isLink && path !== undefined ? { link: { path, id } } : undefined;
}

/** Returns a figure, linked to what it counts for those who may see that; the path is below `/dashboard`. */
export function figureLink(mayFollow: boolean, text: string, id: string, path: string): HtmlValue {
  return mayFollow && text !== '0' ? html`<a id="${id}" href="/dashboard${path}">${text}</a>` : text;
}

/** The same for refused requests. */
function refusalLink(
  { may, workspace }: Overview,
  text: string,
  id: string,
  limits: RequestLimits,
): HtmlValue {
  return figureLink(may(requestReaders), text, id, requestsPath(workspace, limits));
}

/** Returns the sum of counts. */
export function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

/** What a row of bars shows. */
interface ChartSeries {
  /** How the summary begins, such as `Requests`. */
  name: string;
  countOf(bar: Bar): number;
  tone?: 'bad';
  /** Below `/dashboard`, for users with one of these roles. */
  pathOf(bar: Bar): string;
  readers: readonly Role[];
}

function requestSeries(overview: Overview): Html {
  return series(overview, {
    name: 'Requests',
    countOf: ({ requests }) => requests,
    pathOf: (bar) => auditPath(overview.workspace, { ...limitsOfBar(bar), without_views: 'yes' }),
    readers: trailReaders,
  });
}

function writeSeries(overview: Overview): Html {
  const only = { outcome: 'accepted', without_views: 'yes' };
  return series(overview, {
    name: 'Writes',
    countOf: ({ writes }) => writes,
    pathOf: (bar) => auditPath(overview.workspace, { ...limitsOfBar(bar), ...only }),
    readers: trailReaders,
  });
}

function refusalSeries(overview: Overview): Html {
  return series(overview, {
    name: 'Refusals',
    countOf: ({ refused }) => total(refused),
    tone: 'bad',
    pathOf: (bar) => requestsPath(overview.workspace, limitsOfBar(bar)),
    readers: requestReaders,
  });
}

/** Returns how long records take to be in the log: for each bar, the time that 99 % of them kept within. */
function timeSeries(overview: Overview): Html {
  const { bars, sum, range, workspace, may } = overview;
  const { per, words } = ranges[range];
  if (total(sum.times) === 0) return empty(`No record was sent individually in ${words}.`);
  const points = bars.map((bar) => {
    const path = auditPath(workspace, { ...limitsOfBar(bar), outcome: 'accepted', without_views: 'yes' });
    const value = timeWithin(bar, 0.99);
    return { name: bar.name, value, ...linked(may(trailReaders) && value > 0, path, `times-${bar.from}`) };
  });
  const within = (share: number) => `${timeWithin(sum, share).toLocaleString('en-US')} ms`;
  return html`<p class="chart-total"><strong>${within(0.5)}</strong> <span class="muted">median, 99% within ${within(0.99)}</span></p>
${barChart(
  {
    summary: `Milliseconds per ${per} within which 99% of records were logged: ${within(0.99)} in ${words}`,
    unit: 'milliseconds',
  },
  points,
)}`;
}

/** Returns the bound within which this share of the times lies, in milliseconds; 0 without any. */
function timeWithin({ times }: AuditTally, share: number): number {
  const wanted = share * total(times);
  let seen = 0;
  for (const bound of timeBounds) {
    seen += times[String(bound)] ?? 0;
    if (seen > 0 && seen >= wanted) return bound;
  }
  return 0;
}

function series(overview: Overview, { name, countOf, tone, pathOf, readers }: ChartSeries): Html {
  const { bars, range, may } = overview;
  const points: ChartPoint[] = bars.map((bar) => {
    const value = countOf(bar);
    return {
      name: bar.name,
      value,
      ...linked(
        may(readers) && value > 0,
        pathOf(bar),
        `${name.toLowerCase().replaceAll(' ', '-')}-${bar.from}`,
      ),
    };
  });
  return totalledChart(name, points, range, tone);
}

/** Returns a chart below the sum of its bars. */
export function totalledChart(
  name: string,
  points: readonly ChartPoint[],
  range: Overview['range'],
  tone?: 'bad',
): Html {
  const { per, words } = ranges[range];
  const sum = points.reduce((all, { value }) => all + value, 0);
  const most = Math.max(...points.map(({ value }) => value));
  const peak = points.find(({ value }) => value === most)?.name;
  const summary =
    sum === 0
      ? `${name} per ${per}: none in ${words}`
      : `${name} per ${per}: ${sum} in ${words}, at most ${most}, at ${peak}`;
  return html`<p class="chart-total"><strong>${sum.toLocaleString('en-US')}</strong> <span class="muted">in ${words}</span></p>
${barChart({ summary, unit: name.toLowerCase(), tone }, points)}`;
}

function reasons(overview: Overview): Html {
  const { sum, range } = overview;
  const { words } = ranges[range];
  const sorted = Object.entries(sum.refused).sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return empty(`No refusals in ${words}.`);
  return table(
    `Refusals in ${words} by reason`,
    [
      { title: 'Reason', isHeader: true, cell: ([code]) => titleOf(code) },
      {
        title: 'Refusals',
        isNumber: true,
        cell: ([code, count]) =>
          refusalLink(overview, count.toLocaleString('en-US'), `refused-${code}`, {
            code,
            from: startOf(overview),
          }),
      },
    ],
    sorted,
  );
}

/** Returns the figures of the bars. */
function barTable(overview: Overview): Html {
  const { words, per } = ranges[overview.range];
  return table<Bar>(
    `Figures for ${words}`,
    [
      { title: per.charAt(0).toUpperCase() + per.slice(1), isHeader: true, cell: ({ name }) => name },
      { title: 'Requests', isNumber: true, cell: ({ requests }) => requests.toLocaleString('en-US') },
      { title: 'Writes', isNumber: true, cell: ({ writes }) => writes.toLocaleString('en-US') },
      {
        title: 'Refusals',
        isNumber: true,
        cell: (bar) =>
          refusalLink(
            overview,
            total(bar.refused).toLocaleString('en-US'),
            `refused-at-${bar.from}`,
            limitsOfBar(bar),
          ),
      },
      {
        title: '99% of records within',
        isNumber: true,
        cell: (bar) => total(bar.times) > 0 && `${timeWithin(bar, 0.99)} ms`,
      },
    ],
    overview.bars.toReversed(),
  );
}

/** The results of a webhook's attempts. */
export interface WebhookResults extends AttemptResults {
  webhook: Webhook;
}

/**
 * Resolves with the results of the attempts of each webhook of a workspace since a moment: of its last `most`.
 * Rejects with `unavailable`.
 */
export async function webhookResults(
  { webhooks, stateStore }: { webhooks: WebhookManager; stateStore: StateStore },
  workspace: string,
  wanted: { since: number; most: number },
): Promise<WebhookResults[]> {
  const all = await webhooks.all(workspace);
  return Promise.all(
    all.map(async (webhook) => ({ webhook, ...(await attemptResults(stateStore, webhook.id, wanted)) })),
  );
}

/** Returns those of these results that are not older. */
function resultsFrom(from: number, all: readonly WebhookResults[]): WebhookResults[] {
  return all.map((one) => {
    const results = one.results.filter(({ at }) => at >= from);
    return { ...one, results, isWhole: one.isWhole || results.length < one.results.length };
  });
}

/** Returns how many attempts there were, and how many of them were not accepted. */
export function countResults(results: AttemptResults['results']): { attempts: number; notTaken: number } {
  return { attempts: results.length, notTaken: results.filter(({ isTaken }) => !isTaken).length };
}

/** Returns the webhooks that were sent something and accepted nothing. */
export function deadWebhooks(results: readonly WebhookResults[]): Webhook[] {
  const isDead = ({ results: all }: WebhookResults) => all.length > 0 && all.every(({ isTaken }) => !isTaken);
  return results.filter(isDead).map(({ webhook }) => webhook);
}

/**
 * Returns the share of attempts delivered to the webhook with the lowest, in per cent: one of many attempts does not hide another
 * that accepts nothing. Undefined without attempts.
 */
function lowestShare(results: readonly WebhookResults[]): string | undefined {
  const [worst] = results
    .map((one) => countResults(one.results))
    .filter(({ attempts }) => attempts > 0)
    .sort((a, b) => b.notTaken / b.attempts - a.notTaken / a.attempts);
  return worst && share(worst.attempts - worst.notTaken, worst.attempts);
}

/** Returns a part of a whole, in per cent; never 100 % while anything is missing. */
function share(part: number, whole: number): string {
  return `${(Math.floor((1_000 * part) / whole) / 10).toLocaleString('en-US')}%`;
}

/** Returns the totals of the whole range. */
function tiles(overview: Overview): Html {
  const { sum, results, workspace, may } = overview;
  const from = startOf(overview);
  const figure = (value: number) => value.toLocaleString('en-US');
  const trail = (id: string, text: string, only: Record<string, string> = {}) =>
    figureLink(may(trailReaders), text, id, auditPath(workspace, { from, ...only, without_views: 'yes' }));
  const all: Record<string, HtmlValue> = {
    Requests: trail('to-requests', figure(sum.requests)),
    Writes: trail('to-writes', figure(sum.writes), { outcome: 'accepted' }),
    Refusals: refusalLink(overview, figure(total(sum.refused)), 'to-refusals', { from }),
    'Lowest webhook delivery': lowestShare(results) ?? 'none sent',
  };
  return html`<dl class="tiles">${Object.entries(all).map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

function byKind(overview: Overview): Html {
  const { sum, range, workspace, may } = overview;
  const { words } = ranges[range];
  const sorted = Object.entries(sum.kinds).sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return empty(`No writes in ${words}.`);
  const path = (kind: string) =>
    auditPath(workspace, { from: startOf(overview), kind, outcome: 'accepted', without_views: 'yes' });
  return table(
    `Writes in ${words} by kind`,
    [
      { title: 'Kind', isHeader: true, cell: ([kind]) => titleOf(kind) },
      {
        title: 'Writes',
        isNumber: true,
        cell: ([kind, count]) =>
          figureLink(may(trailReaders), count.toLocaleString('en-US'), `written-${kind}`, path(kind)),
      },
    ],
    sorted,
  );
}

function byKey(overview: Overview): Html {
  const { sum, range, workspace, may, nameOf } = overview;
  const { words } = ranges[range];
  const from = startOf(overview);
  const sorted = Object.entries(sum.keys).sort(([, a], [, b]) => b.requests - a.requests);
  if (sorted.length === 0) return empty(`No API key or source was used in ${words}.`);
  const trail = (id: string, name: string, text: number) =>
    figureLink(
      may(trailReaders),
      text.toLocaleString('en-US'),
      `${name}-${id}`,
      auditPath(workspace, { from, principal: id }),
    );
  const isCut = sorted.length === MAX_KEYS;
  return html`${table<[string, KeyTally]>(
    `Requests in ${words} by API key or source`,
    [
      { title: 'API key or source', isHeader: true, cell: ([id]) => bdi(nameOf(id)) },
      { title: 'Requests', isNumber: true, cell: ([id, { requests }]) => trail(id, 'requests-of', requests) },
      { title: 'Writes', isNumber: true, cell: ([id, { writes }]) => trail(id, 'writes-of', writes) },
      {
        title: 'Refusals',
        isNumber: true,
        cell: ([id, { refused }]) =>
          refusalLink(overview, refused.toLocaleString('en-US'), `refused-to-${id}`, { key: id, from }),
      },
    ],
    sorted,
  )}
${isCut && html`<p class="muted">At most ${MAX_KEYS} are counted separately: those that came first.</p>`}`;
}

/** Resolves with the results of the last 24 hours of each webhook of a workspace. Rejects with `unavailable`. */
export function lastDayResults(
  ports: Parameters<typeof webhookResults>[0],
  workspace: string,
): Promise<WebhookResults[]> {
  return webhookResults(ports, workspace, { since: barTimes('24h')[0]?.from ?? 0, most: MOST_ATTEMPTS });
}

/** Returns the attempts of the last 24 hours of a webhook, hour by hour. */
export function hourStrip(lastDay: readonly WebhookResults[], id: string): Html {
  const { results = [], isWhole = true } = lastDay.find(({ webhook }) => webhook.id === id) ?? {};
  const hours = barTimes('24h').map(({ from, to, name }) => {
    const { attempts, notTaken } = countResults(results.filter(({ at }) => at >= from && at < to));
    return { name, good: attempts - notTaken, bad: notTaken };
  });
  return stateStrip('delivered', 'failed', hours, isWhole);
}

/** Returns the attempts that were not accepted; a bar leads to those of the webhook with the most of them. */
function webhookSeries({ bars, results, range, workspace, may }: Overview): Html {
  if (results.length === 0) {
    return empty(
      html`No webhooks.${may(integrators) && html` <a id="new-webhook" href="/dashboard${webhooksPath(workspace)}/new">Create one</a>`}`,
    );
  }
  const points = bars.map((bar) => {
    const failures = results
      .map(({ webhook, results: all }) => ({ id: webhook.id, count: failuresIn(bar, all) }))
      .sort((a, b) => b.count - a.count);
    const value = failures.reduce((all, { count }) => all + count, 0);
    const path = failures[0] && attemptsPath(workspace, failures[0].id, bar.to);
    return { name: bar.name, value, ...linked(may(integrators) && value > 0, path, `attempts-${bar.from}`) };
  });
  return html`${totalledChart('Failed attempts', points, range, 'bad')}
${results.some(({ isWhole }) => !isWhole) && html`<p class="muted">For webhooks with many attempts, only the last ones are counted.</p>`}`;
}

/** Returns how many messages waited to be retried at the end of each bar. */
function backlogSeries({ bars, allResults, range }: Overview): Html {
  if (allResults.length === 0) return empty('No webhooks.');
  const waits = allResults.flatMap(({ results }) => waitsAmong(results));
  const points = bars.map(({ to, name }) => ({
    name,
    value: waits.filter(({ from, until }) => from < to && until >= to).length,
  }));
  const now = points.at(-1)?.value ?? 0;
  const { words } = ranges[range];
  const summary = `Messages waiting to be retried: ${now} now, at most ${Math.max(...points.map(({ value }) => value))} in ${words}`;
  const isWhole = allResults.every((one) => one.isWhole || one.results.every(({ isTaken }) => isTaken));
  return html`<p class="chart-total">${!isWhole && 'at least '}<strong>${now.toLocaleString('en-US')}</strong> <span class="muted">now</span></p>
${lineChart({ summary, unit: 'messages', tone: 'bad' }, points)}`;
}

/** Returns from when until when messages waited, in milliseconds since 1970: those that an attempt did not settle. */
function waitsAmong(results: WebhookResults['results']): { from: number; until: number }[] {
  return [...Map.groupBy(results, ({ message }) => message).values()].flatMap((attempts) => {
    const [last, first] = [attempts[0], attempts.at(-1)];
    if (!last || !first || (attempts.length === 1 && last.isOver)) return [];
    const until = last.isOver ? last.at : Number.POSITIVE_INFINITY;
    return [{ from: first.isFirst ? first.at : 0, until }];
  });
}

function failuresIn({ from, to }: Bar, results: WebhookResults['results']): number {
  return results.filter(({ at, isTaken }) => !isTaken && at >= from && at < to).length;
}

/** Returns the path of the attempts before a moment. */
function attemptsPath(workspace: string, id: string, before: number): string {
  return `${webhookPath(workspace, id)}?${new URLSearchParams({ page_token: attemptsBefore(id, before) }).toString()}#attempts`;
}

/** Returns each webhook, for administrators: nobody else may see addresses. */
function webhookTable({ results, lastDay, range, workspace, may }: Overview): Html | undefined {
  if (!may(integrators) || results.length === 0) return undefined;
  return table<WebhookResults>(
    `Webhook attempts in ${ranges[range].words}`,
    [
      {
        title: 'Webhook',
        isHeader: true,
        cell: ({ webhook: { id, url } }) =>
          html`<a id="webhook-${id}" href="/dashboard${webhookPath(workspace, id)}">${url}</a>`,
      },
      {
        title: 'Attempts',
        isNumber: true,
        cell: ({ results: all, isWhole }) =>
          `${isWhole ? '' : 'the last '}${all.length.toLocaleString('en-US')}`,
      },
      {
        title: 'Delivered',
        isNumber: true,
        cell: ({ results: all }) => {
          const { attempts, notTaken } = countResults(all);
          return attempts > 0 && share(attempts - notTaken, attempts);
        },
      },
      {
        title: 'Last 24 hours',
        cell: ({ webhook: { id } }) => hourStrip(lastDay, id),
      },
    ],
    results,
  );
}

/** Returns the present state of the webhooks. */
function webhookLine({ webhooks, workspace, may }: Overview): Html {
  const failing = webhooks.filter(({ failingSince }) => failingSince !== undefined).length;
  const disabled = webhooks.length - failing;
  if (disabled + failing === 0) return html`<p>${badge('No problems', 'good')}</p>`;
  return html`<p class="line">${disabled > 0 && badge(`${disabled} disabled`, 'bad')}
${failing > 0 && badge(`${failing} failing`, 'bad')}
${may(integrators) && html`<a id="to-webhooks" href="/dashboard/workspaces/${workspace}/webhooks">View webhooks</a>`}</p>`;
}

/** Maximum number of a webhook's attempts that are looked at. */
const MOST_ATTEMPTS = 5_000;

export type OverviewPorts = Pick<
  AppPorts,
  'eventLog' | 'readModels' | 'stateStore' | 'directory' | 'webhooks' | 'publicUrl'
>;

/** What the overview shows of a workspace at one moment. */
export interface Overview {
  workspace: string;
  range: RangeName;
  may: Visit['may'];
  /** ISO 8601, UTC. */
  takenAt: string;
  /** Of the range, oldest first. */
  bars: Bar[];
  /** Of all bars. */
  sum: AuditTally;
  /** Returns what people call an API key. */
  nameOf(keyId: string): string;
  firsts: AuditFirsts;
  webhooks: WebhookProblem[];
  results: WebhookResults[];
  /** The results of the last 24 hours. */
  lastDay: WebhookResults[];
  /** The results of both, and of the time before in which a message that waits was last tried. */
  allResults: WebhookResults[];
  warnings: Finding[];
}

/** Reads all of it. Rejects with `unavailable`. */
export async function readOverview(ports: OverviewPorts, visit: Visit): Promise<Overview> {
  const { workspace, req } = visit;
  const range = rangeOf(req.query.range);
  const bars = await readBars(ports, workspace, range);
  const since = bars[0]?.from ?? 0;
  const dayBefore = barTimes('24h')[0]?.from ?? 0;
  const first = Math.min(since, dayBefore) - LONGEST_WAIT_MS;
  const [firsts, webhooks, allResults, clock] = await Promise.all([
    readFirsts(ports, workspace),
    webhookProblems(ports, workspace),
    webhookResults(ports, workspace, { since: first, most: MOST_ATTEMPTS }),
    clockProblem(ports.eventLog, systemClock),
  ]);
  return {
    workspace,
    range,
    may: visit.may,
    takenAt: new Date().toISOString(),
    bars,
    sum: sumTallies(0, bars),
    nameOf: (keyId) => ports.directory.nameOf(keyId) ?? keyId,
    firsts,
    webhooks,
    results: resultsFrom(since, allResults),
    lastDay: resultsFrom(dayBefore, allResults),
    allResults,
    warnings: clock ? [clock] : [],
  };
}

/** A part of the page that is refreshed, by the id of its place. */
export const figures = {
  'taken-at': ({ takenAt }: Overview) => html`As of ${time(takenAt)}`,
  warnings: (overview: Overview) =>
    html`${overview.warnings.map(
      ({ message }) => html`<p class="banner" role="alert"><strong>Warning.</strong> ${message}</p>`,
    )}`,
  tiles,
  requests: requestSeries,
  writes: writeSeries,
  refusals: refusalSeries,
  times: timeSeries,
  'webhook-attempts': webhookSeries,
  'webhook-backlog': backlogSeries,
  reasons,
  kinds: byKind,
  keys: (overview: Overview) => (overview.may(trailReaders) ? byKey(overview) : html``),
  bars: barTable,
  webhooks: (overview: Overview) => html`${webhookLine(overview)}${webhookTable(overview)}`,
} satisfies Record<string, (overview: Overview) => Html>;
