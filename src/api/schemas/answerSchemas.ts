import { z } from 'zod';
import { principalTypes } from '../../domain/events/eventMetadata.ts';
import { catalog } from '../../domain/records/catalog.ts';
import type { ErrorCode } from '../../platform/errors.ts';
import { statusOf } from '../server/errorAnswer.ts';

export const versionNumber = z
  .int()
  .min(1)
  .meta({ description: 'Number in the history: 1, 2, 3 …; also the `ETag`', examples: [1] });

/** Returns the schema of a moment, as the service writes it. */
export function timestamp(description: string) {
  return z.iso.datetime().meta({ description, examples: ['2026-03-14T09:30:00.000Z'] });
}

/** Returns the schema of a principal, by id and name. */
export function principal(description: string) {
  return z
    .object({
      type: z.enum(principalTypes),
      id: z.string(),
      name: z.string().nullable().meta({ description: 'Name of the key or user; kept after deletion' }),
    })
    .meta({ description });
}

/** Returns the schema of a page of a list. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next_page_token: z
      .string()
      .nullable()
      .meta({ description: 'Pass it as `page_token` to get the next page; `null` on the last page' }),
  });
}

/** Returns the schema of a page listed from read models. */
export function listPageOf<Item extends z.ZodType>(item: Item) {
  return pageOf(item).extend({
    unreadable: z.array(z.string()).meta({
      description:
        'Ids of items omitted from this page because this version of the service cannot read an event in ' +
        'their history: a newer version wrote it, or its bytes were changed. Usually empty',
    }),
  });
}

/** `FieldMessage`. */
export const fieldMessageSchema = z
  .object({
    field: z.string().meta({
      description: 'Name of the field, in dot notation if nested',
      examples: ['primary_insurance.payer_id'],
    }),
    message: z.string().meta({ description: 'What to fix; never the value', examples: ['is required'] }),
  })
  .meta({ id: 'FieldMessage', description: 'An error or warning about one field.' });

const errorDetailSchema = fieldMessageSchema
  .extend({
    kind: z
      .enum(catalog.map(({ kind }) => kind))
      .optional()
      .meta({ description: 'Kind of the referenced record that does not exist', examples: ['payer'] }),
    id: z
      .string()
      .optional()
      .meta({ description: 'Id of that record, as sent', examples: ['payer-aetna'] }),
    code: z.literal('reference_not_found').optional().meta({ description: 'For a missing reference' }),
  })
  .meta({ id: 'ErrorDetail', description: 'A field at fault.' });

/** Body of every error response (spec section 7). */
export const errorSchema = z
  .object({
    error: z.string().meta({ description: 'What went wrong, for humans' }),
    code: z
      .enum(Object.keys(statusOf) as [ErrorCode, ...ErrorCode[]])
      .meta({ description: 'What went wrong, for programs' }),
    details: z.array(errorDetailSchema).optional().meta({ description: 'The fields at fault' }),
    statusCode: z.literal(401).optional().meta({ description: 'With status 401' }),
    retryAfter: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'With status 429: seconds until requests are accepted again' }),
    version: versionNumber
      .optional()
      .meta({ description: 'With status 412: the current version, if there is one' }),
    erased_at: timestamp('With `gone`: when it was erased').optional(),
    last_position: z.string().optional().meta({
      description: 'With `position_gone`: the last position in the log before the one that was sent',
    }),
    requestId: z.uuid().meta({ description: 'The `Request-Id`; quote it when contacting the operators' }),
  })
  .meta({ id: 'ErrorBody', description: 'A request that failed.' });
