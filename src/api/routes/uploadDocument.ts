import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Caller } from '../../domain/events/newEvent.ts';
import { documentFieldsSchema, documentFormats } from '../../domain/records/document.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import {
  type DocumentPorts,
  type ReceivedFile,
  receiveFile,
  requireEncounter,
  uploadDocument as upload,
} from '../../modules/records/commands/uploadDocument.ts';
import { versionNumber } from '../schemas/answerSchemas.ts';
import { conditionHeaders } from '../schemas/documentedParameters.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { documentExample, exampleOf } from '../schemas/examples.ts';
import { writeCondition } from '../schemas/parameters.ts';
import { callerOf } from '../server/exchange.ts';
import { idempotencyKey } from '../server/idempotencyKey.ts';
import type { IdempotencyPorts } from '../server/once.ts';
import { brokenForm, type Multipart, readMultipart } from '../server/readMultipart.ts';
import { collectionParams, documentCollection, documentSubject, encounterId } from './documentAddress.ts';
import { uploadOnce } from './uploadOnce.ts';

const uploadSchema = documentFieldsSchema
  .extend({
    // No type, so that generated clients take a file or its bytes here rather than text (OpenAPI 3.1.0, section
    // 4.8.14.2).
    file: z.any().meta({
      format: 'binary',
      contentMediaType: 'application/octet-stream',
      description:
        'A PDF (`.pdf`) or DOCX (`.docx`) with a file name of at most 255 characters, at most 250 MB ' +
        '(262,144,000 bytes); recognized by name and content',
    }),
  })
  .required()
  .meta({ id: 'DocumentUpload', description: 'A document and its file. The parts may come in any order.' });

const uploadedSchema = z
  .object({
    success: z.literal(true),
    document_id: documentFieldsSchema.shape.document_id,
    version: versionNumber,
  })
  .meta({ id: 'DocumentUploaded', description: 'A document was stored.' });

/** `POST /integration/encounters/{id}/documents` (spec 4.6). */
export const uploadDocument = endpoint({
  method: 'post',
  path: documentCollection,
  operationId: 'uploadDocument',
  summary: 'Upload a document',
  description:
    'Attaches a document to the encounter, as a form with three parts. Replaces a document with the same ' +
    '`document_id` on the encounter.',
  tag: 'Documents',
  permission: onKind('write', 'document'),
  params: collectionParams,
  headers: conditionHeaders,
  takesIdempotencyKey: true,
  body: {
    required: true,
    content: {
      'multipart/form-data': {
        schema: uploadSchema,
        encoding: { file: { contentType: Object.values(documentFormats).join(', ') } },
        examples: {
          pdf: {
            summary: 'A PDF, sent with the file name results.pdf',
            value: {
              ...(exampleOf(documentFieldsSchema) as object),
              file: '%PDF-1.7\n% the rest of the file\n%%EOF\n',
            },
          },
        },
      },
    },
  },
  answers: {
    200: {
      description: 'The document is durably stored.',
      headers: ['ETag'],
      schema: uploadedSchema,
      example: { success: true, document_id: documentExample.document_id, version: 1 },
    },
  },
  errors: [
    'InvalidUpload',
    'EncounterNotFound',
    'ErasedSince',
    'VersionConflict',
    'FileTooLarge',
    'NotMultipart',
  ],
  subject: documentSubject,
  handler: (ports: DocumentPorts & IdempotencyPorts) => async (exchange) => {
    const caller = callerOf(exchange);
    const encounter = encounterId(exchange.req);
    const condition = writeCondition(exchange.req);
    const key = idempotencyKey(exchange.req);
    const discard = ({ objectId }: ReceivedFile) => ports.documentStore.discard(objectId);
    const read = async () => {
      await requireEncounter(ports.existence, caller.workspace, encounter);
      const left = new AbortController();
      exchange.res.once('close', () => left.abort(brokenForm()));
      const receive = (filename: string, source: Readable) =>
        receiveFile(ports.documentStore, filename, source, left.signal);
      return readMultipart(exchange, receive, discard);
    };
    const write = (by: Caller, form: Multipart<ReceivedFile>) =>
      upload(ports, by, encounter, form, condition);
    const uploaded =
      key === undefined
        ? await write(caller, await read())
        : await uploadOnce(ports, exchange, key, { read, write, discard });
    const { documentId: document_id, version } = uploaded;
    return { headers: { ETag: `"${version}"` }, body: { success: true, document_id, version } };
  },
});
