import type { Request } from 'express';
import { removeDocument } from '../../commands/removeDocument.ts';
import {
  type DocumentPorts,
  receiveFile,
  requireEncounter,
  uploadDocument,
} from '../../commands/uploadDocument.ts';
import { listDocuments, readDocument } from '../../queries/readDocument.ts';
import type { QueryPorts } from '../../queries/readRecord.ts';
import { documentFormats } from '../../records/document.ts';
import type { Endpoint } from '../endpoint.ts';
import { callerOf } from '../exchange.ts';
import { readMultipart } from '../readMultipart.ts';
import { pageRequest, pathId } from './parameters.ts';

const collection = '/integration/encounters/:id/documents';
const member = `${collection}/:documentId`;

const encounterId = (req: Request) => pathId(req, 'id', 'Encounter');
const documentId = (req: Request) => pathId(req, 'documentId', 'Document');

/** `POST /integration/encounters/{id}/documents` (spec 4.6). */
export function uploadEndpoint(ports: DocumentPorts): Endpoint {
  return {
    route: collection,
    access: 'write',
    async handle(exchange) {
      const caller = callerOf(exchange);
      const encounter = encounterId(exchange.req);
      await requireEncounter(ports.existence, caller.workspace, encounter);
      const { fields, file } = await readMultipart(
        exchange.req,
        (filename, source) => receiveFile(ports.documentStore, filename, source),
        ({ objectId }) => ports.documentStore.discard(objectId),
      );
      const uploaded = await uploadDocument(ports, caller, encounter, fields, file);
      const { documentId: document_id, version } = uploaded;
      return { headers: { ETag: `"${version}"` }, body: { success: true, document_id, version } };
    },
  };
}

/** `DELETE /integration/encounters/{id}/documents/{documentId}` (spec 4.7). */
export function removeEndpoint({ eventLog, existence }: DocumentPorts): Endpoint {
  return {
    route: member,
    access: 'write',
    async handle(exchange) {
      const caller = callerOf(exchange);
      const encounter = encounterId(exchange.req);
      await requireEncounter(existence, caller.workspace, encounter);
      await removeDocument(eventLog, caller, encounter, documentId(exchange.req));
      return { body: { success: true, message: 'Document removed' } };
    },
  };
}

/** `GET /integration/encounters/{id}/documents`. */
export function listDocumentsEndpoint(ports: DocumentPorts & QueryPorts): Endpoint {
  return {
    route: collection,
    access: 'read',
    async handle(exchange) {
      const { workspace } = callerOf(exchange);
      const encounter = encounterId(exchange.req);
      const request = pageRequest(exchange.req);
      await requireEncounter(ports.existence, workspace, encounter);
      return { body: await listDocuments(ports, workspace, encounter, request) };
    },
  };
}

/** `GET /integration/encounters/{id}/documents/{documentId}`: the bytes. */
export function downloadEndpoint({ eventLog, documentStore }: DocumentPorts): Endpoint {
  return {
    route: member,
    access: 'read',
    async handle(exchange) {
      const { workspace } = callerOf(exchange);
      const [encounter, id] = [encounterId(exchange.req), documentId(exchange.req)];
      const { document, version, content } = await readDocument(
        eventLog,
        documentStore,
        workspace,
        encounter,
        id,
      );
      return {
        headers: {
          'Content-Type': documentFormats[document.format],
          'Content-Length': String(document.size),
          'Content-Disposition': `attachment; filename*=UTF-8''${encodeFilename(document.filename)}`,
          'Repr-Digest': `sha-256=:${Buffer.from(document.sha256, 'hex').toString('base64')}:`,
          ETag: `"${version}"`,
        },
        body: { stream: content },
      };
    },
  };
}

/** RFC 8187 `ext-value`: what encodeURIComponent leaves alone beyond its attr-char is encoded too. */
function encodeFilename(filename: string): string {
  return encodeURIComponent(filename).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
}
