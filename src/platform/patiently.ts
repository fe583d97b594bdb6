import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from './errors.ts';

const TRIES = 30;
const PAUSE_MS = 1_000;

/**
 * Returns the result of `work`, retrying each second for half a minute or more while a store is unreachable or a read model lags,
 * so that a large erasure is not aborted by a temporary problem. Rejects as the last try does, and at once with anything but
 * `unavailable`.
 */
export async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'unavailable' || tries === TRIES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
