import { readRequestLog } from '../../../audit/requestLog.ts';
import type { QueryPorts } from '../../../reads/readRecord.ts';
import { validate } from '../../../records/validate.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { callerOf } from '../../server/exchange.ts';
import { pageQuerySchema, withPlus } from '../parameters.ts';
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
    'Those of the key itself that were refused, newest first, with every one that was answered before the request: why, and ' +
    'which fields were at fault, and nothing of what was sent in them. A batch of which lines were refused is one of them. ' +
    'With filters a page may have fewer items than `limit`, or none: the list goes on for as long as there is a ' +
    '`next_page_token`. What was refused before its key was known (401, and 429 by the limit of requests) and what failed for ' +
    "the service's own reasons (500 and above) is not there.",
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
  handler: (ports: QueryPorts) => async (exchange) => {
    const { limit, page_token: pageToken, ...asked } = validate(query, withPlus(exchange.req, 'from', 'to'));
    const { workspace, principal } = callerOf(exchange);
    const filter = { ...requestFilter(asked), key: principal.id };
    const page = await readRequestLog(ports, workspace, filter, { limit, pageToken });
    return { body: { ...page, items: page.items.map(refusedRequestView) } };
  },
});
