import type { Request } from 'express';
import { z } from 'zod';
import { subjectKinds } from '../../domain/records/eventSubject.ts';
import { identifier, requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { validate, validationError } from '../../domain/records/schema/validate.ts';
import type { AccessSubject } from '../../modules/audit/recordAccess.ts';
import type { WriteCondition } from '../../modules/records/commands/writeCondition.ts';
import type { PageRequest } from '../../modules/records/queries/page.ts';
import type { Moment } from '../../modules/records/queries/stateAt.ts';
import { type AttemptFilter, attemptOutcomes } from '../../modules/webhooks/attempts.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';

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
export const matchedTag = /^\s*(?:(\*)|(?:W\/)?"([1-9]\d{0,14})")\s*$/;

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
    throw new ServiceError(
      'validation_failed',
      'A condition must be either If-Match with * or one version in quotes, such as "3", or If-None-Match: *.',
    );
  }
  return any === undefined ? Number(version) - 1 : 'exists';
}
