import { recordAccess } from '../../audit/recordAccess.ts';
import { type UpsertPorts, upsertRecord } from '../../commands/upsertRecord.ts';
import { readRecordAt } from '../../reads/history/recordHistory.ts';
import { listRecords } from '../../reads/listRecords.ts';
import { type QueryPorts, readRecord } from '../../reads/readRecord.ts';
import type { CatalogEntry } from '../../records/catalog.ts';
import type { Endpoint } from '../server/endpoint.ts';
import { callerOf } from '../server/exchange.ts';
import { readJson } from '../server/readJson.ts';
import {
  accessSubject,
  momentQuerySchema,
  pageQuerySchema,
  pageRequest,
  pathId,
  requestedMoment,
  writeCondition,
} from './parameters.ts';

/** `POST /integration/{kinds}` (spec 4.1 to 4.5). */
export function upsertEndpoint(ports: UpsertPorts, entry: CatalogEntry): Endpoint {
  return {
    route: `/integration/${entry.plural}`,
    permission: 'write',
    subject: ({ input }) => accessSubject(entry.kind, (input as { id?: unknown } | null | undefined)?.id),
    async handle(exchange) {
      const condition = writeCondition(exchange.req);
      exchange.input = await readJson(exchange);
      const { version, outcome, warnings } = await upsertRecord(
        ports,
        callerOf(exchange),
        entry,
        exchange.input,
        condition,
      );
      return {
        headers: { ETag: `"${version}"` },
        body: { success: true, message: `${entry.title} ${outcome}`, version, outcome, warnings },
      };
    },
  };
}

/** `GET /integration/{kinds}/{id}`, also as it was in another version or at a moment. */
export function readEndpoint(ports: QueryPorts, entry: CatalogEntry): Endpoint {
  return {
    route: `/integration/${entry.plural}/:id`,
    permission: 'read',
    query: momentQuerySchema,
    subject: ({ req }) => accessSubject(entry.kind, req.params.id),
    async handle(exchange) {
      const id = pathId(exchange.req, 'id', entry.title);
      const caller = callerOf(exchange);
      const at = requestedMoment(exchange.req);
      const view = at
        ? await readRecordAt(ports.eventLog, caller.workspace, entry, id, at.moment)
        : await readRecord(ports, caller.workspace, entry, id);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.read',
        kind: entry.kind,
        record_id: id,
        ...(at && { query: { ...at.query } }),
      });
      return { headers: { ETag: `"${view.version}"` }, body: view };
    },
  };
}

/** `GET /integration/{kinds}`. */
export function listEndpoint(ports: QueryPorts, entry: CatalogEntry): Endpoint {
  return {
    route: `/integration/${entry.plural}`,
    permission: 'read',
    query: pageQuerySchema,
    subject: () => ({ kind: entry.kind }),
    async handle(exchange) {
      const request = pageRequest(exchange.req);
      const caller = callerOf(exchange);
      const { page, ...shown } = await listRecords(ports, caller.workspace, entry, request);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.list',
        kind: entry.kind,
        query: { ...request },
        ...shown,
      });
      return { body: page };
    },
  };
}
