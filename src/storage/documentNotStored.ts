import { ServiceError } from '../platform/errors.ts';

/** The error for bytes that the store does not hold, or no longer holds. */
export function documentNotStored(): ServiceError {
  return new ServiceError('not_found', 'The document is no longer stored.');
}
