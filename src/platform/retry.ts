import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from './errors.ts';

const TRIES = 30;
const SECOND_MS = 1_000;

/**
 * Returns the result of `work`, retrying after as long as the error says, for half a minute or more, while a store is unreachable or
 * a read model lags, so that a large erasure is not aborted by a temporary problem. Rejects as the last try does, and at once with anything but
 * `unavailable`.
 */
export async function withRetry<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || tries === TRIES) throw error;
      await sleep((error.retryAfterSeconds ?? 1) * SECOND_MS);
    }
  }
}

/** Returns the result of `work`; undefined when a store is unreachable, or a read model lags. */
export async function ignoreUnavailable<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** Whether a value is the error of a store that is away. */
export function isUnavailable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'unavailable';
}

/** Returns `load`, whose result is kept from its first call on; a call after one that rejected tries it once more. */
export function loadOnce<Result>(load: () => Promise<Result>): () => Promise<Result> {
  let loading: Promise<Result> | undefined;
  return () => {
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

/** Resolves after a while, or at the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

const RETRY_MS = 250;

/**
 * Resolves with the result of `work`, which is repeated for as long as it rejects with `unavailable`, with a call to `onDelay` each
 * time; undefined when the signal aborts in the meantime. Rejects with any other error.
 */
export async function retryWhileUnavailable<Result>(
  work: () => Promise<Result>,
  signal: AbortSignal,
  onDelay?: (error: unknown) => void,
): Promise<Result | undefined> {
  for (; !signal.aborted; await pause(RETRY_MS, signal)) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      onDelay?.(error);
    }
  }
  return undefined;
}
