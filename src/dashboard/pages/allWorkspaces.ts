import { sumTallies } from '../../../projections/auditTally.ts';
import type { Workspace } from '../../modules/auth/keyState.ts';
import { type Html, html } from '../components/html.ts';
import { requestsPath } from '../components/requestPaths.ts';
import { admins, type DashboardRoute } from '../components/route.ts';
import { table } from '../components/table.ts';
import { badge, empty } from '../components/text.ts';
import type { OverviewPorts } from './overviewFigures.ts';
import { auditPath, figureLink, overviewPath, total } from './overviewLinks.ts';
import { rangeLinks } from './rangeLinks.ts';
import { iso, type RangeName, rangeOf, ranges, readBars } from './ranges.ts';
import { countResults, deadWebhooks, webhookResults } from './webhookResults.ts';

const WORKSPACES_A_PAGE = 50;
/** Maximum number of a webhook's attempts that are looked at. */
const MOST_ATTEMPTS = 500;

interface WorkspaceFigures {
  workspace: Workspace;
  /** When the range begins, ISO 8601. */
  from: string;
  requests: number;
  writes: number;
  refused: number;
  /** Webhook attempts that were not accepted. */
  notTaken: number;
  /** Webhooks that accepted none of their attempts. */
  dead: number;
  /** False where there may be more of these. */
  isWhole: boolean;
}

/** The figures of all workspaces, side by side. */
export function allWorkspacesRoutes(ports: OverviewPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/overview',
      roles: admins,
      query: ['range', 'after'],
      async handle({ req }) {
        const range = rangeOf(req.query.range);
        const after = typeof req.query.after === 'string' ? req.query.after : '';
        const all = [...ports.directory.known.workspaces.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
        const rest = all.filter(({ id }) => id > after);
        const shown = rest.slice(0, WORKSPACES_A_PAGE);
        const rows: WorkspaceFigures[] = [];
        for (const workspace of shown) rows.push(await readFigures(ports, workspace, range));
        const next = rest.length > shown.length ? shown.at(-1)?.id : undefined;
        return { page: { title: 'All workspaces', section: 'Workspaces', body: body(range, rows, next) } };
      },
    },
  ];
}

async function readFigures(
  ports: OverviewPorts,
  workspace: Workspace,
  range: RangeName,
): Promise<WorkspaceFigures> {
  const bars = await readBars(ports, workspace.id, range);
  const since = bars[0]?.from ?? 0;
  const found = await webhookResults(ports, workspace.id, { since, most: MOST_ATTEMPTS });
  const { requests, writes, refused } = sumTallies(0, bars);
  return {
    workspace,
    from: iso(since),
    requests,
    writes,
    refused: total(refused),
    notTaken: countResults(found.flatMap(({ results }) => results)).notTaken,
    dead: deadWebhooks(found).length,
    isWhole: found.every(({ isWhole }) => isWhole),
  };
}

function body(range: RangeName, rows: WorkspaceFigures[], next: string | undefined): Html {
  const figure = (value: number) => value.toLocaleString('en-US');
  return html`<h1>All workspaces</h1>
<p class="muted">Activity in ${ranges[range].words}. <a href="/dashboard/workspaces">Workspace settings</a></p>
${rangeLinks(range, (one) => `/overview?range=${one}`)}
${
  rows.length === 0
    ? empty(html`No workspaces here. <a href="/dashboard/workspaces">Create one</a>`)
    : table<WorkspaceFigures>(
        `Workspaces in ${ranges[range].words}`,
        [
          {
            title: 'Workspace',
            isHeader: true,
            cell: ({ workspace: { id, sandbox, state } }) =>
              html`<a href="/dashboard${overviewPath(id, range)}">${id}</a>${sandbox && html` ${badge('Sandbox', 'neutral')}`}${
                state !== 'active' && html` ${badge(state, 'bad')}`
              }`,
          },
          { title: 'Requests', cell: ({ requests }) => figure(requests) },
          {
            title: 'Writes',
            cell: ({ workspace: { id }, writes, from }) =>
              figureLink(
                true,
                figure(writes),
                `writes-${id}`,
                auditPath(id, { from, outcome: 'accepted', without_views: 'yes' }),
              ),
          },
          {
            title: 'Refusals',
            cell: ({ workspace: { id }, refused, from }) =>
              figureLink(true, figure(refused), `refusals-${id}`, requestsPath(id, { from })),
          },
          {
            title: 'Failed webhook attempts',
            cell: ({ workspace: { id }, notTaken, dead, isWhole }) =>
              html`${figureLink(
                true,
                `${isWhole ? '' : 'at least '}${figure(notTaken)}`,
                `webhooks-${id}`,
                `/workspaces/${id}/webhooks`,
              )}${dead > 0 && html` ${badge(`${dead} accepted nothing`, 'bad')}`}`,
          },
        ],
        rows,
      )
}
${next !== undefined && html`<p><a role="button" class="outline" href="/dashboard/overview?${new URLSearchParams({ range, after: next }).toString()}">More workspaces</a></p>`}`;
}
