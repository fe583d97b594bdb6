import { clockProblem } from '../../modules/health.ts';
import { type ProjectionStatus, projectionStatus } from '../../modules/records/queries/records.ts';
import { systemClock } from '../../storage/rateLimiters.ts';
import { type DashboardRoute, everyone, type Html, html } from '../components/page.ts';
import { table } from '../components/tables.ts';
import { badge, time } from '../components/text.ts';
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
          projectionStatus(eventLog, readModels),
          clockProblem(eventLog, systemClock),
        ]);
        const body = html`<div class="page-head"><h1>System</h1>
<p class="muted">As of ${time(new Date().toISOString())}</p></div>
${clock && html`<p class="banner" role="alert"><strong>Warning.</strong> ${clock.message}</p>`}
<h2>Read models</h2>
<p class="muted">They follow the event log of the whole installation. A parked event is one that a read model could not process.</p>
${projectionTable(projections)}`;
        return { page: { title: 'System', section: 'System', body } };
      },
    },
  ];
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
