import { recordsModel } from '../../../projections/records.ts';
import { type UpsertPorts, upsertRecord } from '../../commands/upsertRecord.ts';
import { readPage } from '../../queries/page.ts';
import { type QueryPorts, readRecord, toRecordView } from '../../queries/readRecord.ts';
import type { CatalogEntry } from '../../records/catalog.ts';
import type { RecordState } from '../../records/fold.ts';
import { kindPartition } from '../../records/streamNames.ts';
import type { Endpoint } from '../endpoint.ts';
import { callerOf } from '../exchange.ts';
import { readJson } from '../readJson.ts';
import { expectedRevision, pageRequest, pathId } from './parameters.ts';

/** `POST /integration/{kinds}` (spec 4.1 to 4.5). */
export function upsertEndpoint(ports: UpsertPorts, entry: CatalogEntry): Endpoint {
  return {
    route: `/integration/${entry.plural}`,
    access: 'write',
    async handle(exchange) {
      const expected = expectedRevision(exchange.req);
      const input = await readJson(exchange.req);
      const { version, outcome, warnings } = await upsertRecord(
        ports,
        callerOf(exchange),
        entry,
        input,
        expected,
      );
      return {
        headers: { ETag: `"${version}"` },
        body: { success: true, message: `${entry.title} ${outcome}`, version, outcome, warnings },
      };
    },
  };
}

/** `GET /integration/{kinds}/{id}`. */
export function readEndpoint(ports: QueryPorts, entry: CatalogEntry): Endpoint {
  return {
    route: `/integration/${entry.plural}/:id`,
    access: 'read',
    async handle(exchange) {
      const id = pathId(exchange.req, 'id', entry.title);
      const view = await readRecord(ports, callerOf(exchange).workspace, entry, id);
      return { headers: { ETag: `"${view.version}"` }, body: view };
    },
  };
}

/** `GET /integration/{kinds}`. */
export function listEndpoint(ports: QueryPorts, entry: CatalogEntry): Endpoint {
  return {
    route: `/integration/${entry.plural}`,
    access: 'read',
    async handle(exchange) {
      const request = pageRequest(exchange.req);
      const partition = kindPartition(callerOf(exchange).workspace, entry.kind);
      const { items, next_page_token } = await readPage(ports, recordsModel, partition, request);
      return {
        body: {
          items: items.map(({ body }) => toRecordView(body as unknown as RecordState)),
          next_page_token,
        },
      };
    },
  };
}
