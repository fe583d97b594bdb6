import { setTimeout as sleep } from 'node:timers/promises';

const MOST_MS = 5;

/**
 * For whoever looks again and again for what may come within a millisecond, or later: returns a function that resolves after a
 * pause, longer each time up to 5 ms, or at the signal.
 */
export function growingPauses(signal?: AbortSignal): () => Promise<void> {
  let ms = 1;
  return async () => {
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    ms = Math.min(2 * ms, MOST_MS);
  };
}
