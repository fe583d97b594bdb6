import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Exchange } from '../server/exchange.ts';

/** Schemas may gain fields with a new version of the service, so they are requested again after an hour. */
const MAX_AGE_SECONDS = 3_600;

/** A rarely changing description, with its entity tag. */
export interface Tagged<Body extends object> {
  body: Body;
  etag: string;
}

/** Returns a description with its entity tag. */
export function tagged<Body extends object>(body: Body): Tagged<Body> {
  return { body, etag: `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url')}"` };
}

/** Whether `If-None-Match` names the entity tag (RFC 9110, section 13.1.2: weak comparison). */
function isKnown({ req }: Exchange, etag: string): boolean {
  const tags = (req.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

/**
 * Responds with a description, or with 304 to a client that has it; caches may keep it: any cache, or only the
 * client's own.
 */
export function cacheable<Body extends object>(
  exchange: Exchange,
  { body, etag }: Tagged<Body>,
  scope: 'public' | 'private',
) {
  const { headers } = exchange;
  headers[headers.indexOf('Cache-Control') + 1] = `${scope}, max-age=${MAX_AGE_SECONDS}`;
  const answer = { headers: { ETag: etag }, body };
  // Node sends no body with a 304.
  return isKnown(exchange, etag) ? { ...answer, status: 304 as const } : answer;
}

/** The condition under which a description is sent. */
export const ifNoneMatch = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .meta({
      description: 'An earlier `ETag`: returns 304 if the document has not changed',
      examples: ['"h1T5Tjd5cPtkeFRPtb4aGG5S0eTIXrVCTTlQIR_6kRg"'],
    }),
});

/** Headers of a description. */
export const cacheHeaders = ['ETag', 'Cache-Control'] as const;

/** The response to a client that has the description. */
export const notModified = {
  description: 'The document has not changed since the `ETag` in `If-None-Match`. The response has no body.',
  headers: cacheHeaders,
  empty: true,
} as const;
