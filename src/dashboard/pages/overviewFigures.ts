import type { AuditFirsts } from '../../../projections/auditFirsts.ts';
import { type AuditTally, sumTallies } from '../../../projections/auditTally.ts';
import type { AppPorts } from '../../api/routes/index.ts';
import { readFirsts } from '../../modules/audit/auditTallies.ts';
import { ALL_WORKSPACES } from '../../modules/auth/user.ts';
import { clockProblem } from '../../modules/clockProblem.ts';
import type { Finding } from '../../modules/finding.ts';
import { type ProjectionStatus, projectionStatus } from '../../modules/records/queries/projectionStatus.ts';
import { type WebhookProblems, webhookProblems } from '../../modules/webhooks/webhookProblems.ts';
import { systemClock } from '../../storage/clock.ts';
import { type Html, html } from '../components/html.ts';
import { everyone, integrators, phiReaders, type Visit } from '../components/route.ts';
import { table } from '../components/table.ts';
import { badge, time } from '../components/text.ts';
import { webhookPath } from '../components/webhookPaths.ts';
import {
  barTable,
  reasons,
  refusalSeries,
  requestSeries,
  timeSeries,
  writeSeries,
} from './overviewCharts.ts';
import { byKey, byKind, tiles } from './overviewTables.ts';
import { type Bar, type RangeName, rangeOf, ranges, readBars } from './ranges.ts';
import { webhookLine, webhookSeries, webhookTable } from './webhookFigures.ts';
import { deadWebhooks, type WebhookResults, webhookResults } from './webhookResults.ts';

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
  /** Whether to show what is of the whole installation. */
  isOfAll: boolean;
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
  projections: ProjectionStatus[];
  webhooks: WebhookProblems;
  results: WebhookResults[];
  warnings: Finding[];
}

/** Reads all of it. Rejects with `unavailable`. */
export async function readOverview(ports: OverviewPorts, visit: Visit): Promise<Overview> {
  const { workspace, req } = visit;
  const range = rangeOf(req.query.range);
  const bars = await readBars(ports, workspace, range);
  const since = bars[0]?.from ?? 0;
  const [firsts, projections, webhooks, results, clock] = await Promise.all([
    readFirsts(ports, workspace),
    projectionStatus(ports.eventLog, ports.readModels),
    webhookProblems(ports, workspace),
    webhookResults(ports, workspace, { since, most: MOST_ATTEMPTS }),
    clockProblem(ports.eventLog, systemClock),
  ]);
  return {
    workspace,
    range,
    isOfAll: visit.may(everyone, ALL_WORKSPACES),
    may: visit.may,
    takenAt: new Date().toISOString(),
    bars,
    sum: sumTallies(0, bars),
    nameOf: (keyId) => ports.directory.nameOf(keyId) ?? keyId,
    firsts,
    projections,
    webhooks,
    results,
    warnings: clock ? [clock] : [],
  };
}

/** A part of the page that is refreshed, by the id of its place. */
export const figures = {
  'taken-at': ({ takenAt }: Overview) => html`As of ${time(takenAt)}`,
  warnings: (overview: Overview) =>
    html`${[...overview.warnings.map(({ message }) => message), ...deadEndpoints(overview)].map(
      (message) => html`<p class="banner" role="alert"><strong>Warning.</strong> ${message}</p>`,
    )}`,
  tiles,
  requests: requestSeries,
  writes: writeSeries,
  refusals: refusalSeries,
  times: timeSeries,
  'webhook-attempts': webhookSeries,
  reasons,
  kinds: byKind,
  keys: (overview: Overview) => (overview.may(phiReaders) ? byKey(overview) : html``),
  bars: barTable,
  projections: ({ projections, isOfAll }: Overview) => (isOfAll ? projectionTable(projections) : html``),
  webhooks: (overview: Overview) => html`${webhookLine(overview)}${webhookTable(overview)}`,
} satisfies Record<string, (overview: Overview) => Html>;

/** Returns what to say of webhooks that nothing reaches; with links for administrators and integrators, as nobody else may see addresses. */
function deadEndpoints({ results, range, workspace, may }: Overview): Html[] {
  const dead = deadWebhooks(results);
  if (dead.length === 0) return [];
  const links = dead.map(
    ({ id, url }) => html` <a href="/dashboard${webhookPath(workspace, id)}">${url}</a>`,
  );
  const who = dead.length === 1 ? 'One webhook' : `${dead.length} webhooks`;
  return [html`${who} accepted no attempt in ${ranges[range].words}.${may(integrators) && links}`];
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
