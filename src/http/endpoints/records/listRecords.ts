import { recordAccess } from '../../../audit/recordAccess.ts';
import { onKind } from '../../../principals/keys/permissions.ts';
import { listRecords as list } from '../../../reads/listRecords.ts';
import type { QueryPorts } from '../../../reads/readRecord.ts';
import type { CatalogEntry } from '../../../records/catalog.ts';
import { viewExample } from '../../document/examples.ts';
import { tagOf } from '../../document/kindNames.ts';
import { recordSchemas } from '../../document/recordSchemas.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { callerOf } from '../../server/exchange.ts';
import { pageQuerySchema, pageRequest } from '../parameters.ts';

/** `GET /integration/{kinds}`. */
export function listRecords(entry: CatalogEntry) {
  const { kind, plural } = entry;
  return endpoint({
    method: 'get',
    path: `/integration/${plural}`,
    operationId: `list${tagOf(entry)}`,
    summary: `List ${plural}`,
    description:
      `The ${plural} of the workspace, in the order of their creation, with every write that was answered before ` +
      'the request.',
    tag: tagOf(entry),
    permission: onKind('read', kind),
    query: pageQuerySchema,
    answers: {
      200: {
        description: `A page of ${plural}.`,
        schema: recordSchemas(kind).page,
        example: { items: [viewExample(entry)], next_page_token: null, unreadable: [] },
      },
    },
    subject: () => ({ kind }),
    handler: (ports: QueryPorts) => async (exchange) => {
      const request = pageRequest(exchange.req);
      const caller = callerOf(exchange);
      const { page, ...shown } = await list(ports, caller.workspace, entry, request);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.list',
        kind,
        query: { ...request },
        ...shown,
      });
      return { body: page };
    },
  });
}
