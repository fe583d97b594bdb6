import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { type QueryPorts, readRecord as readLatest } from '../../modules/records/queries/readRecord.ts';
import { readRecordAt } from '../../modules/records/queries/recordHistory.ts';
import { recordPath } from '../schemas/documentedParameters.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { viewExample } from '../schemas/examples.ts';
import { tagOf, withArticle } from '../schemas/kindNames.ts';
import { accessSubject, momentQuerySchema, pathId, requestedMoment } from '../schemas/parameters.ts';
import { recordSchemas } from '../schemas/recordSchemas.ts';
import { callerOf } from '../server/exchange.ts';

/** `GET /integration/{kinds}/{id}`, also as of another version or moment. */
export function readRecord(entry: CatalogEntry) {
  const { title, plural, kind } = entry;
  return endpoint({
    method: 'get',
    path: `/integration/${plural}/{id}`,
    operationId: `get${title}`,
    summary: `Read ${withArticle(kind)}`,
    description:
      `The latest version of the ${kind}, including every write that was answered before the request, or ` +
      'an earlier version: the one given by `version`, or the one current at the time `as_of`.',
    tag: tagOf(entry),
    permission: onKind('read', kind),
    params: recordPath(entry),
    query: momentQuerySchema,
    answers: {
      200: {
        description: `The ${kind}.`,
        headers: ['ETag'],
        schema: recordSchemas(kind).view,
        example: viewExample(entry),
      },
    },
    errors: ['RecordNotFound', 'Erased'],
    subject: ({ req }) => accessSubject(kind, req.params.id),
    handler: (ports: QueryPorts) => async (exchange) => {
      const id = pathId(exchange.req, 'id', title);
      const caller = callerOf(exchange);
      const at = requestedMoment(exchange.req);
      const view = at
        ? await readRecordAt(ports.eventLog, caller.workspace, entry, id, at.moment)
        : await readLatest(ports, caller.workspace, entry, id);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.read',
        kind,
        record_id: id,
        ...(at && { query: { ...at.query } }),
      });
      return { headers: { ETag: `"${view.version}"` }, body: view };
    },
  });
}
