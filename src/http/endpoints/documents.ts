import type { Request } from 'express';
import { type AccessSubject, recordAccess } from '../../audit/recordAccess.ts';
import { removeDocument } from '../../commands/removeDocument.ts';
import {
  type DocumentPorts,
  receiveFile,
  requireEncounter,
  uploadDocument,
} from '../../commands/uploadDocument.ts';
import { readContentAt } from '../../reads/history/documentHistory.ts';
import {
  type DocumentContent,
  listDocuments,
  readDocument,
  type WantedPart,
} from '../../reads/readDocument.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { documentFormats } from '../../records/document.ts';
import type { Endpoint } from '../server/endpoint.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { readMultipart } from '../server/readMultipart.ts';
import { requestedRange } from '../server/requestedRange.ts';
import {
  accessSubject,
  momentQuerySchema,
  pageQuerySchema,
  pageRequest,
  pathId,
  requestedMoment,
  writeCondition,
} from './parameters.ts';

export const documentsRoute = '/integration/encounters/:id/documents';
export const documentRoute = `${documentsRoute}/:documentId`;

export const encounterId = (req: Request) => pathId(req, 'id', 'Encounter');
export const documentId = (req: Request) => pathId(req, 'documentId', 'Document');

/** What a request to a document, or to all of an encounter, is about. */
export function documentSubject({ req: { params } }: Exchange): AccessSubject {
  return accessSubject('document', params.id, params.documentId);
}

/** `POST /integration/encounters/{id}/documents` (spec 4.6). */
export function uploadEndpoint(ports: DocumentPorts): Endpoint {
  return {
    route: documentsRoute,
    permission: 'write',
    subject: documentSubject,
    async handle(exchange) {
      const caller = callerOf(exchange);
      const encounter = encounterId(exchange.req);
      const condition = writeCondition(exchange.req);
      await requireEncounter(ports.existence, caller.workspace, encounter);
      const { fields, file } = await readMultipart(
        exchange,
        (filename, source) => receiveFile(ports.documentStore, filename, source),
        ({ objectId }) => ports.documentStore.discard(objectId),
      );
      const uploaded = await uploadDocument(ports, caller, encounter, { fields, file }, condition);
      const { documentId: document_id, version } = uploaded;
      return { headers: { ETag: `"${version}"` }, body: { success: true, document_id, version } };
    },
  };
}

/** `DELETE /integration/encounters/{id}/documents/{documentId}` (spec 4.7). */
export function removeEndpoint({ eventLog, existence }: DocumentPorts): Endpoint {
  return {
    route: documentRoute,
    permission: 'write',
    subject: documentSubject,
    async handle(exchange) {
      const caller = callerOf(exchange);
      const encounter = encounterId(exchange.req);
      const condition = writeCondition(exchange.req);
      await requireEncounter(existence, caller.workspace, encounter);
      await removeDocument(eventLog, caller, encounter, documentId(exchange.req), condition);
      return { body: { success: true, message: 'Document removed' } };
    },
  };
}

/** `GET /integration/encounters/{id}/documents`. */
export function listDocumentsEndpoint(ports: DocumentPorts & QueryPorts): Endpoint {
  return {
    route: documentsRoute,
    permission: 'read',
    query: pageQuerySchema,
    subject: documentSubject,
    async handle(exchange) {
      const caller = callerOf(exchange);
      const encounter = encounterId(exchange.req);
      const request = pageRequest(exchange.req);
      await requireEncounter(ports.existence, caller.workspace, encounter);
      const body = await listDocuments(ports, caller.workspace, encounter, request);
      await recordAccess(ports.eventLog, caller, {
        action: 'document.list',
        kind: 'document',
        record_id: encounter,
        query: { ...request },
      });
      return { body };
    },
  };
}

/** `GET /integration/encounters/{id}/documents/{documentId}`: the bytes, also those of another version or moment. */
export function downloadEndpoint({ eventLog, documentStore }: DocumentPorts): Endpoint {
  return {
    route: documentRoute,
    permission: 'read',
    query: momentQuerySchema,
    subject: documentSubject,
    async handle(exchange) {
      const caller = callerOf(exchange);
      const [encounter, id] = [encounterId(exchange.req), documentId(exchange.req)];
      const { workspace } = caller;
      const at = requestedMoment(exchange.req);
      const name = { workspace, encounterId: encounter, documentId: id };
      const part: WantedPart = ({ size }, version) => requestedRange(exchange, size, `"${version}"`);
      const found = at
        ? await readContentAt({ eventLog, documentStore }, name, at.moment, part)
        : await readDocument(eventLog, documentStore, workspace, encounter, id, part);
      const { range, content } = found;
      const query = { ...at?.query, ...(range && { bytes: `${range.start}-${range.end}` }) };
      const read = {
        kind: 'document',
        record_id: encounter,
        document_id: id,
        ...(Object.keys(query).length > 0 && { query }),
      } as const;
      try {
        await recordAccess(eventLog, caller, { action: 'document.download', ...read });
      } catch (error) {
        content.destroy();
        throw error;
      }
      return { status: range ? 206 : 200, headers: fileHeaders(found), body: { stream: content } };
    },
  };
}

function fileHeaders({ document, version, range }: DocumentContent): Record<string, string> {
  const { format, filename, size, sha256 } = document;
  return {
    'Content-Type': documentFormats[format],
    'Content-Length': String(range ? range.end - range.start + 1 : size),
    ...(range && { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` }),
    'Accept-Ranges': 'bytes',
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeFilename(filename)}`,
    'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    ETag: `"${version}"`,
  };
}

/** RFC 8187 `ext-value`: what encodeURIComponent leaves alone beyond its attr-char is encoded too. */
function encodeFilename(filename: string): string {
  return encodeURIComponent(filename).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
}
