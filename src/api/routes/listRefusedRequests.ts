import { validate } from '../../domain/records/schema/validate.ts';
import { readRequestLog } from '../../modules/audit/requestLog.ts';
import { keysOfSender } from '../../modules/auth/keyState.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { pageQuerySchema, withPlus } from '../schemas/parameters.ts';
import { callerOf } from '../server/exchange.ts';
import type { RefusedRequestPorts } from './readRefusedRequest.ts';
import { refusedRequestExample, refusedRequestPageSchema, refusedRequestView } from './requestSchemas.ts';
import { requestFilter, requestFilterSchema } from './requestsQuery.ts';

const query = pageQuerySchema.extend(requestFilterSchema.shape);

/** `GET /integration/requests`. */
export const listRefusedRequests = endpoint({
  method: 'get',
  path: '/integration/requests',
  operationId: 'listRefusedRequests',
  summary: 'List refused requests',
  description:
    'The refused requests of this key and of the keys that it replaced or that replace it, newest first, including every one that was answered before this ' +
    'request: why each was refused and which fields were at fault, but none of the values sent. Includes ' +
    'batches with refused lines. With filters, a page may have fewer items than `limit`, or none: the ' +
    'list continues as long as there is a `next_page_token`. Requests that were refused before their key ' +
    'was known (401, and 429 by the request limit) and requests that failed because of the service itself ' +
    '(500 and above) are not included.',
  tag: 'Requests',
  permission: 'read',
  query,
  answers: {
    200: {
      description: 'A page of refused requests.',
      schema: refusedRequestPageSchema,
      example: { items: [refusedRequestExample], next_page_token: null },
    },
  },
  handler: (ports: RefusedRequestPorts) => async (exchange) => {
    const { limit, page_token: pageToken, ...asked } = validate(query, withPlus(exchange.req, 'from', 'to'));
    const { workspace, principal } = callerOf(exchange);
    const filter = { ...requestFilter(asked), keys: keysOfSender(ports.directory.known, principal.id) };
    const page = await readRequestLog(ports, workspace, filter, { limit, pageToken });
    return { body: { ...page, items: page.items.map(refusedRequestView) } };
  },
});
