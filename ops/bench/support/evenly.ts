import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Does something a given number of times per second, one after the other: what takes longer than its turn delays the
 * next ones.
 */
export async function evenly(
  perSecond: number,
  seconds: number,
  work: (turn: number) => Promise<unknown>,
): Promise<void> {
  const startedAt = performance.now();
  for (let turn = 0; turn < perSecond * seconds; turn++) {
    const dueAt = startedAt + (turn * 1_000) / perSecond;
    await sleep(Math.max(0, dueAt - performance.now()));
    await work(turn);
  }
}
