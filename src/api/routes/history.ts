import type { Request } from 'express';
import { z } from 'zod';
import { recordStream } from '../../domain/events/streams.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { documentEventTypes, documentFieldsSchema, documentFormats } from '../../domain/records/document.ts';
import { diffFields } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import type { CatalogEntry, RecordFields } from '../../domain/records/schema/kind.ts';
import { type AccessSubject, recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import type { RecordExistence } from '../../modules/records/commands/references.ts';
import { readDocumentHistory as readDocumentVersions } from '../../modules/records/queries/documents.ts';
import {
  type HistoryPorts,
  readRecordHistory as readRecordVersions,
} from '../../modules/records/queries/history.ts';
import { type QueryPorts, readRecord } from '../../modules/records/queries/records.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { documentExample, exampleRequestId, upsertRequests, viewExample } from '../schemas/examples.ts';
import {
  accessSubject,
  documentPath,
  notModifiedMark,
  pageQuerySchema,
  pageRequest,
  pathId,
  readConditions,
  recordPath,
  unchangedSince,
} from '../schemas/parameters.ts';
import { pageOf, principal, tagOf, timestamp, versionNumber, withArticle } from '../schemas/records.ts';
import { digestTag, isNotModified, unlessKnown } from '../server/conditions.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';

/** Path of an encounter's documents. */
export const documentCollection = `/integration/${encounter.plural}/{id}/documents`;
export const collectionParams = recordPath(encounter);
/** Path of one of them. */
export const documentMember = `${documentCollection}/{documentId}`;
export const documentParams = documentPath(encounter);

export const encounterId = (req: Request) => pathId(req, 'id', 'Encounter');
export const documentId = (req: Request) => pathId(req, 'documentId', 'Document');

/** Returns what a request to a document, or to all of an encounter, is about. */
export function documentSubject({ req: { params } }: RequestContext): AccessSubject {
  return accessSubject('document', params.id, params.documentId);
}

/** Rejects with `not_found` when the encounter does not exist, and with `gone` when it was erased. */
export async function requireReadableEncounter(
  ports: QueryPorts & { existence: RecordExistence },
  workspace: string,
  encounterId: string,
): Promise<void> {
  const missing = await ports.existence.missing([recordStream(workspace, 'encounter', encounterId)]);
  if (missing.size > 0) await readRecord(ports, workspace, catalogEntry('encounter'), encounterId);
}

/** What every version reports. */
const versionEntrySchema = z.object({
  version: versionNumber,
  event_id: z.uuid().meta({ description: 'Id of the event in the event log' }),
  type: z.string().meta({ description: 'Type of the event' }),
  recorded_at: timestamp('When the version was stored'),
  principal: principal('Who sent it'),
  client_ip: z.string().nullable().meta({ description: 'The client IP address that it was sent from' }),
  user_agent: z.string().nullable(),
  request_id: z.uuid().meta({ description: 'The `Request-Id` of the write' }),
  reverts: z
    .uuid()
    .optional()
    .meta({ description: 'Only for what an undo wrote: the id of the event that it undid' }),
  source: z
    .object({
      id: z.string().meta({ description: 'Id of the source' }),
      message: z.uuid().meta({ description: 'Id of the message, which is kept for a limited time' }),
      configuration: z
        .int()
        .optional()
        .meta({
          description:
            'Number of the source configuration that the message was reprocessed with; omitted if it was ' +
            'processed on arrival',
        }),
    })
    .optional()
    .meta({ description: 'The EMR message that it came from; omitted if it came in another way' }),
  reason: z
    .string()
    .optional()
    .meta({ description: 'Only for an erasure: why all versions before it were erased' }),
});

/** The sender of the versions in examples. */
export const exampleSender = {
  principal: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC', name: 'EMR nightly sync' },
  client_ip: '203.0.113.7',
  user_agent: 'emr-sync/2.4',
};

/** The `Request-Id` of the write before that of `exampleRequestId`. */
const exampleFirstRequestId = '019cebb0-9d1f-7b52-8e60-3a9c41d7f215';

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

const documentHistoryPageSchema = pageOf(documentVersionSchema).meta({
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
  headers: readConditions,
  answers: {
    200: {
      description: 'A page of versions.',
      headers: ['ETag'],
      schema: documentHistoryPageSchema,
      example,
    },
    304: unchangedSince,
  },
  errors: ['DocumentNotFound', 'NotThatVersion'],
  subject: documentSubject,
  handler: (ports: HistoryPorts & { documentStore: DocumentStore }) => async (context) => {
    const caller = callerOf(context);
    const request = pageRequest(context.req);
    const name = {
      workspace: caller.workspace,
      encounterId: encounterId(context.req),
      documentId: documentId(context.req),
    };
    const body = await readDocumentVersions(ports, name, request);
    const etag = digestTag(body);
    const isKnown = isNotModified(context, etag);
    await recordAccess(ports.eventLog, caller, {
      action: 'document.history',
      kind: 'document',
      record_id: name.encounterId,
      document_id: name.documentId,
      query: { ...request, ...notModifiedMark(isKnown) },
    });
    return unlessKnown(isKnown, { headers: { ETag: etag }, body });
  },
});

const fieldValue = z.union([z.string(), z.boolean(), z.null()]);

const fieldChangeSchema = z
  .object({
    field: z.string().meta({
      description: 'Name of the field, in dot notation if nested',
      examples: ['primary_insurance.policy_number'],
    }),
    from: fieldValue.meta({ description: '`null` if it had no value' }),
    to: fieldValue.meta({ description: '`null` if it no longer has a value' }),
  })
  .meta({ id: 'FieldChange', description: 'A field whose value was changed by a version.' });

const recordVersionSchema = versionEntrySchema
  .extend({
    outcome: z.enum(['created', 'updated', 'unchanged', 'erased']).meta({
      description:
        '`unchanged`: everything that was sent had the same value already; `erased`: all versions before ' +
        'it were permanently erased',
    }),
    changes: z.array(fieldChangeSchema).meta({ description: 'For the first version, all fields' }),
  })
  .meta({ id: 'RecordVersion', description: 'A version of a record: who sent it, and what it changed.' });

const recordHistoryPageSchema = pageOf(recordVersionSchema).meta({
  id: 'RecordHistoryPage',
  description: 'A page of the versions of a record, newest first.',
});

/** A record sent twice with its required fields. */
function exampleOf(entry: CatalogEntry) {
  const { created_at, updated_at } = viewExample(entry);
  const sent = upsertRequests(entry).minimal?.value as RecordFields;
  const by = (id: string) => ({ event_id: id, type: entry.eventType, ...exampleSender, request_id: id });
  const first = { version: 1, recorded_at: created_at, ...by(exampleFirstRequestId) };
  const second = { version: 2, recorded_at: updated_at, ...by(exampleRequestId) };
  return {
    items: [
      { ...second, outcome: 'unchanged', changes: [] },
      { ...first, outcome: 'created', changes: diffFields(undefined, sent) },
    ],
    next_page_token: null,
  };
}

/** `GET /integration/{kinds}/{id}/history`: every version, newest first. */
export function readRecordHistory(entry: CatalogEntry) {
  const { title, kind } = entry;
  return endpoint({
    method: 'get',
    path: `/integration/${entry.plural}/{id}/history`,
    operationId: `get${title}History`,
    summary: `Read the history of ${withArticle(kind)}`,
    description:
      `Every version of the ${kind}, newest first: who sent it, when, from where, and what it changed. ` +
      'Sending the same value again is not a change. Versions stored in the meantime do not affect paging.',
    tag: tagOf(entry),
    permission: onKind('read', kind),
    params: recordPath(entry),
    query: pageQuerySchema,
    headers: readConditions,
    answers: {
      200: {
        description: 'A page of versions.',
        headers: ['ETag'],
        schema: recordHistoryPageSchema,
        example: exampleOf(entry),
      },
      304: unchangedSince,
    },
    errors: ['RecordNotFound', 'NotThatVersion'],
    subject: ({ req }) => accessSubject(kind, req.params.id),
    handler: (ports: HistoryPorts) => async (context) => {
      const id = pathId(context.req, 'id', title);
      const caller = callerOf(context);
      const request = pageRequest(context.req);
      const body = await readRecordVersions(ports, caller.workspace, entry, id, request);
      const etag = digestTag(body);
      const isKnown = isNotModified(context, etag);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.history',
        kind,
        record_id: id,
        query: { ...request, ...notModifiedMark(isKnown) },
      });
      return unlessKnown(isKnown, { headers: { ETag: etag }, body });
    },
  });
}
