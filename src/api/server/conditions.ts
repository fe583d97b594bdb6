import { createHash } from 'node:crypto';
import { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from './requestContext.ts';

/** An entity tag (RFC 9110, section 8.8.3). */
const entityTag = /(?:W\/)?"[^"]*"/g;

/** Returns the entity tag of a body whose parts have no version in common: any change of it is another tag. */
export function digestTag(body: object): string {
  return `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url')}"`;
}

function names(header: string, etag: string, comparable: (tag: string) => string): boolean {
  return header.trim() === '*' || (header.match(entityTag) ?? []).map(comparable).includes(etag);
}

/** Returns the refusal of a read because of `If-Match`; `etag`: that of the response. */
export function notThatVersion(etag: string): ServiceError {
  const version = Number(etag.slice(1, -1));
  return new ServiceError('version_conflict', 'The ETag of the response is not one of those in If-Match.', {
    ...(Number.isSafeInteger(version) && { version }),
  });
}

/**
 * Whether a client has what it reads, which has a strong `etag` (a version or a digest), and is to be answered with 304: `If-None-Match` names it in
 * a weak comparison. Throws `version_conflict` when `If-Match` does not name it in a strong one (RFC 9110, sections 13.1 and 13.2).
 */
export function isNotModified({ req }: Pick<RequestContext, 'req'>, etag: string): boolean {
  const { 'if-match': wanted, 'if-none-match': known } = req.headers;
  if (wanted !== undefined && !names(wanted, etag, (tag) => tag)) {
    throw notThatVersion(etag);
  }
  return known !== undefined && names(known, etag, (tag) => tag.replace(/^W\//, ''));
}

/** Returns a response, or 304 in place of it; Node then sends no body, and the same headers. */
export function unlessKnown<Answer extends object>(isKnown: boolean, answer: Answer) {
  return isKnown ? { ...answer, status: 304 as const } : answer;
}
