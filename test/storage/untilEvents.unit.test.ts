import { expect, test } from 'vitest';
import { SharedFlag } from '../../src/platform/threads/semaphore.ts';
import { untilEvents } from '../../src/storage/engines/sqlite/eventLog.ts';

/** So long that a test which waits for it fails. */
const LONG_MS = 600_000;

interface Waiting {
  flag: SharedFlag;
  /** Resolves when the follower has asked so often. */
  asked(times: number): Promise<void>;
  ended: Promise<void>;
  stop: AbortController;
}

/** `answers`: what the follower is told each time that it asks whether events are there; the last one from then on. */
function waiting(answers: boolean[], ms = LONG_MS): Waiting {
  const flag = new SharedFlag();
  const stop = new AbortController();
  let count = 0;
  const wakes = new Map<number, () => void>();
  const isThere = () => {
    count += 1;
    wakes.get(count)?.();
    return answers.length > 1 ? (answers.shift() as boolean) : (answers[0] as boolean);
  };
  const awaited = new SharedFlag(flag.buffer).watch();
  const gather = (signal: AbortSignal) => awaited(ms, signal);
  const ended = untilEvents(isThere, gather, stop.signal);
  const asked = (times: number) => new Promise<void>((resolve) => wakes.set(times, resolve));
  return { flag, asked, ended, stop };
}

test('events that somebody waits for end the wait', async () => {
  const { flag, ended } = waiting([true]);
  flag.raise();
  await ended;
});

test('whoever waited before the follower did is not forgotten', async () => {
  const flag = new SharedFlag();
  const awaited = flag.watch();
  const gather = (signal: AbortSignal) => awaited(LONG_MS, signal);
  flag.raise();
  await untilEvents(() => true, gather, new AbortController().signal);
});

test('one that waited once does not hurry what comes later', async () => {
  const flag = new SharedFlag();
  const awaited = flag.watch();
  const { signal } = new AbortController();
  flag.raise();
  await awaited(LONG_MS, signal);
  const order: string[] = [];
  const later = awaited(LONG_MS, signal).then(() => order.push('ended'));
  await new Promise(setImmediate);
  order.push('raised');
  flag.raise();
  await later;
  expect(order).toEqual(['raised', 'ended']);
});

test('where there is nothing yet, the follower waits until it is asked again', async () => {
  const { flag, asked, ended } = waiting([false, true]);
  const first = asked(1);
  flag.raise();
  await first;
  flag.raise();
  await ended;
});

test('events that nobody waits for end the wait once they gathered', async () => {
  const { ended } = waiting([false, false, true], 10);
  await ended;
});

test('each of several followers is woken', async () => {
  const flag = new SharedFlag();
  const { signal } = new AbortController();
  const all = [1, 2, 3].map(() => new SharedFlag(flag.buffer).watch()(LONG_MS, signal));
  flag.raise();
  await Promise.all(all);
});

test('the signal ends the wait, before and while it lasts', async () => {
  const { asked, ended, stop } = waiting([false], 5);
  await asked(1);
  stop.abort();
  await ended;
  const stopped = waiting([false]);
  stopped.stop.abort();
  await stopped.ended;
  await untilEvents(
    () => false,
    async () => undefined,
    stop.signal,
  );
});
