import type { ServiceError } from '../../errors.ts';

/** What an attempt is refused with. */
export function refusalOf(attempt: () => unknown): ServiceError {
  try {
    attempt();
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error('the attempt was not refused');
}
