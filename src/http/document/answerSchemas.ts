import { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import { principalTypes } from '../../events/eventMetadata.ts';
import { catalog } from '../../records/catalog.ts';
import { documentFieldsSchema, documentFormats } from '../../records/document.ts';
import { statusOf } from '../server/errorAnswer.ts';

export const versionNumber = z
  .int()
  .min(1)
  .meta({ description: 'Place in the history: 1, 2, 3 …; also the `ETag`', examples: [1] });

/** A moment, as the service writes it. */
export function timestamp(description: string) {
  return z.iso.datetime().meta({ description, examples: ['2026-03-14T09:30:00.000Z'] });
}

/** Somebody who acted, by id and name. */
export function principal(description: string) {
  return z
    .object({
      type: z.enum(principalTypes),
      id: z.string(),
      name: z.string().nullable().meta({ description: "The key's or user's name; a deleted key keeps it" }),
    })
    .meta({ description });
}

/** A page of a list. */
export function pageOf(item: z.ZodType) {
  return z.object({
    items: z.array(item),
    next_page_token: z
      .string()
      .nullable()
      .meta({ description: 'Send it as `page_token` to read on; `null` on the last page' }),
  });
}

/** A page of what read models list. */
export function listPageOf(item: z.ZodType) {
  return pageOf(item).extend({
    unreadable: z.array(z.string()).meta({
      description:
        'Ids of what belongs on this page but is left out, because this version of the service cannot read an event of ' +
        'its history: a newer one wrote it, or its bytes were changed. Mostly empty',
    }),
  });
}

const fieldMessageSchema = z
  .object({
    field: z.string().meta({
      description: 'Name of the field, dotted when nested',
      examples: ['primary_insurance.payer_id'],
    }),
    message: z.string().meta({ description: 'What to fix; never the value', examples: ['is required'] }),
  })
  .meta({ id: 'FieldMessage', description: 'A complaint or remark about one field.' });

const errorDetailSchema = fieldMessageSchema
  .extend({
    kind: z
      .enum(catalog.map(({ kind }) => kind))
      .optional()
      .meta({ description: 'Of a reference to a record that does not exist: its kind', examples: ['payer'] }),
    id: z
      .string()
      .optional()
      .meta({ description: 'Of such a reference: the id that was sent', examples: ['payer-aetna'] }),
    code: z.literal('reference_not_found').optional().meta({ description: 'Of such a reference' }),
  })
  .meta({ id: 'ErrorDetail', description: 'A field at fault.' });

/** Body of every answer to a request that failed (spec section 7). */
export const errorSchema = z
  .object({
    error: z.string().meta({ description: 'What went wrong, for people' }),
    code: z
      .enum(Object.keys(statusOf) as [ErrorCode, ...ErrorCode[]])
      .meta({ description: 'What went wrong, for programs' }),
    details: z.array(errorDetailSchema).optional().meta({ description: 'The fields at fault' }),
    statusCode: z.literal(401).optional().meta({ description: 'With status 401' }),
    retryAfter: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'With status 429: seconds until requests are taken again' }),
    version: versionNumber
      .optional()
      .meta({ description: 'With status 412: the present version, if there is one' }),
    requestId: z.uuid().meta({ description: 'The `Request-Id`; quote it to the operators of the service' }),
  })
  .meta({ id: 'ErrorBody', description: 'A request that failed.' });

export const upsertedSchema = z
  .object({
    success: z.literal(true),
    message: z.string(),
    version: versionNumber,
    outcome: z.enum(['created', 'updated']),
    warnings: z.array(fieldMessageSchema).meta({
      description: 'Fields that were not stored, and values that were stored but that billing may refuse',
    }),
  })
  .meta({ id: 'Upserted', description: 'A record was stored.' });

const { document_id, category } = documentFieldsSchema.shape;

export const uploadSchema = documentFieldsSchema
  .extend({
    // Without a type: generated clients then take a file or its bytes here, not a text (OpenAPI 3.1.0, section 4.8.14.2).
    file: z.any().meta({
      format: 'binary',
      contentMediaType: 'application/octet-stream',
      description:
        'A PDF (`.pdf`) or DOCX (`.docx`) with its file name of at most 255 characters, at most 250 MB (262,144,000 bytes); told by name and content',
    }),
  })
  .required()
  .meta({ id: 'DocumentUpload', description: 'A document and its file. The parts may come in any order.' });

export const uploadedSchema = z
  .object({ success: z.literal(true), document_id, version: versionNumber })
  .meta({ id: 'DocumentUploaded', description: 'A document was stored.' });

export const removedSchema = z
  .object({ success: z.literal(true), message: z.string() })
  .meta({ id: 'DocumentRemoved', description: 'A document was removed.' });

const documentSchema = z
  .object({
    document_id,
    category,
    filename: z.string().meta({ description: 'As it was sent', examples: ['results.pdf'] }),
    content_type: z.enum(Object.values(documentFormats)),
    size: z.int().min(0).meta({ description: 'Bytes' }),
    sha256: z.hash('sha256').meta({ description: 'Digest of the file, lower-case hex' }),
    version: versionNumber,
    created_at: timestamp('When the document was first uploaded'),
    updated_at: timestamp('When its file was last replaced'),
  })
  .meta({ id: 'Document', description: 'A document of an encounter, without its file.' });

export const documentPageSchema = listPageOf(documentSchema).meta({
  id: 'DocumentPage',
  description: 'A page of the documents of an encounter.',
});

export const healthSchema = z
  .object({ status: z.literal('ok') })
  .meta({ id: 'Health', description: 'The process answers.' });

const storeState = z.enum(['ok', 'unavailable']);
const roleState = z.enum(['ready', 'unavailable']);

export const readinessSchema = z
  .object({
    status: roleState,
    roles: z
      .object({ api: roleState, projector: roleState, webhooks: roleState })
      .partial()
      .meta({ description: 'What each role of the process can do' }),
    degraded: z
      .array(z.enum(['event_log', 'read_models', 'state_store', 'document_store']))
      .meta({ description: 'Stores that are away, while the process is ready without them' }),
    event_log: storeState,
    read_models: storeState,
    state_store: storeState,
    document_store: storeState,
    projections: z
      .record(
        z.string(),
        z.object({
          position: z.int().meta({ description: 'Last position of the event log that it holds' }),
          behind: z.int().min(0).meta({ description: 'Positions of the event log still to come' }),
          parked: z.int().min(0).meta({ description: 'Events that it could not take' }),
        }),
      )
      .optional()
      .meta({ description: 'The read models by name' }),
    warnings: z
      .array(
        z.object({
          code: z.string().meta({ examples: ['clock_behind_log'] }),
          message: z.string().meta({ description: 'What is the matter, and what to do' }),
        }),
      )
      .meta({ description: 'What operators should see to, although requests are served; mostly empty' }),
  })
  .meta({ id: 'Readiness', description: 'Whether requests can be served, and the state of each store.' });

export const descriptionSchema = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.looseObject({}),
  })
  .meta({ id: 'OpenApi', description: 'This document.' });
