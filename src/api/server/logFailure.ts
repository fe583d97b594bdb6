import type { Logger } from 'pino';
import { DocumentMismatch } from '../../modules/records/queries/checkedContent.ts';
import { describeError, type ServiceError, UnreadableError } from '../../platform/errors.ts';

/** Downloads aborted since the process began. */
let mismatches = 0;

/**
 * Reports a failure of the service itself, or of a store, to operators; what callers did wrong is in the request's
 * log line.
 */
export function logFailure(
  logger: Logger,
  failure: ServiceError,
  request: { requestId: string; route: string },
  what: 'request' | 'page',
): void {
  const { code, cause, problem } = failure;
  if (failure instanceof DocumentMismatch) {
    const { objectId } = failure;
    mismatches += 1;
    logger.error({ ...request, objectId, mismatches }, 'a stored document is not the one that was uploaded');
    return;
  }
  if (failure instanceof UnreadableError) {
    logger[code === 'internal' ? 'error' : 'warn'](
      { ...request, code, ...failure.place },
      'an event cannot be read; to find out why: chartledger verify --workspace ID',
    );
    return;
  }
  if (code !== 'internal' && code !== 'unavailable') return;
  const fields = { ...request, code, ...(problem && { problem }), error: describeError(cause) };
  if (code === 'internal') logger.error(fields, `a ${what} failed`);
  else logger.warn(fields, 'a store is unavailable');
}
