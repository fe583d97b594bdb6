import { z } from 'zod';
import type { CatalogEntry, RecordFields } from '../../records/catalog.ts';
import { diffFields } from '../../records/diff.ts';
import { documentFieldsSchema, documentFormats } from '../../records/document.ts';
import { encounter } from '../../records/kinds/encounter.ts';
import { pageQuerySchema } from '../endpoints/parameters.ts';
import { pageOf, principal, timestamp, versionNumber } from './answerSchemas.ts';
import { documentPath, recordPath } from './documentedParameters.ts';
import { documentExample, exampleRequestId, upsertRequests, viewExample } from './examples.ts';
import type { Operation } from './operation.ts';
import { json, tagOf } from './recordOperations.ts';

const versionEntry = z.object({
  version: versionNumber,
  event_id: z.uuid().meta({ description: 'Id of the event in the event log' }),
  type: z.string().meta({ description: 'Type of the event' }),
  recorded_at: timestamp('When the version was stored'),
  principal: principal('Who sent it'),
  client_ip: z.string().nullable().meta({ description: 'Where it came from' }),
  user_agent: z.string().nullable(),
  request_id: z.uuid().meta({ description: 'The `Request-Id` of the write' }),
});

const fieldChange = z
  .object({
    field: z.string().meta({
      description: 'Name of the field, dotted when nested',
      examples: ['primary_insurance.policy_number'],
    }),
    from: z.union([z.string(), z.boolean(), z.null()]).meta({ description: '`null` when it had no value' }),
    to: z
      .union([z.string(), z.boolean(), z.null()])
      .meta({ description: '`null` when it has none any more' }),
  })
  .meta({ id: 'FieldChange', description: 'A field whose value a version changed.' });

const recordVersion = versionEntry
  .extend({
    outcome: z
      .enum(['created', 'updated', 'unchanged'])
      .meta({ description: '`unchanged`: everything that was sent was so already' }),
    changes: z.array(fieldChange).meta({ description: 'All fields of the first version' }),
  })
  .meta({ id: 'RecordVersion', description: 'A version of a record: who sent it, and what it changed.' });

const recordHistoryPage = pageOf(recordVersion).meta({
  id: 'RecordHistoryPage',
  description: 'A page of the versions of a record, newest first.',
});

const documentVersion = versionEntry
  .extend({
    type: z.enum(['DocumentUploaded', 'DocumentRemoved']),
    category: documentFieldsSchema.shape.category.nullable(),
    filename: z.string().nullable().meta({ description: 'As it was sent' }),
    content_type: z.enum(Object.values(documentFormats)).nullable(),
    size: z.int().min(0).nullable().meta({ description: 'Bytes' }),
    sha256: z.hash('sha256').nullable().meta({ description: 'Digest of the file, lower-case hex' }),
    content_available: z
      .boolean()
      .meta({ description: 'Whether the file can still be downloaded, with `version`' }),
  })
  .meta({
    id: 'DocumentVersion',
    description: 'A version of a document. A removal has no file: what tells of the file is `null`.',
  });

const documentHistoryPage = pageOf(documentVersion).meta({
  id: 'DocumentHistoryPage',
  description: 'A page of the versions of a document, newest first.',
});

const sentBy = {
  principal: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC', name: 'EMR nightly sync' },
  client_ip: '203.0.113.7',
  user_agent: 'emr-sync/2.4',
};
const firstRequestId = '019cebb0-9d1f-7b52-8e60-3a9c41d7f215';

/** A record that was sent twice with its required fields. */
function recordExample(entry: CatalogEntry) {
  const { created_at, updated_at } = viewExample(entry);
  const sent = upsertRequests(entry).minimal?.value as RecordFields;
  const by = (id: string) => ({ event_id: id, type: entry.eventType, ...sentBy, request_id: id });
  const first = { version: 1, recorded_at: created_at, ...by(firstRequestId) };
  const second = { version: 2, recorded_at: updated_at, ...by(exampleRequestId) };
  return {
    items: [
      { ...second, outcome: 'unchanged', changes: [] },
      { ...first, outcome: 'created', changes: diffFields(undefined, sent) },
    ],
    next_page_token: null,
  };
}

/** `GET /integration/{kinds}/{id}/history`. */
export function recordHistoryOperation(entry: CatalogEntry): Operation {
  const { title, kind } = entry;
  return {
    method: 'get',
    path: `/integration/${entry.plural}/{id}/history`,
    operationId: `get${title}History`,
    summary: `Read the history of ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`,
    description:
      `Every version of the ${kind}, newest first: who sent it, when, from where, and what it changed. A value that ` +
      'was sent again as it was is no change. Versions that are stored meanwhile disturb no page.',
    tag: tagOf(entry),
    permission: 'read',
    request: { params: recordPath(entry), query: pageQuerySchema },
    ok: json('A page of versions.', recordHistoryPage, recordExample(entry)),
    errors: ['RecordNotFound'],
  };
}

const { document_id, version, created_at, updated_at, ...file } = documentExample;
const noFile = { category: null, filename: null, content_type: null, size: null, sha256: null };
const documentHistoryExample = {
  items: [
    {
      version: 2,
      recorded_at: '2026-03-14T16:05:12.480Z',
      event_id: exampleRequestId,
      type: 'DocumentRemoved',
      ...sentBy,
      request_id: exampleRequestId,
      ...noFile,
      content_available: false,
    },
    {
      version,
      recorded_at: created_at,
      event_id: firstRequestId,
      type: 'DocumentUploaded',
      ...sentBy,
      request_id: firstRequestId,
      ...file,
      content_available: true,
    },
  ],
  next_page_token: null,
};

/** `GET /integration/encounters/{id}/documents/{documentId}/history`. */
export const documentHistoryOperation: Operation = {
  method: 'get',
  path: `/integration/${encounter.plural}/{id}/documents/{documentId}/history`,
  operationId: 'getDocumentHistory',
  summary: 'Read the history of a document',
  description:
    'Every version of the document, newest first, also of one that was removed: who sent it, when, from where, and ' +
    'which file. Files that were replaced or removed are kept for the time of retention.',
  tag: 'Documents',
  permission: 'read',
  request: { params: documentPath(encounter), query: pageQuerySchema },
  ok: json('A page of versions.', documentHistoryPage, documentHistoryExample),
  errors: ['DocumentNotFound'],
};
