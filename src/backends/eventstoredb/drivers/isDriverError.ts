import type { CommandError } from '@eventstore/db-client';

/** Whether a driver says that this went wrong. */
export function isDriverError(
  error: unknown,
  type: `${CommandError['type']}`,
): error is Error & { code?: number } {
  return error instanceof Error && 'type' in error && error.type === type;
}
