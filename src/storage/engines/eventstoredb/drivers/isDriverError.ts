import type { CommandError } from '@eventstore/db-client';

/** Whether a driver reports this kind of error. */
export function isDriverError(
  error: unknown,
  type: `${CommandError['type']}`,
): error is Error & { code?: number } {
  return error instanceof Error && 'type' in error && error.type === type;
}
