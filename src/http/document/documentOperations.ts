import { z } from 'zod';
import { documentFieldsSchema, documentFormats } from '../../records/document.ts';
import { encounter } from '../../records/kinds/encounter.ts';
import { momentQuerySchema, pageQuerySchema } from '../endpoints/parameters.ts';
import { documentPageSchema, removedSchema, uploadedSchema, uploadSchema } from './answerSchemas.ts';
import { conditionHeaders, documentPath, matchHeader, recordPath } from './documentedParameters.ts';
import { documentExample, exampleOf } from './examples.ts';
import { headerRefs } from './headers.ts';
import type { Operation } from './operation.ts';
import { json } from './recordOperations.ts';

const collection = `/integration/${encounter.plural}/{id}/documents`;
const member = `${collection}/{documentId}`;

const upload: Operation = {
  method: 'post',
  path: collection,
  operationId: 'uploadDocument',
  summary: 'Upload a document',
  description:
    'Attaches a document to the encounter, as a form with three parts. A document of the same `document_id` on ' +
    'the encounter is replaced.',
  tag: 'Documents',
  permission: 'write',
  request: {
    params: recordPath(encounter),
    headers: conditionHeaders,
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
  },
  ok: {
    ...json('The document is stored, durably.', uploadedSchema, {
      success: true,
      document_id: documentExample.document_id,
      version: 1,
    }),
    headers: ['ETag'],
  },
  errors: ['InvalidUpload', 'EncounterNotFound', 'VersionConflict', 'FileTooLarge', 'NotMultipart'],
};

const list: Operation = {
  method: 'get',
  path: collection,
  operationId: 'listDocuments',
  summary: 'List the documents of an encounter',
  description:
    'The documents of the encounter, in the order of their creation, with every write that was answered before the ' +
    'request.',
  tag: 'Documents',
  permission: 'read',
  request: { params: recordPath(encounter), query: pageQuerySchema },
  ok: json('A page of documents.', documentPageSchema, {
    items: [documentExample],
    next_page_token: null,
    unreadable: [],
  }),
  errors: ['EncounterNotFound'],
};

const file = { schema: { type: 'string', format: 'binary' } } as const;
const files = Object.fromEntries(Object.values(documentFormats).map((type) => [type, file]));
const fileHeaders = [
  'ETag',
  'Content-Disposition',
  'Content-Length',
  'Accept-Ranges',
  'Repr-Digest',
] as const;

const rangeHeaders = z.object({
  Range: z
    .string()
    .optional()
    .meta({
      description: 'One part of the file, in bytes; several are not sent',
      examples: ['bytes=0-1023'],
    }),
  'If-Range': z
    .string()
    .optional()
    .meta({
      description: 'The `ETag` of the parts before: the whole file when it has changed',
      examples: ['"1"'],
    }),
});

const download: Operation = {
  method: 'get',
  path: member,
  operationId: 'downloadDocument',
  summary: 'Download a document',
  description:
    'The latest file of the document, or an earlier one: that of `version`, or the one that stood at the moment ' +
    '`as_of`, also of a document that was removed since. Files that were replaced or removed are kept for the time ' +
    'of retention.',
  tag: 'Documents',
  permission: 'read',
  request: { params: documentPath(encounter), query: momentQuerySchema, headers: rangeHeaders },
  ok: {
    description: 'The file.',
    headers: [...fileHeaders],
    content: files,
  },
  responses: {
    206: {
      description:
        'The part of the file that `Range` asks for. It is not compared with the digest, as the whole is.',
      headers: headerRefs('Request-Id', ...fileHeaders, 'Content-Range', 'RateLimit-Policy', 'RateLimit'),
      content: files,
    },
  },
  errors: ['DocumentNotFound', 'RangeNotSatisfiable'],
};

const remove: Operation = {
  method: 'delete',
  path: member,
  operationId: 'deleteDocument',
  summary: 'Remove a document',
  description: 'From now on nobody can read the document. Its history stays.',
  tag: 'Documents',
  permission: 'write',
  request: { params: documentPath(encounter), headers: matchHeader },
  ok: json('The document is removed.', removedSchema, { success: true, message: 'Document removed' }),
  errors: ['DocumentNotFound', 'VersionConflict'],
};

/** The operations on the documents of encounters. */
export const documentOperations: readonly Operation[] = [upload, list, download, remove];
