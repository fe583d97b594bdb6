import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Caller } from '../../domain/events/newEvent.ts';
import {
  documentFieldsSchema,
  documentFormats,
  type PresentDocument,
} from '../../domain/records/document.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { StoredResponse } from '../../modules/idempotency/reservations.ts';
import {
  type DocumentPorts,
  type ReceivedFile,
  receiveFile,
  removeDocument,
  requireEncounter,
  uploadDocument as upload,
} from '../../modules/records/commands/documents.ts';
import {
  findDocument,
  listDocuments as list,
  readContent,
  readDocumentAt,
} from '../../modules/records/queries/documents.ts';
import { listDocumentsAsOf } from '../../modules/records/queries/listsAsOf.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import type { ByteRange } from '../../storage/documentStore.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { documentExample, exampleOf } from '../schemas/examples.ts';
import {
  asOfQuerySchema,
  conditionHeaders,
  matchHeader,
  momentQuerySchema,
  notModifiedMark,
  pageQuerySchema,
  readConditions,
  requestedAsOf,
  requestedMoment,
  unchangedSince,
  withPlus,
  writeCondition,
} from '../schemas/parameters.ts';
import {
  alwaysTrue,
  doneAnswer,
  fieldMessageSchema,
  listPageOf,
  timestamp,
  versionNumber,
} from '../schemas/records.ts';
import { isNotModified } from '../server/conditions.ts';
import {
  type IdempotencyPorts,
  idempotencyKey,
  payloadOf,
  replay,
  reserve,
  runReserved,
  withOptionalIdempotency,
} from '../server/idempotency.ts';
import { incompleteForm, type Multipart, readMultipart } from '../server/multipart.ts';
import { callerOf, type RequestContext, requestedRange } from '../server/requestContext.ts';
import {
  collectionParams,
  documentCollection,
  documentId,
  documentMember,
  documentParams,
  documentSubject,
  encounterId,
  requireReadableEncounter,
} from './history.ts';

const removed = doneAnswer(
  'The document is removed.',
  { id: 'DocumentRemoved', description: 'A document was removed.' },
  'Document removed',
);

/** `DELETE /integration/encounters/{id}/documents/{documentId}` (spec 4.7). */
const deleteDocument = endpoint({
  method: 'delete',
  path: documentMember,
  operationId: 'deleteDocument',
  summary: 'Remove a document',
  description: 'The document can no longer be read. Its history is kept.',
  tag: 'Documents',
  permission: onKind('write', 'document'),
  params: documentParams,
  headers: matchHeader,
  takesIdempotencyKey: true,
  answers: { 200: removed },
  errors: ['DocumentNotFound', 'ErasedSince', 'VersionConflict'],
  subject: documentSubject,
  handler:
    ({ eventLog, existence, reservations }: DocumentPorts & IdempotencyPorts) =>
    async (context) => {
      const encounter = encounterId(context.req);
      const condition = writeCondition(context.req);
      await withOptionalIdempotency({ reservations }, context, undefined, async (caller) => {
        await requireEncounter(existence, caller.workspace, encounter);
        await removeDocument(eventLog, caller, encounter, documentId(context.req), condition);
      });
      return { body: removed.example };
    },
});

const file = { schema: bytesSchema };
const files = Object.fromEntries(Object.values(documentFormats).map((type) => [type, file]));
const fileHeaders = [
  'ETag',
  'Content-Disposition',
  'Content-Length',
  'Accept-Ranges',
  'Repr-Digest',
] as const;

const rangeHeaders = readConditions.extend({
  Range: z
    .string()
    .optional()
    .meta({
      description: 'One part of the file, in bytes; multiple ranges are not supported',
      examples: ['bytes=0-1023'],
    }),
  'If-Range': z
    .string()
    .optional()
    .meta({
      description: 'The `ETag` of the parts received so far: if it has changed, the whole file is sent',
      examples: ['"1"'],
    }),
});

/** `GET /integration/encounters/{id}/documents/{documentId}`: the bytes, also those of another version or moment. */
const downloadDocument = endpoint({
  method: 'get',
  path: documentMember,
  operationId: 'downloadDocument',
  summary: 'Download a document',
  description:
    'The latest file of the document, or an earlier one: the one given by `version`, or the one current ' +
    'at the time `as_of`, even if the document has been removed since. Replaced and removed files are ' +
    'kept for the retention period.',
  tag: 'Documents',
  permission: onKind('read', 'document'),
  params: documentParams,
  query: momentQuerySchema,
  headers: rangeHeaders,
  answers: {
    200: { description: 'The file.', headers: fileHeaders, stream: files },
    206: {
      description:
        'The part of the file requested by `Range`. Unlike the whole file, it is not compared with the ' +
        'digest.',
      headers: [...fileHeaders, 'Content-Range'],
      stream: files,
    },
    304: unchangedSince,
  },
  errors: ['DocumentNotFound', 'Erased', 'NotThatVersion', 'RangeNotSatisfiable'],
  subject: documentSubject,
  handler:
    ({ eventLog, documentStore }: DocumentPorts) =>
    async (context) => {
      const caller = callerOf(context);
      const [encounter, id] = [encounterId(context.req), documentId(context.req)];
      const { workspace } = caller;
      const at = requestedMoment(context.req);
      const name = { workspace, encounterId: encounter, documentId: id };
      const found = at ? await readDocumentAt(eventLog, name, at.moment) : await findDocument(eventLog, name);
      const { document, version } = found;
      const etag = `"${version}"`;
      const isKnown = isNotModified(context, etag);
      const range = isKnown ? undefined : requestedRange(context, document.size, etag);
      const content = isKnown ? undefined : await readContent(documentStore, document, range);
      const query = {
        ...at?.query,
        ...(range && { bytes: `${range.start}-${range.end}` }),
        ...notModifiedMark(isKnown),
      };
      const read = {
        kind: 'document',
        record_id: encounter,
        document_id: id,
        ...(Object.keys(query).length > 0 && { query }),
      } as const;
      try {
        await recordAccess(eventLog, caller, { action: 'document.download', ...read });
      } catch (error) {
        content?.destroy();
        throw error;
      }
      if (content === undefined) return { status: 304, headers: { ETag: etag }, body: nothing };
      return { status: range ? 206 : 200, headers: headersOf(found, range), body: { stream: content } };
    },
});

/** A response without a body, nor headers about one. */
const nothing = { send: async () => undefined };

function headersOf(
  { document, version }: Pick<PresentDocument, 'document' | 'version'>,
  range: ByteRange | undefined,
): Record<string, string> {
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

/** Returns an RFC 8187 `ext-value`: what encodeURIComponent leaves alone beyond `attr-char` is encoded too. */
function encodeFilename(filename: string): string {
  return encodeURIComponent(filename).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
}

const { document_id, category } = documentFieldsSchema.shape;

const documentSchema = z
  .object({
    document_id,
    category,
    filename: z.string().meta({ description: 'As sent', examples: ['results.pdf'] }),
    content_type: z.enum(Object.values(documentFormats)),
    size: z.int().min(0).meta({ description: 'Bytes' }),
    sha256: z.hash('sha256').meta({ description: 'Digest of the file, lowercase hex' }),
    version: versionNumber,
    created_at: timestamp('When the document was first uploaded'),
    updated_at: timestamp('When its file was last replaced'),
  })
  .meta({ id: 'Document', description: 'A document of an encounter, without its file.' });

const pageSchema = listPageOf(documentSchema).meta({
  id: 'DocumentPage',
  description: 'A page of the documents of an encounter.',
});

const listQuerySchema = pageQuerySchema.extend(asOfQuerySchema.shape);

/** `GET /integration/encounters/{id}/documents`. */
const listDocuments = endpoint({
  method: 'get',
  path: documentCollection,
  operationId: 'listDocuments',
  summary: 'List the documents of an encounter',
  description:
    'The documents of the encounter, in the order of their creation, with every write that was answered before the ' +
    'request; with `as_of`, as of that time, including those that have been removed since.',
  tag: 'Documents',
  permission: onKind('read', 'document'),
  params: collectionParams,
  query: listQuerySchema,
  answers: {
    200: {
      description: 'A page of documents.',
      schema: pageSchema,
      example: { items: [documentExample], next_page_token: null, unreadable: [] },
    },
  },
  errors: ['EncounterNotFound', 'Erased'],
  subject: documentSubject,
  handler: (ports: DocumentPorts & QueryPorts) => async (context) => {
    const caller = callerOf(context);
    const encounter = encounterId(context.req);
    const { limit, page_token: pageToken, as_of } = validate(listQuerySchema, withPlus(context.req, 'as_of'));
    const request = { limit, pageToken };
    const asOf = requestedAsOf(as_of);
    await requireReadableEncounter(ports, caller.workspace, encounter);
    const body = await (asOf === undefined
      ? list(ports, caller.workspace, encounter, request)
      : listDocumentsAsOf(ports, caller.workspace, encounter, { ...request, asOf }));
    await recordAccess(ports.eventLog, caller, {
      action: 'document.list',
      kind: 'document',
      record_id: encounter,
      query: { ...request, as_of },
    });
    return { body };
  },
});

/** How an upload is read, with its file going into the store, and how it is written. */
interface UploadSteps<Result> {
  read(): Promise<Multipart<ReceivedFile>>;
  write(caller: Caller, form: Multipart<ReceivedFile>): Promise<Result>;
  discard(file: ReceivedFile): Promise<void>;
}

/**
 * Resolves with the result of the first upload with that `Idempotency-Key` (see `once`). What a form says is known
 * only once it has been read: a repeat's file is digested as it arrives, and is not stored.
 */
async function uploadOnce<Result>(
  ports: IdempotencyPorts,
  context: RequestContext,
  key: string,
  { read, write, discard }: UploadSteps<Result>,
): Promise<Result> {
  const reserved = await reserve(ports, context, key);
  if (reserved instanceof StoredResponse) {
    const form = await readMultipart(context, digestFile, async () => undefined);
    return replay<Result>(context, reserved, payloadOfForm(context, form));
  }
  return runReserved(context, reserved, async (caller) => {
    const form = await read();
    try {
      await reserved.bind(payloadOfForm(context, form));
    } catch (error) {
      if (form.file) await discard(form.file);
      throw error;
    }
    return write(caller, form);
  });
}

type DigestedFile = Pick<ReceivedFile, 'filename' | 'sha256'>;

async function digestFile(filename: string, source: Readable): Promise<DigestedFile> {
  const hash = createHash('sha256');
  for await (const chunk of source) hash.update(chunk);
  return { filename, sha256: hash.digest('hex') };
}

function payloadOfForm({ req }: RequestContext, { fields, file }: Multipart<DigestedFile>): object {
  return payloadOf(req, { ...fields, file: file && [file.filename, file.sha256] });
}

const uploadSchema = documentFieldsSchema
  .extend({
    // As OpenAPI 3.0 describes a file: most generators know no other way.
    file: z.any().meta({
      type: 'string',
      format: 'binary',
      description:
        'A PDF (`.pdf`) or DOCX (`.docx`) with a file name of at most 255 characters, at most 250 MB ' +
        '(262,144,000 bytes); recognized by name and content',
    }),
  })
  .required()
  .meta({ id: 'DocumentUpload', description: 'A document and its file. The parts may come in any order.' });

const uploadedSchema = z
  .object({
    success: alwaysTrue(),
    document_id: documentFieldsSchema.shape.document_id,
    version: versionNumber,
    warnings: z.array(fieldMessageSchema).meta({ description: 'Fields of the form that were not stored' }),
  })
  .meta({ id: 'DocumentUploaded', description: 'A document was stored.' });

/** `POST /integration/encounters/{id}/documents` (spec 4.6). */
const uploadDocument = endpoint({
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
      example: { success: true, document_id: documentExample.document_id, version: 1, warnings: [] },
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
  handler: (ports: DocumentPorts & IdempotencyPorts) => async (context) => {
    const caller = callerOf(context);
    const encounter = encounterId(context.req);
    const condition = writeCondition(context.req);
    const key = idempotencyKey(context.req);
    const discard = ({ objectId }: ReceivedFile) => ports.documentStore.discard(objectId);
    const read = async () => {
      await requireEncounter(ports.existence, caller.workspace, encounter);
      const left = new AbortController();
      context.res.once('close', () => left.abort(incompleteForm()));
      const receive = (filename: string, source: Readable) =>
        receiveFile(ports.documentStore, filename, source, left.signal);
      return readMultipart(context, receive, discard);
    };
    const write = (by: Caller, form: Multipart<ReceivedFile>) =>
      upload(ports, by, encounter, form, condition);
    const uploaded =
      key === undefined
        ? await write(caller, await read())
        : await uploadOnce(ports, context, key, { read, write, discard });
    // The result of a repeated request may be that of an earlier release.
    const { documentId: document_id, version, warnings = [] } = uploaded;
    return { headers: { ETag: `"${version}"` }, body: { success: true, document_id, version, warnings } };
  },
});

/** The endpoints of encounters' documents. */
export const documentEndpoints = [uploadDocument, listDocuments, downloadDocument, deleteDocument];
