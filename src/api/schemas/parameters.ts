import type { Request } from 'express';
import { z } from 'zod';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import { identifier, requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import type { AccessSubject } from '../../modules/audit/recordAccess.ts';
import { eventViews, feedEventTypes, unchangedEvents } from '../../modules/eventStream/cloudEvents.ts';
import { consumerName } from '../../modules/eventStream/consumers.ts';
import { parsePosition } from '../../modules/eventStream/position.ts';
import type { WriteCondition } from '../../modules/records/commands/upsert.ts';
import type { Moment } from '../../modules/records/queries/history.ts';
import type { PageRequest } from '../../modules/records/queries/paging.ts';
import { type AttemptFilter, attemptOutcomes } from '../../modules/webhooks/attempts.ts';
import { notFound, type ServiceError } from '../../platform/errors.ts';
import { NDJSON } from '../server/answer.ts';
import { exampleOf } from './examples.ts';

const DEFAULT_LIMIT = 100;
const WHOLE_NUMBER = /^-?\d{1,15}$/;

/**
 * Returns the schema of a whole number in a query, in decimal digits: other notations, such as `1e2`, are rejected.
 */
export function wholeNumber(least: number, most?: number) {
  const bounded = z.int({ error: 'must be a whole number' }).min(least, {
    error: `must be at least ${least}`,
  });
  return z.preprocess(
    (sent) => (typeof sent === 'string' && WHOLE_NUMBER.test(sent) ? Number(sent) : sent),
    most === undefined ? bounded : bounded.max(most, { error: `must be at most ${most}` }),
  );
}

/** Query of every list. */
export const pageQuerySchema = z.object({
  limit: wholeNumber(1, 1000)
    .default(DEFAULT_LIMIT)
    .meta({ description: 'Items per page, 1 to 1,000', examples: [DEFAULT_LIMIT] }),
  page_token: z
    .string({ error: 'must be sent once' })
    .optional()
    .meta({
      description: 'The `next_page_token` of the previous page',
      examples: ['NC4xMDAuVGhlIGV4YW1wbGUncyBsaXN0IQ'],
    }),
});

const attemptFilterSchema = z.object({
  outcome: z
    .enum(attemptOutcomes)
    .optional()
    .meta({
      description: 'Only attempts with this outcome',
      examples: ['failed'],
    }),
  kind: z
    .enum(subjectKinds)
    .optional()
    .meta({ description: 'Only messages about this kind of record', examples: ['patient'] }),
  record_id: identifier(
    'Only messages about the record with this id; for documents, the id of the encounter',
    'patient-1',
  ).optional(),
  document_id: identifier('Only messages about the document with this id', 'scan-1').optional(),
});

/** Query of a webhook's attempts. */
export const attemptsQuerySchema = pageQuerySchema.extend(attemptFilterSchema.shape);

/** Returns which attempts a request asks for. Throws `validation_failed`. */
export function attemptFilter(req: Pick<Request, 'query'>): AttemptFilter {
  return validate(attemptFilterSchema, req.query);
}

/** Returns the page that a request asks for. Throws `validation_failed`. */
export function pageRequest(req: Pick<Request, 'query'>): PageRequest {
  const { limit, page_token } = validate(pageQuerySchema, req.query);
  return { limit, pageToken: page_token };
}

/**
 * Returns the query of a request. The `+` of an offset that was not percent-encoded arrives as a space, which no
 * moment contains.
 */
export function withPlus({ query }: Pick<Request, 'query'>, ...moments: string[]): Request['query'] {
  const mended = { ...query };
  for (const name of moments) {
    const sent = mended[name];
    if (typeof sent === 'string') mended[name] = sent.replace(' ', '+');
  }
  return mended;
}

/** Query of a read that may ask for an earlier version. */
export const momentQuerySchema = z.object({
  version: wholeNumber(1)
    .optional()
    .meta({ description: 'The version to read; cannot be combined with `as_of`', examples: [1] }),
  as_of: requiredDate(
    '2026-03-14T12:00:00Z',
    'The time to read it as of: the last version recorded at or before it. A plain date means its first ' +
      'moment; a time without an offset is UTC',
  ).optional(),
});

/**
 * Returns the earlier version that a read asks for, and how it asked; undefined for the latest. Throws
 * `validation_failed`.
 */
export function requestedMoment(req: Pick<Request, 'query'>): { moment: Moment; query: object } | undefined {
  const { as_of, version } = req.query;
  if (as_of === undefined && version === undefined) return undefined;
  const query = validate(momentQuerySchema, withPlus(req, 'as_of'));
  if (query.version !== undefined && query.as_of !== undefined) {
    throw validationError([{ field: 'as_of', message: 'must not be sent together with version' }]);
  }
  if (query.version !== undefined) return { moment: { version: query.version }, query };
  return { moment: { asOf: instantOf(query.as_of as string) }, query };
}

/** Query of a list that may be as of an earlier time. */
export const asOfQuerySchema = z.object({
  as_of: requiredDate(
    '2026-03-14T12:00:00Z',
    'The list as of this time: everything as its last version recorded at or before it, without what has been erased since. A plain ' +
      'date means its first moment; a time without an offset is UTC; not in the future',
  ).optional(),
});

/**
 * Returns the time that a list is to be of, in milliseconds since 1970; undefined for the present. `others`: parameters that it cannot be
 * combined with. Throws `validation_failed`.
 */
export function requestedAsOf(
  as_of: string | undefined,
  others: Record<string, unknown> = {},
): number | undefined {
  if (as_of === undefined) return undefined;
  const at = instantOf(as_of);
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
  const message = other
    ? `must not be sent together with ${other}`
    : at > Date.now() && 'must not be in the future';
  if (message) throw validationError([{ field: 'as_of', message }]);
  return at;
}

const callerId = identifier('', '');

/** Returns what a request is about, as far as it names it with identifiers that records can have. */
export function accessSubject(
  kind: NonNullable<AccessSubject['kind']>,
  recordId: unknown,
  documentId?: unknown,
): AccessSubject {
  return {
    kind,
    ...(callerId.safeParse(recordId).success && { record_id: recordId as string }),
    ...(callerId.safeParse(documentId).success && { document_id: documentId as string }),
  };
}

/** Returns a caller's identifier from the path. Throws `not_found` for one that no record can have. */
export function pathId(req: Request, name: string, title: string): string {
  const value = req.params[name];
  if (!callerId.safeParse(value).success) throw notFound(title);
  return value as string;
}

/** `If-Match` with `*`, or with one version, 1 or higher, in quotes; a weak tag counts as a strong one. */
const matchedTag = /^\s*(?:(\*)|(?:W\/)?"([1-9]\d{0,14})")\s*$/;

/**
 * Returns what `If-Match` (`*` or one version) and `If-None-Match: *` require of what is to be written (RFC 9110,
 * section 13.1); without them there is no condition. Throws `validation_failed` for any other form.
 */
export function writeCondition(req: Request): WriteCondition {
  const ifMatch = req.headers['if-match'];
  const ifNoneMatch = req.headers['if-none-match'];
  if (ifMatch === undefined && ifNoneMatch === undefined) return 'any';
  if (ifMatch === undefined && ifNoneMatch?.trim() === '*') return 'none';
  const [matched, any, version] = matchedTag.exec(ifMatch ?? '') ?? [];
  if (matched === undefined || ifNoneMatch !== undefined) {
    throw invalidCondition(ifMatch !== undefined);
  }
  return any === undefined ? Number(version) - 1 : 'exists';
}

function invalidCondition(hasMatch: boolean): ServiceError {
  const field = hasMatch ? 'If-Match' : 'If-None-Match';
  const message = hasMatch
    ? 'must be * or one version in quotes, such as "3", without If-None-Match'
    : 'must be *; to write over a version, send If-Match';
  return validationError([{ field, message }]);
}

const encoded = 'percent-encoded';

/** Returns the path parameters of a record. */
export function recordPath({ title, schema }: CatalogEntry) {
  const id = schema.shape.id as z.ZodType;
  const description = `The \`id\` that the ${title.toLowerCase()} was sent with, ${encoded}`;
  return z.object({ id: id.meta({ description, examples: [exampleOf(id)] }) });
}

/** Returns the path parameters of an encounter's document. */
export function documentPath(encounter: CatalogEntry) {
  const { document_id } = documentFieldsSchema.shape;
  const description = `The \`document_id\` that the document was uploaded with, ${encoded}`;
  return recordPath(encounter).extend({
    documentId: document_id.meta({ description, examples: [exampleOf(document_id)] }),
  });
}

/** The condition of a removal. */
export const matchHeader = z.object({
  'If-Match': z
    .string()
    .regex(matchedTag)
    .optional()
    .meta({
      description:
        'A version in quotes: write only if it is the current version, otherwise 412. `*`: write only if ' +
        'there is a version. A weak tag, such as `W/"3"`, counts as a strong one',
      examples: ['"3"'],
    }),
});

/** The conditions of an upsert or upload. */
export const conditionHeaders = matchHeader.extend({
  'If-None-Match': z
    .literal('*')
    .optional()
    .meta({
      description: 'Store only if there is none yet, otherwise 412; cannot be combined with `If-Match`',
      examples: ['*'],
    }),
});

/** The conditions of a read. */
export const readConditions = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .meta({
      description:
        'One or several earlier `ETag`s: if one of them is still that of the response, it is 304, without a ' +
        'body. Weak tags count as strong ones',
      examples: ['"3"'],
    }),
  'If-Match': z
    .string()
    .optional()
    .meta({
      description:
        'The only `ETag`s with which you want the response, otherwise 412. Weak tags match nothing',
      examples: ['"3"'],
    }),
});

/** The response to a client that has what it reads. */
export const unchangedSince = {
  description:
    'Nothing has changed since the `ETag` in `If-None-Match`. The response has no body; the read is in the ' +
    'audit trail.',
  headers: ['ETag'],
  empty: true,
} as const;

/** Returns what the audit trail says of such a read, besides what was asked for. */
export function notModifiedMark(isKnown: boolean): { not_modified?: true } {
  return isKnown ? { not_modified: true } : {};
}

/** The forms in which events are sent; the first is for clients that accept any. */
export const eventMediaTypes = { ndjson: NDJSON, sse: 'text/event-stream' } as const;

function listOf(names: string[]) {
  return z
    .string({ error: 'must be sent once' })
    .refine((list) => list.split(',').every((name) => names.includes(name)), {
      error: `must be one or more of ${names.join(', ')}, separated by commas`,
    })
    .overwrite((list) => [...new Set(list.split(','))].join());
}

const position = z
  .string({ error: 'must be sent once' })
  .refine((text) => parsePosition(text) !== undefined, { error: 'must be the position of an event' });

/** Query of the audit trail, read forward. */
export const auditQuerySchema = z.object({
  after: position.optional().meta({
    description: 'Entries after this position; default: from the beginning',
    examples: ['0000000000008135'],
  }),
  limit: wholeNumber(1, 10_000).default(1_000).meta({ description: 'Maximum number of entries' }),
});

/** Query of the event stream. */
export const eventsQuerySchema = z.object({
  after: position.optional().meta({
    description:
      'Events after this position, for example the `sequence` of the last event that you processed',
    examples: ['0000000000008135'],
  }),
  from: requiredDate(
    '2026-03-14T09:30:00Z',
    'Begin with the first event recorded at this moment or later; cannot be combined with `after`. A plain ' +
      'date means its first moment; a time without an offset is UTC. In the de-identified view, it must ' +
      'be the beginning of a year',
  ).optional(),
  kinds: listOf([...new Set(feedEventTypes.map(({ kind }) => kind))])
    .optional()
    .meta({
      description: 'Only events of these kinds, separated by commas',
      examples: ['patient,encounter'],
    }),
  types: listOf(feedEventTypes.map(({ type }) => type))
    .optional()
    .meta({
      description: 'Only events of these types, separated by commas',
      examples: ['chartledger.patient.upserted.v1'],
    }),
  view: z
    .enum(eventViews)
    .optional()
    .meta({
      description: 'Default: the first of `full`, `limited` and `deidentified` that the key is allowed',
      examples: ['full'],
    }),
  unchanged: z
    .enum(unchangedEvents)
    .default('send')
    .meta({
      description:
        '`skip`: omits events that changed no field of their record, for example when a record was sent ' +
        'again unchanged. First versions and erasures are never omitted',
      examples: ['skip'],
    }),
  limit: wholeNumber(1, 10_000)
    .default(1_000)
    .meta({
      description: 'Events per page, 1 to 10,000; a page of large events may have fewer',
      examples: [1_000],
    }),
  wait: wholeNumber(0, 50)
    .default(0)
    .meta({
      description: 'Seconds, 0 to 50, to wait for an event if the page would be empty',
      examples: [30],
    }),
  consumer: consumerName.optional().meta({
    description: 'A name for the reader, with which it is listed (`GET /integration/consumers`) and watched',
    examples: ['warehouse'],
  }),
  resume: z
    .enum(['true', 'false'])
    .default('false')
    .meta({
      type: 'boolean',
      description:
        'With `consumer`, for pages: keeps the position that is sent as `after`, and begins there when none is sent. Events after it ' +
        'are sent again',
      examples: [true],
    }),
});

export type EventsQuery = z.infer<typeof eventsQuerySchema>;

/** Header sent by a reconnecting reader of server-sent events. */
export const lastEventIdSchema = position.meta({
  description:
    'The `id` of the last event that you processed, as sent by clients of server-sent events; takes ' +
    'precedence over `after` and `from`',
  examples: ['0000000000008135'],
});
