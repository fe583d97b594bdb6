import type { Logger } from 'pino';
import { describeError, type ServiceError } from '../errors.ts';

/** Tells operators of a failure that is the service's own, or a store's; what callers did wrong is in the request's line. */
export function logFailure(
  logger: Logger,
  { code, cause, problem }: ServiceError,
  request: { requestId: string; route: string },
  what: 'request' | 'page',
): void {
  if (code !== 'internal' && code !== 'unavailable') return;
  const fields = { ...request, code, ...(problem && { problem }), error: describeError(cause) };
  if (code === 'internal') logger.error(fields, `a ${what} failed`);
  else logger.warn(fields, 'a store is away');
}
