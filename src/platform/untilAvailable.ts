import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from './errors.ts';

const RETRY_MS = 250;

/**
 * Returns the result of `work`, which is repeated for as long as it rejects with `unavailable`; undefined when the signal aborts
 * in the meantime. Rejects with any other error.
 */
export async function untilAvailable<Result>(
  work: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error;
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}
