import { z } from 'zod';
import { type ProcessHealth, readiness } from '../../../health/readiness.ts';
import { projectionStatus } from '../../../reads/projectionStatus.ts';
import type { QueryPorts } from '../../../reads/readRecord.ts';
import { errorSchema } from '../../document/answerSchemas.ts';
import { endpoint } from '../../endpoint/endpoint.ts';

const storeState = z.enum(['ok', 'unavailable']);
const roleState = z.enum(['ready', 'unavailable']);

const readinessSchema = z
  .object({
    status: roleState,
    roles: z
      .object({ api: roleState, projector: roleState, webhooks: roleState, heads: roleState })
      .partial()
      .meta({ description: 'What each role of the process can do' }),
    degraded: z
      .array(z.enum(['event_log', 'read_models', 'state_store', 'document_store']))
      .meta({ description: 'Stores that are away, while the process is ready without them' }),
    event_log: storeState,
    read_models: storeState,
    state_store: storeState,
    document_store: storeState,
    projections: z
      .record(
        z.string(),
        z.object({
          position: z.int().meta({ description: 'Last position of the event log that it holds' }),
          behind: z.int().min(0).meta({ description: 'Positions of the event log still to come' }),
          parked: z.int().min(0).meta({ description: 'Events that it could not take' }),
        }),
      )
      .optional()
      .meta({ description: 'The read models by name' }),
    warnings: z
      .array(
        z.object({
          code: z.string().meta({ examples: ['clock_behind_log'] }),
          message: z.string().meta({ description: 'What is the matter, and what to do' }),
        }),
      )
      .meta({ description: 'What operators should see to, although requests are served; mostly empty' }),
  })
  .meta({ id: 'Readiness', description: 'Whether requests can be served, and the state of each store.' });

const stores = { event_log: 'ok', read_models: 'ok', state_store: 'ok', document_store: 'ok' };
const readyExample = {
  status: 'ready',
  roles: { api: 'ready', projector: 'ready', webhooks: 'ready' },
  degraded: [],
  ...stores,
  projections: { records_v2: { position: 8_135, behind: 0, parked: 0 } },
  warnings: [],
};

type Readiness = z.output<typeof readinessSchema>;

export type HealthPorts = QueryPorts & ProcessHealth;

async function lags({ eventLog, readModels }: QueryPorts) {
  const statuses = await projectionStatus(eventLog, readModels);
  return Object.fromEntries(statuses.map(({ model, ...status }) => [model, status]));
}

/**
 * `GET /readyz`: whether this process can do its work, by its roles. A store that is away without which the work goes on
 * is told and no more. Says how far each projection is behind the log.
 */
export const readReadiness = endpoint({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  summary: 'Check that requests can be served',
  description:
    'For readiness probes and load balancers. A process with the role `api` is ready while events can be appended and ' +
    'read, whatever else is away: `degraded` names that. One without it is ready while all of its roles are. Says how ' +
    'each store does, and how far each read model is behind the event log.',
  tag: 'Service',
  permission: 'public',
  query: 'ignored',
  answers: {
    200: { description: 'Requests can be served.', schema: readinessSchema, example: readyExample },
    503: {
      description:
        'The event log takes nothing; in a process without the role `api`, what its roles need is away.',
      headers: ['Retry-After'],
      schema: z.union([readinessSchema, errorSchema]),
      example: {
        status: 'unavailable',
        roles: { api: 'unavailable', projector: 'unavailable', webhooks: 'unavailable' },
        degraded: [],
        ...stores,
        event_log: 'unavailable',
        warnings: [],
      },
    },
  },
  errors: ['InternalError'],
  handler: (ports: HealthPorts) => async () => {
    const { ready, roles, degraded, stores, findings } = await readiness(ports);
    const isProjecting = stores.event_log === 'ok' && stores.read_models === 'ok';
    const projections = isProjecting ? await lags(ports).catch(() => undefined) : undefined;
    const body: Readiness = {
      status: ready ? 'ready' : 'unavailable',
      roles,
      degraded,
      ...stores,
      ...(projections && { projections }),
      warnings: findings,
    };
    return ready ? { body } : { status: 503, headers: { 'Retry-After': '2' }, body };
  },
});
