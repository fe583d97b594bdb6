import type { AuditDay, AuditMinute } from '../../../projections/audit/auditTally.ts';
import { recentMinutes, today } from '../../audit/auditTallies.ts';
import { clockProblem } from '../../health/clockProblem.ts';
import type { Finding } from '../../health/finding.ts';
import { systemClock } from '../../ports/clock.ts';
import { type ProjectionStatus, projectionStatus } from '../../reads/projectionStatus.ts';
import { type WebhookProblems, webhookProblems } from '../../webhooks/settings/webhookProblems.ts';
import { type Html, html } from '../shell/html.ts';
import { admins, type Visit } from '../shell/route.ts';
import type { DashboardPorts } from '../shell/routes.ts';
import { barChart } from '../ui/chart.ts';
import { table } from '../ui/table.ts';
import { badge, empty, time } from '../ui/text.ts';
import { wordsOf } from '../ui/words.ts';

/** What the overview shows of a workspace at one moment. */
export interface Overview {
  workspace: string;
  /** Whether links lead to what only administrators may see. */
  isAdmin: boolean;
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
  today: ({ day }: Overview) => tiles(day),
  requests: ({ minutes }: Overview) => series('Requests', minutes, ({ requests }) => requests),
  events: ({ minutes }: Overview) => series('Events', minutes, ({ events }) => events),
  refusals: ({ minutes }: Overview) => series('Refusals', minutes, ({ refused }) => total(refused), 'bad'),
  reasons: ({ minutes }: Overview) => reasons(minutes),
  minutes: ({ minutes }: Overview) => minuteTable(minutes),
  projections: ({ projections }: Overview) => projectionTable(projections),
  webhooks: webhookLine,
} satisfies Record<string, (overview: Overview) => Html>;

function tiles({ requests, events, refused }: AuditDay): Html {
  const all = { Requests: requests, 'Events appended': events, Refusals: total(refused) };
  return html`<dl class="tiles">${Object.entries(all).map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value.toLocaleString('en-US')}</dd></div>`,
  )}</dl>`;
}

function series(
  name: string,
  minutes: AuditMinute[],
  countOf: (minute: AuditMinute) => number,
  tone?: 'bad',
): Html {
  const points = minutes.map((minute) => ({ name: clockTime(minute), value: countOf(minute) }));
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

function reasons(minutes: AuditMinute[]): Html {
  const counts = new Map<string, number>();
  for (const { refused } of minutes) {
    for (const [code, count] of Object.entries(refused)) counts.set(code, (counts.get(code) ?? 0) + count);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return empty('Nothing was refused in the last 60 minutes.');
  return table(
    'Refusals of the last 60 minutes by reason',
    [
      { title: 'Reason', isHeader: true, cell: ([code]) => wordsOf(code) },
      { title: 'Refusals', cell: ([, count]) => count },
    ],
    sorted,
  );
}

function minuteTable(minutes: AuditMinute[]): Html {
  return table(
    'The last 60 minutes',
    [
      { title: 'Minute', isHeader: true, cell: clockTime },
      { title: 'Requests', cell: ({ requests }) => requests },
      { title: 'Events', cell: ({ events }) => events },
      { title: 'Refusals', cell: ({ refused }) => total(refused) },
    ],
    minutes.toReversed(),
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
  return `${new Date(minute * 60_000).toISOString().slice(11, 16)} UTC`;
}
