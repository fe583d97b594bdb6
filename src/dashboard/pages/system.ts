import { modelPurposes } from '../../../projections/index.ts';
import { clockProblem } from '../../modules/health.ts';
import { type ReadModelLag, readModelLag } from '../../modules/records/queries/records.ts';
import { systemClock } from '../../storage/rateLimiters.ts';
import { type DashboardRoute, everyone, type Html, type HtmlValue, html } from '../components/page.ts';
import { table } from '../components/tables.ts';
import { badge, code, time, timeAgo } from '../components/text.ts';
import type { OverviewPorts } from './overviewFigures.ts';

/** `/system`: what all workspaces share. */
export function systemRoutes({
  eventLog,
  readModels,
}: Pick<OverviewPorts, 'eventLog' | 'readModels'>): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/system',
      roles: everyone,
      async handle() {
        const [projections, clock] = await Promise.all([
          readModelLag(eventLog, readModels, systemClock.now()),
          clockProblem(eventLog, systemClock),
        ]);
        const body = html`<div class="page-head"><h1>System</h1>
<p class="muted">As of ${time(new Date().toISOString())}</p></div>
${clock && html`<p class="banner" role="alert"><strong>Warning.</strong> ${clock.message}</p>`}
<h2>Read models</h2>
<p class="muted">Lists and searches are read from them. They follow the event log of the whole installation. A parked event is one that a read model could not process.</p>
${projectionTable(projections)}`;
        return { page: { title: 'System', section: 'System', body } };
      },
    },
  ];
}

function projectionTable(statuses: ReadModelLag[]): Html {
  return table(
    'Read models',
    [
      { title: 'Used for', isHeader: true, cell: ({ model }) => modelPurposes.get(model) },
      { title: 'Read model', cell: ({ model }) => code(model) },
      {
        title: 'State',
        cell: ({ behind }) => (behind === 0 ? badge('up to date', 'good') : badge('catching up', 'neutral')),
      },
      { title: 'Behind', cell: behindText },
      {
        title: 'Parked events',
        isNumber: true,
        cell: ({ parked }) => (parked === 0 ? 0 : badge(String(parked), 'bad')),
      },
    ],
    statuses,
  );
}

/** Returns how old the oldest event is that a read model does not hold yet; where that is not known, how many positions it lacks. */
function behindText({ behind, seconds }: ReadModelLag): HtmlValue {
  if (behind === 0) return html`<span class="muted">nothing</span>`;
  if (seconds === undefined) return `${behind.toLocaleString('en-US')} positions`;
  return html`events since ${timeAgo(new Date(systemClock.now() - seconds * 1000).toISOString())}`;
}
