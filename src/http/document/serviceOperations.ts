import { z } from 'zod';
import { descriptionSchema, errorSchema, healthSchema, readinessSchema } from './answerSchemas.ts';
import { headerRefs } from './headers.ts';
import type { Operation } from './operation.ts';
import { json } from './recordOperations.ts';

const stores = { event_log: 'ok', read_models: 'ok', state_store: 'ok', document_store: 'ok' };
const readyExample = {
  status: 'ready',
  roles: { api: 'ready', projector: 'ready', webhooks: 'ready' },
  degraded: [],
  ...stores,
  projections: { records_v1: { position: 8_135, behind: 0, parked: 0 } },
  warnings: [],
};

const health: Operation = {
  method: 'get',
  path: '/healthz',
  operationId: 'getHealth',
  summary: 'Whether the process answers',
  description: 'For liveness probes. Looks at nothing but the process itself.',
  tag: 'Service',
  permission: 'public',
  ok: json('The process answers.', healthSchema, { status: 'ok' }),
};

const readiness: Operation = {
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  summary: 'Whether requests can be served',
  description:
    'For readiness probes and load balancers. A process with the role `api` is ready while events can be appended and ' +
    'read, whatever else is away: `degraded` names that. One without it is ready while all of its roles are. Says how ' +
    'each store does, and how far each read model is behind the event log.',
  tag: 'Service',
  permission: 'public',
  ok: json('Requests can be served.', readinessSchema, readyExample),
  errors: ['InternalError'],
  responses: {
    503: {
      description:
        'The event log takes nothing; in a process without the role `api`, what its roles need is away.',
      headers: headerRefs('Request-Id', 'Retry-After'),
      content: {
        'application/json': {
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
    },
  },
};

/** `GET /openapi/json`; `openapiPublic`: without a key. */
function describe(openapiPublic: boolean): Operation {
  return {
    method: 'get',
    path: '/openapi/json',
    operationId: 'getOpenApi',
    summary: 'This document',
    description: openapiPublic
      ? 'The description of the interface, as OpenAPI 3.1.0. This service is set to show it to everyone.'
      : 'The description of the interface, as OpenAPI 3.1.0.',
    tag: 'Service',
    permission: openapiPublic ? 'public' : 'key',
    ok: json('The document.', descriptionSchema, {
      openapi: '3.1.0',
      info: { title: 'Chartledger', version: '1.0.0' },
      paths: {},
    }),
    ...(openapiPublic && { errors: ['InvalidParameter', 'InternalError'] }),
  };
}

/** The operations on the service itself. */
export function serviceOperations(openapiPublic: boolean): Operation[] {
  return [describe(openapiPublic), health, readiness];
}
