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
      .meta({ description: 'The state of each role of the process' }),
    degraded: z
      .array(z.enum(['event_log', 'read_models', 'state_store', 'document_store']))
      .meta({ description: 'Stores that are unavailable, although the process is ready without them' }),
    event_log: storeState,
    read_models: storeState,
    state_store: storeState,
    document_store: storeState,
    projections: z
      .record(
        z.string(),
        z.object({
          position: z.int().meta({ description: 'Last position of the event log that it has processed' }),
          behind: z.int().min(0).meta({ description: 'Positions of the event log still to be processed' }),
          parked: z.int().min(0).meta({ description: 'Events that it could not process' }),
        }),
      )
      .optional()
      .meta({ description: 'The read models, by name' }),
    warnings: z
      .array(
        z.object({
          code: z.string().meta({ examples: ['clock_behind_log'] }),
          message: z.string().meta({ description: 'What the problem is, and what to do' }),
        }),
      )
      .meta({ description: 'What operators should fix, although requests are served; usually empty' }),
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
 * `GET /readyz`: whether this process can do its work, according to its roles. A store that cannot be reached but is
 * not essential to that work is merely reported. Says how far each projection is behind the log.
 */
export const readReadiness = endpoint({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  summary: 'Check that requests can be served',
  description:
    'For readiness probes and load balancers. A process with the role `api` is ready while events can be ' +
    'appended and read, even if other stores are unavailable: `degraded` lists those. A process without ' +
    'this role is ready while all of its roles are ready. Also reports the state of each store, and how ' +
    'far each read model is behind the event log.',
  tag: 'Service',
  permission: 'public',
  query: 'ignored',
  answers: {
    200: { description: 'Requests can be served.', schema: readinessSchema, example: readyExample },
    503: {
      description:
        'The event log is unavailable; in a process without the role `api`, something that its roles need ' +
        'is unavailable.',
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
