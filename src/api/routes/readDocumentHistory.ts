import { z } from 'zod';
import { documentEventTypes, documentFieldsSchema, documentFormats } from '../../domain/records/document.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { readDocumentHistory as readHistory } from '../../modules/records/queries/documentHistory.ts';
import type { HistoryPorts } from '../../modules/records/queries/versionPage.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { pageOf } from '../schemas/answerSchemas.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { documentExample, exampleRequestId } from '../schemas/examples.ts';
import { pageQuerySchema, pageRequest } from '../schemas/parameters.ts';
import { callerOf } from '../server/exchange.ts';
import {
  documentId,
  documentMember,
  documentParams,
  documentSubject,
  encounterId,
} from './documentAddress.ts';
import { exampleFirstRequestId, exampleSender, versionEntrySchema } from './versionSchemas.ts';

const documentVersionSchema = versionEntrySchema
  .extend({
    type: z.enum(documentEventTypes),
    category: documentFieldsSchema.shape.category.nullable(),
    filename: z.string().nullable().meta({ description: 'As sent' }),
    content_type: z.enum(Object.values(documentFormats)).nullable(),
    size: z.int().min(0).nullable().meta({ description: 'Bytes' }),
    sha256: z.hash('sha256').nullable().meta({ description: 'Digest of the file, lowercase hex' }),
    content_available: z
      .boolean()
      .meta({ description: 'Whether the file can still be downloaded, using `version`' }),
  })
  .meta({
    id: 'DocumentVersion',
    description: 'A version of a document. Removals and erasures have no file: their file fields are `null`.',
  });

const pageSchema = pageOf(documentVersionSchema).meta({
  id: 'DocumentHistoryPage',
  description: 'A page of the versions of a document, newest first.',
});

const { document_id, version, created_at, updated_at, ...file } = documentExample;
const noFile = { category: null, filename: null, content_type: null, size: null, sha256: null };
const example = {
  items: [
    {
      version: 2,
      recorded_at: '2026-03-14T16:05:12.480Z',
      event_id: exampleRequestId,
      type: 'DocumentRemoved',
      ...exampleSender,
      request_id: exampleRequestId,
      ...noFile,
      content_available: false,
    },
    {
      version,
      recorded_at: created_at,
      event_id: exampleFirstRequestId,
      type: 'DocumentUploaded',
      ...exampleSender,
      request_id: exampleFirstRequestId,
      ...file,
      content_available: true,
    },
  ],
  next_page_token: null,
};

/** `GET /integration/encounters/{id}/documents/{documentId}/history`: every version, newest first. */
export const readDocumentHistory = endpoint({
  method: 'get',
  path: `${documentMember}/history`,
  operationId: 'getDocumentHistory',
  summary: 'Read the history of a document',
  description:
    'Every version of the document, newest first, even if it was removed: who sent it, when, from where, ' +
    'and which file. Replaced and removed files are kept for the retention period.',
  tag: 'Documents',
  permission: onKind('read', 'document'),
  params: documentParams,
  query: pageQuerySchema,
  answers: { 200: { description: 'A page of versions.', schema: pageSchema, example } },
  errors: ['DocumentNotFound'],
  subject: documentSubject,
  handler: (ports: HistoryPorts & { documentStore: DocumentStore }) => async (exchange) => {
    const caller = callerOf(exchange);
    const request = pageRequest(exchange.req);
    const name = {
      workspace: caller.workspace,
      encounterId: encounterId(exchange.req),
      documentId: documentId(exchange.req),
    };
    const body = await readHistory(ports, name, request);
    await recordAccess(ports.eventLog, caller, {
      action: 'document.history',
      kind: 'document',
      record_id: name.encounterId,
      document_id: name.documentId,
      query: { ...request },
    });
    return { body };
  },
});
