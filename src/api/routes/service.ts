import { z } from 'zod';
import { purposes } from '../../domain/events/payloads.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import { type Permission, permissionSchema } from '../../modules/auth/permissions.ts';
import { type ProcessHealth, type Readiness, readiness } from '../../modules/health.ts';
import { projectionStatus, type QueryPorts } from '../../modules/records/queries/records.ts';
import { descriptionAccess, endpoint } from '../schemas/endpoint.ts';
import { readConditions } from '../schemas/parameters.ts';
import { errorSchema, timestamp } from '../schemas/records.ts';
import { cacheable, cacheHeaders, notModified, type Tagged, tagged } from './events.ts';

const healthSchema = z
  .object({ status: z.literal('ok') })
  .meta({ id: 'Health', description: 'The process answers.' });

const healthy = { status: 'ok' } as const;

/** `GET /healthz`: whether the process responds. */
const readHealth = endpoint({
  method: 'get',
  path: '/healthz',
  operationId: 'getHealth',
  summary: 'Check that the process answers',
  description: 'For liveness probes. Checks nothing but the process itself.',
  tag: 'Service',
  permission: 'public',
  query: 'ignored',
  answers: { 200: { description: 'The process answers.', schema: healthSchema, example: healthy } },
  handler: () => async () => ({ body: healthy }),
});

const descriptionSchema = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.looseObject({}),
  })
  .meta({ id: 'OpenApi', description: 'This document.' });

interface OpenApiPorts {
  /** Returns the description of the interface. */
  describe(): object;
}

/** `GET /openapi/json` (spec 4.8): needs a key, unless it is public. */
export function readOpenApi(openapiPublic: boolean) {
  return endpoint({
    method: 'get',
    path: '/openapi/json',
    operationId: 'getOpenApi',
    summary: 'Read the OpenAPI document',
    description: openapiPublic
      ? 'The OpenAPI 3.1.0 description of this API. This service is configured to show it to everyone.'
      : 'The OpenAPI 3.1.0 description of this API.',
    tag: 'Service',
    ...descriptionAccess(openapiPublic),
    headers: readConditions,
    answers: {
      200: {
        description: 'The document.',
        headers: cacheHeaders,
        schema: descriptionSchema,
        example: { openapi: '3.1.0', info: { title: 'Chartledger', version: '1.0.0' }, paths: {} },
      },
      304: notModified,
    },
    handler({ describe }: OpenApiPorts) {
      let document: Tagged<z.output<typeof descriptionSchema>> | undefined;
      return async (context) => {
        document ??= tagged(describe() as z.output<typeof descriptionSchema>);
        return cacheable(context, document, openapiPublic ? 'public' : 'private');
      };
    },
  });
}

const keySchema = z
  .object({
    id: z.string().meta({ examples: ['key_1'] }),
    name: z.string().meta({ examples: ['EMR of the clinic'] }),
    workspace: z.string().meta({ description: 'The workspace that it belongs to', examples: ['clinic'] }),
    permissions: z.array(permissionSchema).meta({ examples: [['read', 'audit']] }),
    expires_at: timestamp('When it expires; `null` if it does not').nullable(),
    purpose: z
      .enum(purposes)
      .nullable()
      .meta({ description: 'What is read with it is disclosed for this; `null` if not stated' }),
    recipient: z.string().nullable().meta({ description: 'Who receives what is read; `null` if not stated' }),
  })
  .meta({ id: 'OwnKey', description: 'The key of the request, and what it may do.' });

/** `GET /integration/key`: what the key of the request is. */
export const readOwnKey = endpoint({
  method: 'get',
  path: '/integration/key',
  operationId: 'getOwnKey',
  summary: 'Read what the key is and may do',
  description: 'The name, workspace, permissions and purpose of the key that the request is sent with.',
  tag: 'Service',
  permission: 'key',
  answers: {
    200: {
      description: 'The key.',
      schema: keySchema,
      example: {
        ...{ id: 'key_1', name: 'EMR of the clinic', workspace: 'clinic' },
        permissions: ['read', 'audit'] satisfies Permission[],
        expires_at: null,
        ...{ purpose: 'payment', recipient: null },
      },
    },
  },
  handler: () => async (context) => {
    const { key, workspace } = context.found as FoundKey;
    const { id, name, permissions, expiresAt = null, terms } = key;
    const { purpose = null, recipient = null } = terms ?? {};
    return {
      body: { id, name, workspace: workspace.id, permissions, expires_at: expiresAt, purpose, recipient },
    };
  },
});

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
  })
  .meta({ id: 'Readiness', description: 'Whether requests can be served, and the state of each store.' });

const stores = { event_log: 'ok', read_models: 'ok', state_store: 'ok', document_store: 'ok' };
const readyExample = {
  status: 'ready',
  roles: { api: 'ready', projector: 'ready', webhooks: 'ready' },
  degraded: [],
  ...stores,
};

type ReadinessAnswer = z.output<typeof readinessSchema>;

function answerOf({ ready, roles, degraded, stores }: Readiness): ReadinessAnswer {
  return { status: ready ? 'ready' : 'unavailable', roles, degraded, ...stores };
}

/**
 * Returns what `/readyz` answers to operators, at the port of the metrics: also how far each read model is, and what they should
 * fix. Positions tell how much all workspaces together write: they are not public. Never rejects.
 */
export async function readinessDetails(ports: QueryPorts & ProcessHealth) {
  const state = await readiness(ports);
  const { event_log, read_models } = state.stores;
  const isProjecting = event_log === 'ok' && read_models === 'ok';
  const projections = isProjecting ? await lags(ports).catch(() => undefined) : undefined;
  return { ...answerOf(state), ...(projections && { projections }), warnings: state.findings };
}

async function lags({ eventLog, readModels }: QueryPorts) {
  const statuses = await projectionStatus(eventLog, readModels);
  return Object.fromEntries(statuses.map(({ model, ...status }) => [model, status]));
}

/**
 * `GET /readyz`: whether this process can do its work, according to its roles. A store that cannot be reached but is
 * not essential to that work is merely reported.
 */
const readReadiness = endpoint({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  summary: 'Check that requests can be served',
  description:
    'For readiness probes and load balancers. A process with the role `api` is ready while events can be ' +
    'appended and read, even if other stores are unavailable: `degraded` lists those. A process without ' +
    'this role is ready while all of its roles are ready. Also reports the state of each store. The port of ' +
    'the metrics (`METRICS_PORT`) answers the same path with `projections` and `warnings` as well.',
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
      },
    },
  },
  errors: ['InternalError'],
  handler: (health: ProcessHealth) => async () => {
    const state = await readiness(health);
    const body = answerOf(state);
    return state.ready ? { body } : { status: 503, headers: { 'Retry-After': '2' }, body };
  },
});

/** The endpoints that every process has, whatever its role. */
export const healthEndpoints = [readHealth, readReadiness];
