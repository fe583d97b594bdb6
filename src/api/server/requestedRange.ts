import { ServiceError } from '../../platform/errors.ts';
import type { ByteRange } from '../../storage/documentStore.ts';
import type { Exchange } from './exchange.ts';

/** Returns the refusal of a range that does not exist. */
export function rangeNotSatisfiable(): ServiceError {
  return new ServiceError('range_not_satisfiable', 'The document does not contain the requested bytes.');
}

/**
 * Returns the part that `Range` requests of a representation of `size` bytes (RFC 9110, section 14); undefined when
 * all of it is to be sent: without the header, for several parts or an unknown form, and when `If-Range` names
 * another version. Throws `range_not_satisfiable`, with `Content-Range` then giving the size.
 */
export function requestedRange(
  { req, headers }: Pick<Exchange, 'req' | 'headers'>,
  size: number,
  etag: string,
): ByteRange | undefined {
  const ifRange = req.headers['if-range'];
  if (req.method !== 'GET' || req.headers.range === undefined) return undefined;
  if (ifRange !== undefined && ifRange !== etag) return undefined;
  const found = req.range(size, { combine: true });
  if (found === -1) {
    headers.push('Content-Range', `bytes */${size}`);
    throw rangeNotSatisfiable();
  }
  if (!Array.isArray(found) || found.type !== 'bytes' || found.length !== 1) return undefined;
  const [{ start, end } = { start: 0, end: size - 1 }] = found;
  return { start, end };
}
