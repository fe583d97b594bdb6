import type { AuditDay, AuditMinute } from '../../../projections/audit/auditTally.ts';
import { recentMinutes, today } from '../../audit/auditTallies.ts';
import { clockProblem } from '../../health/clockProblem.ts';
import type { Finding } from '../../health/finding.ts';
import { systemClock } from '../../ports/clock.ts';
import { type ProjectionStatus, projectionStatus } from '../../reads/projectionStatus.ts';
import { type WebhookProblems, webhookProblems } from '../../webhooks/settings/webhookProblems.ts';
import { type RequestLimits, requestsPath } from '../requests/requestPaths.ts';
import { type Html, type HtmlValue, html } from '../shell/html.ts';
import { admins, phiReaders, type Visit } from '../shell/route.ts';
import type { DashboardPorts } from '../shell/routes.ts';
import { barChart, type ChartPoint } from '../ui/chart.ts';
import { table } from '../ui/table.ts';
import { badge, empty, time } from '../ui/text.ts';
import { wordsOf } from '../ui/words.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** What the overview shows of a workspace at one moment. */
export interface Overview {
  workspace: string;
  /** Whether links lead to what only administrators may see. */
  isAdmin: boolean;
  /** Whether links lead to what only those may see who may see PHI. */
  isPhiReader: boolean;
  /** ISO 8601, UTC. */
  takenAt: string;
  /** The last 60, oldest first. */
  minutes: AuditMinute[];
  day: AuditDay;
  projections: ProjectionStatus[];
  webhooks: WebhookProblems;
  warnings: Finding[];
}

/** Reads all of it. Rejects with `unavailable`. */
export async function readOverview(ports: DashboardPorts, { workspace, user }: Visit): Promise<Overview> {
  const [minutes, day, projections, webhooks, clock] = await Promise.all([
    recentMinutes(ports, workspace),
    today(ports, workspace),
    projectionStatus(ports.eventLog, ports.readModels),
    webhookProblems(ports, workspace),
    clockProblem(ports.eventLog, systemClock),
  ]);
  const warnings = clock ? [clock] : [];
  const takenAt = new Date().toISOString();
  return {
    workspace,
    isAdmin: admins.includes(user.role),
    isPhiReader: phiReaders.includes(user.role),
    takenAt,
    minutes,
    day,
    projections,
    webhooks,
    warnings,
  };
}

/** A part of the page that is drawn anew, by the id of its place. */
export const figures = {
  'taken-at': ({ takenAt }: Overview) => html`As of ${time(takenAt)}`,
  warnings: ({ warnings }: Overview) =>
    html`${warnings.map(({ message }) => html`<p class="banner" role="alert"><strong>Warning.</strong> ${message}</p>`)}`,
  today: tiles,
  requests: ({ minutes }: Overview) => series('Requests', minutes, ({ requests }) => requests),
  events: ({ minutes }: Overview) => series('Events', minutes, ({ events }) => events),
  refusals: refusalSeries,
  reasons,
  minutes: minuteTable,
  projections: ({ projections }: Overview) => projectionTable(projections),
  webhooks: webhookLine,
} satisfies Record<string, (overview: Overview) => Html>;

function tiles(overview: Overview): Html {
  const { requests, events, refused, day } = overview.day;
  const figure = (value: number) => value.toLocaleString('en-US');
  const midnight = new Date(day * DAY_MS).toISOString();
  const all = {
    Requests: figure(requests),
    'Events appended': figure(events),
    Refusals: refusalLink(overview, figure(total(refused)), 'to-refusals-of-today', { from: midnight }),
  };
  return html`<dl class="tiles">${Object.entries(all).map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

/** A figure, which leads those who may see them to the requests that it counts. */
function refusalLink(
  { isPhiReader, workspace }: Overview,
  text: string,
  id: string,
  limits: RequestLimits,
): HtmlValue {
  return isPhiReader && text !== '0'
    ? html`<a id="${id}" href="/dashboard${requestsPath(workspace, limits)}">${text}</a>`
    : text;
}

/** What limits the refused requests to those of a minute. */
function limitsOf({ minute }: AuditMinute): RequestLimits {
  const [from, to] = [minute, minute + 1].map((one) => new Date(one * MINUTE_MS).toISOString());
  return { from: from as string, to: to as string };
}

function refusalSeries({ minutes, workspace, isPhiReader }: Overview): Html {
  const linkOf = (minute: AuditMinute) =>
    isPhiReader && total(minute.refused) > 0
      ? { path: requestsPath(workspace, limitsOf(minute)), id: `refusals-${minute.minute}` }
      : undefined;
  return series('Refusals', minutes, ({ refused }) => total(refused), { tone: 'bad', linkOf });
}

function series(
  name: string,
  minutes: AuditMinute[],
  countOf: (minute: AuditMinute) => number,
  { tone, linkOf }: { tone?: 'bad'; linkOf?: (minute: AuditMinute) => ChartPoint['link'] } = {},
): Html {
  const points = minutes.map((minute) => {
    const link = linkOf?.(minute);
    return { name: clockTime(minute), value: countOf(minute), ...(link && { link }) };
  });
  const sum = points.reduce((all, { value }) => all + value, 0);
  const most = Math.max(...points.map(({ value }) => value));
  const peak = points.find(({ value }) => value === most)?.name;
  const summary =
    sum === 0
      ? `${name} per minute: none in the last 60 minutes`
      : `${name} per minute: ${sum} in the last 60 minutes, at most ${most}, at ${peak}`;
  return html`<p class="chart-total"><strong>${sum.toLocaleString('en-US')}</strong> <span class="muted">in 60 minutes</span></p>
${barChart(summary, points, tone)}`;
}

function reasons(overview: Overview): Html {
  const { minutes } = overview;
  const counts = new Map<string, number>();
  for (const { refused } of minutes) {
    for (const [code, count] of Object.entries(refused)) counts.set(code, (counts.get(code) ?? 0) + count);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return empty('Nothing was refused in the last 60 minutes.');
  const since = limitsOf(minutes[0] as AuditMinute).from as string;
  return table(
    'Refusals of the last 60 minutes by reason',
    [
      { title: 'Reason', isHeader: true, cell: ([code]) => wordsOf(code) },
      {
        title: 'Refusals',
        cell: ([code, count]) =>
          refusalLink(overview, String(count), `refused-${code}`, { code, from: since }),
      },
    ],
    sorted,
  );
}

function minuteTable(overview: Overview): Html {
  return table(
    'The last 60 minutes',
    [
      { title: 'Minute', isHeader: true, cell: clockTime },
      { title: 'Requests', cell: ({ requests }) => requests },
      { title: 'Events', cell: ({ events }) => events },
      {
        title: 'Refusals',
        cell: (minute) =>
          refusalLink(
            overview,
            String(total(minute.refused)),
            `refused-at-${minute.minute}`,
            limitsOf(minute),
          ),
      },
    ],
    overview.minutes.toReversed(),
  );
}

function projectionTable(projections: ProjectionStatus[]): Html {
  return table(
    'Read models',
    [
      { title: 'Read model', isHeader: true, cell: ({ model }) => model },
      {
        title: 'State',
        cell: ({ behind }) => (behind === 0 ? badge('up to date', 'good') : badge('catching up', 'neutral')),
      },
      { title: 'Positions behind', cell: ({ behind }) => behind },
      { title: 'Parked events', cell: ({ parked }) => (parked === 0 ? 0 : badge(String(parked), 'bad')) },
    ],
    projections,
  );
}

function webhookLine({ webhooks: { disabled, failing }, workspace, isAdmin }: Overview): Html {
  if (disabled + failing === 0) return html`<p>${badge('No problems', 'good')}</p>`;
  return html`<p class="line">${disabled > 0 && badge(`${disabled} disabled`, 'bad')}
${failing > 0 && badge(`${failing} failing`, 'bad')}
${isAdmin && html`<a id="to-webhooks" href="/dashboard/workspaces/${workspace}/webhooks">See the webhooks</a>`}</p>`;
}

function total(refused: Record<string, number>): number {
  return Object.values(refused).reduce((all, count) => all + count, 0);
}

function clockTime({ minute }: AuditMinute): string {
  return `${new Date(minute * MINUTE_MS).toISOString().slice(11, 16)} UTC`;
}
