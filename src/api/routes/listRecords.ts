import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { formatPosition } from '../../modules/eventStream/position.ts';
import { listRecords as list } from '../../modules/records/queries/listRecords.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { viewExample } from '../schemas/examples.ts';
import { tagOf } from '../schemas/kindNames.ts';
import { recordSchemas } from '../schemas/recordSchemas.ts';
import { callerOf } from '../server/exchange.ts';
import { recordsQuerySchema, requestedRecords } from './recordsQuery.ts';

/** `GET /integration/{kinds}`. */
export function listRecords(entry: CatalogEntry) {
  const { kind, plural } = entry;
  const query = recordsQuerySchema(entry);
  return endpoint({
    method: 'get',
    path: `/integration/${plural}`,
    operationId: `list${tagOf(entry)}`,
    summary: `List ${plural}`,
    description:
      `The ${plural} of the workspace, in the order of their creation or by their last change, including ` +
      'every write that was answered before the request. With filters, a page may have fewer items than ' +
      '`limit`, or none: the list continues as long as there is a `next_page_token`. A record that does ' +
      'not change between two pages is neither omitted nor repeated. A record that is sent in the ' +
      'meantime keeps its place in the order of creation; sorted by last change, it moves to the front ' +
      'and may be missing from the following pages: to get it, request again with the ' +
      '`Chartledger-Position` of the first page as `updated_since`.',
    tag: tagOf(entry),
    permission: onKind('read', kind),
    query,
    answers: {
      200: {
        description: `A page of ${plural}.`,
        headers: ['Chartledger-Position'],
        schema: recordSchemas(kind).page,
        example: { items: [viewExample(entry)], next_page_token: null, unreadable: [] },
      },
    },
    errors: ['PositionGone'],
    subject: () => ({ kind }),
    handler: (ports: QueryPorts) => async (exchange) => {
      const { request, asked } = await requestedRecords(ports, exchange, entry, query);
      const caller = callerOf(exchange);
      const { page, position, shown } = await list(ports, caller.workspace, entry, request);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.list',
        kind,
        query: asked,
        ...(shown && { shown }),
      });
      return { headers: { 'Chartledger-Position': formatPosition(position) }, body: page };
    },
  });
}
