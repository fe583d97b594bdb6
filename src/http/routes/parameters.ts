import type { Request } from 'express';
import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import type { ExpectedRevision } from '../../ports/eventLog.ts';
import type { PageRequest } from '../../queries/page.ts';
import { identifier } from '../../records/fields.ts';
import { validate } from '../../records/validate.ts';

const DEFAULT_LIMIT = 100;

/** Query of every list. */
export const pageQuerySchema = z.object({
  limit: z.coerce
    .number({ error: 'must be a number' })
    .int({ error: 'must be a whole number' })
    .min(1)
    .max(1000)
    .default(DEFAULT_LIMIT)
    .meta({ description: 'Items a page, 1 to 1,000', examples: [DEFAULT_LIMIT] }),
  page_token: z
    .string({ error: 'must be sent once' })
    .optional()
    .meta({ description: 'The `next_page_token` of the page before', examples: ['MS4xMDA'] }),
});

/** The page that a request asks for. Throws `validation_failed`. */
export function pageRequest(req: Request): PageRequest {
  const { limit, page_token } = validate(pageQuerySchema, req.query);
  return { limit, pageToken: page_token };
}

/** A caller's identifier out of the path. One that no record can have is `not_found`. */
export function pathId(req: Request, name: string, title: string): string {
  const value = req.params[name];
  if (!identifier('', '').safeParse(value).success)
    throw new ServiceError('not_found', `${title} not found.`);
  return value as string;
}

/** `If-Match` with one version, 1 or more, in quotes. */
export const versionTag = /^\s*"([1-9]\d{0,14})"\s*$/;

/**
 * What `If-Match: "<version>"` and `If-None-Match: *` ask of the record's version (RFC 9110, section 13.1); without
 * them any will do. Throws `validation_failed` for any other form.
 */
export function expectedRevision(req: Request): ExpectedRevision {
  const ifMatch = req.headers['if-match'];
  const ifNoneMatch = req.headers['if-none-match'];
  if (ifMatch === undefined && ifNoneMatch === undefined) return 'any';
  if (ifMatch === undefined && ifNoneMatch?.trim() === '*') return 'none';
  const [, version] = versionTag.exec(ifMatch ?? '') ?? [];
  if (version === undefined || ifNoneMatch !== undefined) {
    throw new ServiceError(
      'validation_failed',
      'A condition is either If-Match with one version in quotes, such as "3", or If-None-Match: *.',
    );
  }
  return Number(version) - 1;
}
