import { type Html, html } from '../shell/html.ts';
import { type DashboardRoute, everyone } from '../shell/route.ts';
import type { DashboardPorts } from '../shell/routes.ts';
import { figures, type Overview, readOverview } from './overviewFigures.ts';

const path = '/workspaces/:workspace';

/** How a workspace does: figures without anything of a record, drawn anew every ten seconds where scripts run. */
export function overviewRoutes(ports: DashboardPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path,
      roles: everyone,
      async handle(visit) {
        return {
          page: { title: 'Overview', section: 'Overview', body: page(await readOverview(ports, visit)) },
        };
      },
    },
    {
      method: 'get',
      path: `${path}/figures`,
      roles: everyone,
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

/** Only what stands inside of the places is replaced: what has the focus, or was opened, stays. */
function page(overview: Overview): Html {
  const place = (id: keyof typeof figures) => html`<div id="figure-${id}">${figures[id](overview)}</div>`;
  return html`<div class="page-head"><h1>Overview</h1>
<div class="muted" hx-get="/dashboard/workspaces/${overview.workspace}/figures" hx-trigger="every 10s" hx-swap="none">${place('taken-at')}</div></div>
${place('warnings')}
<h2>Today, UTC</h2>
${place('today')}
<h2>The last 60 minutes</h2>
<div class="charts">
<section class="card"><h3>Requests per minute</h3>${place('requests')}</section>
<section class="card"><h3>Events per minute</h3>${place('events')}</section>
<section class="card"><h3>Refusals per minute</h3>${place('refusals')}</section>
<section class="card"><h3>Refusals by reason</h3>${place('reasons')}</section>
</div>
<details class="figures"><summary>The figures of each minute</summary>${place('minutes')}</details>
<h2>Webhooks</h2>
${place('webhooks')}
<h2>Read models</h2>
<p class="muted">They follow the event log of the whole installation. A parked event is one that a read model could not take.</p>
${place('projections')}`;
}
