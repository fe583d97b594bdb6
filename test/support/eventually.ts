import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/storage/rateLimiters.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 100;

/**
 * Repeats `check` until it no longer throws, and gives its result; throws its last error after `timeoutMs`. The pauses between
 * grow from the first second on, so that long waits cost less.
 */
export async function eventually<Result>(
  check: () => Result | Promise<Result>,
  timeoutMs = 30_000,
): Promise<Result> {
  const begun = Date.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > begun + timeoutMs) throw error;
    }
    const pause = (Date.now() - begun) / 50;
    await sleep(Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, pause)));
  }
}

/** Which of these ids have a row. */
export async function idsWithRow(
  readModels: Pick<ReadModels, 'load'>,
  model: string,
  ids: string[],
): Promise<Set<string>> {
  return new Set((await readModels.load(model, ids)).map(({ id }) => id));
}

/** A clock that goes as the system's does, so many milliseconds ahead of it; a test may change how many. */
export class LaterClock implements Clock {
  aheadMs: number;

  constructor(aheadMs = 0) {
    this.aheadMs = aheadMs;
  }

  now(): number {
    return systemClock.now() + this.aheadMs;
  }

  elapsed(): number {
    return systemClock.elapsed();
  }
}
