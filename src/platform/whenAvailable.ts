import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from './errors.ts';

const RETRY_MS = 250;

export function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'unavailable';
}

/** Resolves after a while, or at the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/**
 * Resolves with the result of `work`, which is repeated while a store cannot be reached, with a call to `onDelay`.
 * Undefined at the signal.
 */
export async function whenAvailable<Result>(
  work: () => Promise<Result>,
  onDelay: (error: unknown) => void,
  signal: AbortSignal,
): Promise<Result | undefined> {
  for (; !signal.aborted; await pause(RETRY_MS, signal)) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      onDelay(error);
    }
  }
  return undefined;
}
