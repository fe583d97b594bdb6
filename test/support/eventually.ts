import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats `check` until it no longer throws, and gives its result; throws its last error after `timeoutMs`. */
export async function eventually<Result>(
  check: () => Result | Promise<Result>,
  timeoutMs = 30_000,
): Promise<Result> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(20);
  }
}
