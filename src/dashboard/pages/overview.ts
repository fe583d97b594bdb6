import { sumTallies } from '../../../projections/auditAggregation.ts';
import { type FirstStep, firstSteps } from '../../../projections/auditTrail.ts';
import { addressOf } from '../../api/server/answer.ts';
import type { Workspace } from '../../modules/auth/apiKeys.ts';
import { ALL_WORKSPACES, isAdministrator } from '../../modules/auth/users.ts';
import {
  admins,
  type DashboardRoute,
  everyone,
  type Html,
  type HtmlValue,
  html,
  integrators,
  trailReaders,
} from '../components/page.ts';
import { iso, type RangeName, rangeLinks, rangeOf, ranges } from '../components/ranges.ts';
import { table } from '../components/tables.ts';
import { badge, empty, time } from '../components/text.ts';
import { operationPath, requestsPath } from '../components/urls.ts';
import { dismissFirstSteps, readPreferences } from '../http/preferences.ts';
import { workspacesOf } from '../http/visit.ts';
import { type AttentionPorts, attention } from './attention.ts';
import {
  auditPath,
  countResults,
  deadWebhooks,
  figureLink,
  figures,
  type Overview,
  type OverviewPorts,
  overviewPath,
  readBars,
  readOverview,
  total,
  webhookResults,
} from './overviewFigures.ts';
import { quoted } from './reference/samples.ts';

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
        const all = [...ports.directory.known.workspaces.values()]
          .filter(({ state }) => state !== 'deleted')
          .sort((a, b) => (a.id < b.id ? -1 : 1));
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
          { title: 'Requests', isNumber: true, cell: ({ requests }) => figure(requests) },
          {
            title: 'Writes',
            isNumber: true,
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
            isNumber: true,
            cell: ({ workspace: { id }, refused, from }) =>
              figureLink(true, figure(refused), `refusals-${id}`, requestsPath(id, { from })),
          },
          {
            title: 'Failed webhook attempts',
            isNumber: true,
            cell: ({ workspace: { id }, notTaken, dead, isWhole }) =>
              html`${dead > 0 && html`${badge(`${dead} accepted nothing`, 'bad')} `}${figureLink(
                true,
                `${isWhole ? '' : 'at least '}${figure(notTaken)}`,
                `webhooks-${id}`,
                `/workspaces/${id}/webhooks`,
              )}`,
          },
        ],
        rows,
      )
}
${next !== undefined && html`<p><a role="button" class="outline" href="/dashboard/overview?${new URLSearchParams({ range, after: next }).toString()}">More workspaces</a></p>`}`;
}

/** `/dashboard`: leads to the workspace viewed last, or to the first one. */
export function homeRoutes({
  directory,
  stateStore,
}: Pick<OverviewPorts, 'directory' | 'stateStore'>): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/',
      roles: 'signed-in',
      async handle({ req, user }) {
        const ids = workspacesOf(directory, user).map(({ id }) => id);
        const viewed = req.session.workspace ?? (await readPreferences(stateStore, user.id)).workspace ?? '';
        const chosen = ids.includes(viewed) ? viewed : ids[0];
        if (chosen !== undefined) return { redirect: `/workspaces/${chosen}` };
        return { redirect: isAdministrator(user) ? '/workspaces' : '/reference' };
      },
    },
  ];
}

interface Step {
  title: string;
  /** What to do, until it is done. */
  text(overview: Overview): HtmlValue;
  /** What to send. */
  curl?(address: string): string;
}

const KEY = '-H "x-api-key: $CHARTLEDGER_API_KEY"';

const steps: Record<FirstStep, Step> = {
  key: {
    title: 'Create an API key',
    text: ({ workspace, may }) =>
      may(integrators)
        ? html`<a href="/dashboard/workspaces/${workspace}/keys/new">Create an API key</a>. It is shown once: store it in <code>CHARTLEDGER_API_KEY</code>.`
        : 'An administrator or integrator creates one on the page “API keys”. It is shown once.',
  },
  record: {
    title: 'Send the first record',
    text: ({ may }) =>
      html`With the key in <code>CHARTLEDGER_API_KEY</code>; it needs the permission <code>write</code>${may(admins) && html`; or <a href="${operationPath('upsertPayer')}">from the API reference</a>, as yourself`}:`,
    curl: (address) =>
      `curl ${quoted(`${address}/integration/payers`)} ${KEY} \\\n  --json ${quoted('{"id": "payer-1", "name": "Aetna"}')}`,
  },
  events: {
    title: 'Read the first event',
    text: () => html`Every change is an event. The key needs the permission <code>events</code>:`,
    curl: (address) => `curl ${quoted(`${address}/events?limit=10`)} ${KEY}`,
  },
  webhook: {
    title: 'Receive events by webhook',
    text: ({ workspace, may }) =>
      html`${may(integrators) ? html`<a href="/dashboard/workspaces/${workspace}/webhooks/new">Create a webhook</a>, or send this` : 'Send this'} with your own URL and a key that has the permission <code>webhooks</code>:`,
    curl: (address) =>
      `curl ${quoted(`${address}/integration/webhooks`)} ${KEY} \\\n  --json ${quoted('{"url": "https://billing.example/hooks"}')}`,
  },
};

/**
 * Returns the steps to bring a workspace into use, each checked off once done. `address` is the one to which the
 * calls go. Undefined where all are done.
 */
function onboarding(overview: Overview, address: string, csrf: Html): Html | undefined {
  const { firsts, workspace } = overview;
  const next = firstSteps.find((step) => firsts[step] === undefined);
  if (next === undefined) return undefined;
  const done = firstSteps.filter((step) => firsts[step] !== undefined).length;
  return html`<section class="card onboarding"><div class="page-head"><h2>Get started</h2>
<form method="post" action="/dashboard/workspaces/${workspace}/first-steps/dismiss">${csrf}<button type="submit" class="link-button">Dismiss</button></form></div>
<p class="muted">${done} of ${firstSteps.length} steps done. This card disappears after the last one.</p>
<ol>${firstSteps.map((step) => {
    const at = firsts[step];
    const { title } = steps[step];
    if (at !== undefined)
      return html`<li>${title} ${badge('done', 'good')} <small class="muted">${time(at)}</small></li>`;
    return html`<li><details${(step === next || firsts.record === undefined) && html` open`}><summary><h3>${title}</h3></summary>${toDo(step, overview, address)}</details></li>`;
  })}</ol>
</section>`;
}

function toDo(step: FirstStep, overview: Overview, address: string): Html {
  const { title, text, curl } = steps[step];
  const id = `first-${step}`;
  return html`<p>${text(overview)}</p>
${
  curl &&
  html`<div class="sample"><button type="button" class="outline secondary" data-copy="${id}" aria-label="Copy the call: ${title}">Copy</button>
<pre id="${id}" tabindex="0" aria-label="${title}"><code>${curl(address)}</code></pre></div>`
}`;
}

const path = '/workspaces/:workspace';

/** A workspace's figures, without anything of a record, refreshed periodically where scripts run. */
export function overviewRoutes(ports: OverviewPorts & AttentionPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path,
      roles: everyone,
      query: ['range'],
      async handle(visit) {
        const { workspace, user, csrf, req } = visit;
        const [overview, needed, { dismissed }] = await Promise.all([
          readOverview(ports, visit),
          attention(ports, visit),
          readPreferences(ports.stateStore, user.id),
        ]);
        const isDismissed = dismissed.includes(workspace);
        const start = isDismissed ? undefined : onboarding(overview, addressOf(req, ports.publicUrl), csrf);
        return { page: { title: 'Overview', section: 'Overview', body: page(overview, needed, start) } };
      },
    },
    {
      method: 'post',
      path: `${path}/first-steps/dismiss`,
      roles: everyone,
      async handle({ workspace, user }) {
        await dismissFirstSteps(ports.stateStore, user.id, workspace);
        return { redirect: `/workspaces/${workspace}` };
      },
    },
    {
      method: 'get',
      path: `${path}/figures`,
      roles: everyone,
      query: ['range'],
      isBackground: true,
      async handle(visit) {
        const overview = await readOverview(ports, visit);
        return {
          fragment: html`${Object.entries(figures).map(
            ([id, draw]) => html`<div id="figure-${id}" hx-swap-oob="innerHTML">${draw(overview)}</div>`,
          )}`,
        };
      },
    },
  ];
}

/** Only the content of the places is replaced: what has the focus, or was opened, stays. */
function page(overview: Overview, needed: Html, start: Html | undefined): Html {
  const { workspace, range, may } = overview;
  const { per, words } = ranges[range];
  const place = (id: keyof typeof figures) => html`<div id="figure-${id}">${figures[id](overview)}</div>`;
  const card = (title: string, id: keyof typeof figures) =>
    html`<section class="card"><h3>${title}</h3>${place(id)}</section>`;
  return html`<div class="page-head"><h1>Overview</h1>
<div class="muted" hx-get="/dashboard/workspaces/${workspace}/figures?range=${range}" hx-trigger="every ${range === '1h' ? 10 : 60}s" hx-swap="none">${place('taken-at')}</div></div>
${place('warnings')}
${needed}
${overview.firsts.record === undefined && start}
<div class="page-head"><h2>${words.charAt(0).toUpperCase()}${words.slice(1)}</h2>
<div class="line">${rangeLinks(range, (one) => overviewPath(workspace, one))}
${may(admins, ALL_WORKSPACES) && html`<p><a href="/dashboard/overview?range=${range}">All workspaces</a></p>`}</div></div>
${place('tiles')}
<div class="charts">
${card(`Requests per ${per}`, 'requests')}
${card(`Writes per ${per}`, 'writes')}
${card(`Refusals per ${per}`, 'refusals')}
${card('Refusals by reason', 'reasons')}
${card('Time from arrival to the log', 'times')}
${card('Writes by kind', 'kinds')}
${card(`Failed webhook attempts per ${per}`, 'webhook-attempts')}
${card('Webhook messages waiting to be retried', 'webhook-backlog')}
</div>
<details class="figures"><summary>Figures for each bar</summary>${place('bars')}</details>
${overview.firsts.record !== undefined && start}
${may(trailReaders) && html`<h2>API keys and sources</h2>${place('keys')}`}
<h2>Webhooks</h2>
${place('webhooks')}`;
}
