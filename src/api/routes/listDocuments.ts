import { z } from 'zod';
import { documentFieldsSchema, documentFormats } from '../../domain/records/document.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import type { DocumentPorts } from '../../modules/records/commands/uploadDocument.ts';
import { listDocuments as list } from '../../modules/records/queries/readDocument.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { listPageOf, timestamp, versionNumber } from '../schemas/answerSchemas.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { documentExample } from '../schemas/examples.ts';
import { pageQuerySchema, pageRequest } from '../schemas/parameters.ts';
import { callerOf } from '../server/exchange.ts';
import { collectionParams, documentCollection, documentSubject, encounterId } from './documentAddress.ts';
import { requireReadableEncounter } from './requireReadableEncounter.ts';

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

/** `GET /integration/encounters/{id}/documents`. */
export const listDocuments = endpoint({
  method: 'get',
  path: documentCollection,
  operationId: 'listDocuments',
  summary: 'List the documents of an encounter',
  description:
    'The documents of the encounter, in the order of their creation, with every write that was answered before the ' +
    'request.',
  tag: 'Documents',
  permission: onKind('read', 'document'),
  params: collectionParams,
  query: pageQuerySchema,
  answers: {
    200: {
      description: 'A page of documents.',
      schema: pageSchema,
      example: { items: [documentExample], next_page_token: null, unreadable: [] },
    },
  },
  errors: ['EncounterNotFound', 'Erased'],
  subject: documentSubject,
  handler: (ports: DocumentPorts & QueryPorts) => async (exchange) => {
    const caller = callerOf(exchange);
    const encounter = encounterId(exchange.req);
    const request = pageRequest(exchange.req);
    await requireReadableEncounter(ports, caller.workspace, encounter);
    const body = await list(ports, caller.workspace, encounter, request);
    await recordAccess(ports.eventLog, caller, {
      action: 'document.list',
      kind: 'document',
      record_id: encounter,
      query: { ...request },
    });
    return { body };
  },
});
