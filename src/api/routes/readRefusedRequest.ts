import { z } from 'zod';
import { findRefusedRequest } from '../../modules/audit/requestLog.ts';
import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { keysOfSender } from '../../modules/auth/keyState.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { notFound } from '../../platform/errors.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { callerOf } from '../server/exchange.ts';
import { refusedRequestExample, refusedRequestSchema, refusedRequestView } from './requestSchemas.ts';

export interface RefusedRequestPorts extends QueryPorts {
  directory: Pick<KeyDirectory, 'known'>;
}

/** `GET /integration/requests/{id}`. */
export const readRefusedRequest = endpoint({
  method: 'get',
  path: '/integration/requests/{id}',
  operationId: 'getRefusedRequest',
  summary: 'Find out why a request was refused',
  description:
    'A refused request of this key, or of a key that it replaced or that replaces it, by the `requestId` of its error, which is also the header ' +
    '`Request-Id`: why it was refused, and which fields were at fault. Requests of other keys and ' +
    'accepted requests are not found.',
  tag: 'Requests',
  permission: 'read',
  params: z.object({
    id: z.string().meta({ description: 'The `Request-Id` of its response', examples: [exampleRequestId] }),
  }),
  answers: {
    200: { description: 'The request.', schema: refusedRequestSchema, example: refusedRequestExample },
  },
  errors: ['RequestNotFound'],
  handler: (ports: RefusedRequestPorts) => async (exchange) => {
    const { workspace, principal } = callerOf(exchange);
    const found = await findRefusedRequest(ports, workspace, String(exchange.req.params.id));
    const keys = keysOfSender(ports.directory.known, principal.id);
    if (found === undefined || !keys.includes(found.principal.id)) throw notFound('Refused request');
    return { body: refusedRequestView(found) };
  },
});
