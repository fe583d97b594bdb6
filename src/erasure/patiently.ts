import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';

const TRIES = 30;
const PAUSE_MS = 1_000;

/**
 * What `work` gives, tried again each second for half a minute and more where a store is away, or a read model lags: a command that
 * erases much is not cut off by what a moment mends. Rejects as the last try does, and at once with anything but `unavailable`.
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
