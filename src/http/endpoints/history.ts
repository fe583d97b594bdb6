import { recordAccess } from '../../audit/recordAccess.ts';
import type { DocumentStore } from '../../ports/documentStore.ts';
import { readDocumentHistory } from '../../reads/history/documentHistory.ts';
import { readRecordHistory } from '../../reads/history/recordHistory.ts';
import type { HistoryPorts } from '../../reads/history/versionPage.ts';
import type { CatalogEntry } from '../../records/catalog.ts';
import type { Endpoint } from '../server/endpoint.ts';
import { callerOf } from '../server/exchange.ts';
import { documentId, documentRoute, documentSubject, encounterId } from './documents.ts';
import { accessSubject, pageQuerySchema, pageRequest, pathId } from './parameters.ts';

/** `GET /integration/{kinds}/{id}/history`: every version, newest first. */
export function recordHistoryEndpoint(ports: HistoryPorts, entry: CatalogEntry): Endpoint {
  return {
    route: `/integration/${entry.plural}/:id/history`,
    permission: 'read',
    query: pageQuerySchema,
    subject: ({ req }) => accessSubject(entry.kind, req.params.id),
    async handle(exchange) {
      const id = pathId(exchange.req, 'id', entry.title);
      const caller = callerOf(exchange);
      const request = pageRequest(exchange.req);
      const body = await readRecordHistory(ports, caller.workspace, entry, id, request);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.history',
        kind: entry.kind,
        record_id: id,
        query: { ...request },
      });
      return { body };
    },
  };
}

/** `GET /integration/encounters/{id}/documents/{documentId}/history`: every version, newest first. */
export function documentHistoryEndpoint(ports: HistoryPorts & { documentStore: DocumentStore }): Endpoint {
  return {
    route: `${documentRoute}/history`,
    permission: 'read',
    query: pageQuerySchema,
    subject: documentSubject,
    async handle(exchange) {
      const caller = callerOf(exchange);
      const request = pageRequest(exchange.req);
      const name = {
        workspace: caller.workspace,
        encounterId: encounterId(exchange.req),
        documentId: documentId(exchange.req),
      };
      const body = await readDocumentHistory(ports, name, request);
      await recordAccess(ports.eventLog, caller, {
        action: 'document.history',
        kind: 'document',
        record_id: name.encounterId,
        document_id: name.documentId,
        query: { ...request },
      });
      return { body };
    },
  };
}
