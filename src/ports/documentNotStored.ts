import { ServiceError } from '../errors.ts';

/** The refusal of bytes that the store does not have (any more). */
export function documentNotStored(): ServiceError {
  return new ServiceError('not_found', 'The document is no longer stored.');
}
