import { addressOf } from '../../api/server/addressOf.ts';
import { ALL_WORKSPACES } from '../../modules/auth/user.ts';
import { type Html, html } from '../components/html.ts';
import { admins, type DashboardRoute, everyone, phiReaders } from '../components/route.ts';
import { onboarding } from './onboarding.ts';
import { figures, type Overview, type OverviewPorts, readOverview } from './overviewFigures.ts';
import { overviewPath } from './overviewLinks.ts';
import { rangeLinks } from './rangeLinks.ts';
import { ranges } from './ranges.ts';

const path = '/workspaces/:workspace';

/** A workspace's figures, without anything of a record, refreshed periodically where scripts run. */
export function overviewRoutes(ports: OverviewPorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path,
      roles: everyone,
      query: ['range'],
      async handle(visit) {
        const overview = await readOverview(ports, visit);
        const start = onboarding(overview, addressOf(visit.req, ports.publicUrl));
        return { page: { title: 'Overview', section: 'Overview', body: page(overview, start) } };
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
function page(overview: Overview, start: Html | undefined): Html {
  const { workspace, range, isOfAll, may } = overview;
  const { per, words } = ranges[range];
  const place = (id: keyof typeof figures) => html`<div id="figure-${id}">${figures[id](overview)}</div>`;
  const card = (title: string, id: keyof typeof figures) =>
    html`<section class="card"><h3>${title}</h3>${place(id)}</section>`;
  return html`<div class="page-head"><h1>Overview</h1>
<div class="muted" hx-get="/dashboard/workspaces/${workspace}/figures?range=${range}" hx-trigger="every ${range === '1h' ? 10 : 60}s" hx-swap="none">${place('taken-at')}</div></div>
${place('warnings')}
${start}
<div class="page-head">${rangeLinks(range, (one) => overviewPath(workspace, one))}
${may(admins, ALL_WORKSPACES) && html`<p><a href="/dashboard/overview?range=${range}">All workspaces</a></p>`}</div>
<h2>${words.charAt(0).toUpperCase()}${words.slice(1)}</h2>
${place('tiles')}
<div class="charts">
${card(`Requests per ${per}`, 'requests')}
${card(`Writes per ${per}`, 'writes')}
${card(`Refusals per ${per}`, 'refusals')}
${card('Refusals by reason', 'reasons')}
${card('Time from arrival to the log', 'times')}
${card('Writes by kind', 'kinds')}
${card(`Failed webhook attempts per ${per}`, 'webhook-attempts')}
</div>
<details class="figures"><summary>Figures for each bar</summary>${place('bars')}</details>
${may(phiReaders) && html`<h2>API keys and sources</h2>${place('keys')}`}
<h2>Webhooks</h2>
${place('webhooks')}
${
  isOfAll &&
  html`<h2>Read models</h2>
<p class="muted">They follow the event log of the whole installation. A parked event is one that a read model could not process.</p>
${place('projections')}`
}`;
}
