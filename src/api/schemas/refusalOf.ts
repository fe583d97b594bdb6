import type { ServiceError } from '../../platform/errors.ts';

/** Returns the error with which an attempt is refused. */
export function refusalOf(attempt: () => unknown): ServiceError {
  try {
    attempt();
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error('the attempt was not refused');
}
