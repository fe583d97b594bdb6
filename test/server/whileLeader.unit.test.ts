import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import { type Leases, runAsLeader } from '../../src/storage/leases.ts';

// The fake clock does not reach this module; on top of the global timers it does.
const { setTimeout: realSleep } = timers;
timers.setTimeout = ((ms: number, _value: unknown, { signal }: { signal: AbortSignal }) =>
  new Promise<void>((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  })) as typeof realSleep;
syncBuiltinESMExports();
afterAll(() => {
  timers.setTimeout = realSleep;
  syncBuiltinESMExports();
});

/** One lease, kept on the tests' clock. `reach` stands between the instances and the store. */
class FakeLeases implements Leases {
  owner: string | undefined;
  until = 0;
  reach: (owner: string) => Promise<unknown> = async () => undefined;

  async acquire(_name: string, owner: string, forMs: number): Promise<boolean> {
    await this.reach(owner);
    if (this.owner !== undefined && this.owner !== owner && performance.now() < this.until) return false;
    this.owner = owner;
    this.until = performance.now() + forMs;
    return true;
  }

  async close(): Promise<void> {}

  async release(_name: string, owner: string): Promise<void> {
    await this.reach(owner);
    if (this.owner === owner) this.owner = undefined;
  }
}

let leases: FakeLeases;
let leaders: string[];
const stops: (() => Promise<void>)[] = [];
beforeEach(() => {
  vi.useFakeTimers();
  leases = new FakeLeases();
  leaders = [];
});
afterEach(async () => {
  leases.reach = async () => undefined;
  await Promise.all(stops.splice(0).map((stop) => stop()));
  vi.useRealTimers();
});

/** An instance whose work goes on for as long as it may; the result stops it. */
function start(owner: string): () => Promise<void> {
  const stop = new AbortController();
  const work = async (signal: AbortSignal) => {
    leaders.push(owner);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    leaders = leaders.filter((one) => one !== owner);
  };
  const ended = runAsLeader(leases, 'lease', owner, stop.signal, work);
  const stopAndWait = async () => {
    stop.abort();
    await vi.advanceTimersByTimeAsync(5_000);
    await ended;
  };
  stops.push(stopAndWait);
  return stopAndWait;
}

/** Lets time pass; never may two lead. */
async function pass(seconds: number): Promise<void> {
  for (let step = 0; step < seconds * 20; step++) {
    await vi.advanceTimersByTimeAsync(50);
    expect(leaders.length).toBeLessThanOrEqual(1);
  }
}

const unreachableFor = (cutOff: string) => async (owner: string) => {
  if (owner === cutOff) throw unavailable('store');
};
/** As the port promises, a call is given up within three seconds. */
const noAnswerFor = (cutOff: string) => async (owner: string) => {
  if (owner !== cutOff) return;
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  throw unavailable('store');
};

test('one of two leads, for as long as it renews', async () => {
  start('a');
  start('b');
  await pass(1);
  expect(leaders).toEqual(['a']);
  await pass(60);
  expect(leaders).toEqual(['a']);
});

test('a leader that is stopped gives the lease back, and the other leads at once', async () => {
  const stop = start('a');
  start('b');
  await pass(1);
  const stopped = stop();
  await vi.advanceTimersByTimeAsync(600);
  await stopped;
  expect(leaders).toEqual(['b']);
  expect(leases.owner).toBe('b');
});

test('the last one that is stopped leaves the lease free', async () => {
  const stop = start('a');
  await pass(1);
  await stop();
  expect(leaders).toEqual([]);
  expect(leases.owner).toBeUndefined();
});

test.each([
  ['is refused by the store', unreachableFor('a')],
  ['gets no answer from the store', noAnswerFor('a')],
])('a leader that %s ends before its lease does, and the other takes over', async (_label, reach) => {
  start('a');
  start('b');
  await pass(1);
  leases.reach = reach;
  await vi.advanceTimersByTimeAsync(leases.until - performance.now() - 1);
  expect(leaders).toEqual([]);
  await pass(1);
  expect(leaders).toEqual(['b']);
});

test('one answer that fails to come costs no leader its place', async () => {
  start('a');
  await pass(1);
  leases.reach = unreachableFor('a');
  await pass(1);
  leases.reach = async () => undefined;
  await pass(10);
  expect(leaders).toEqual(['a']);
});

test('a lease counts from when it was asked for, not from its answer', async () => {
  // The store grants it at once, but its answer takes two seconds; then it answers no more.
  const granted = Promise.withResolvers<void>();
  const acquire = leases.acquire.bind(leases);
  leases.acquire = async (...args) => {
    const held = await acquire(...args);
    await granted.promise;
    return held;
  };
  start('a');
  await vi.advanceTimersByTimeAsync(2_000);
  granted.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(leaders).toEqual(['a']);
  leases.reach = noAnswerFor('a');
  await vi.advanceTimersByTimeAsync(leases.until - performance.now() - 1);
  expect(leaders).toEqual([]);
});

test('a leader whose lease another one holds ends at its next renewal', async () => {
  start('a');
  await pass(1);
  leases.owner = 'elsewhere';
  leases.until = performance.now() + 60_000;
  await pass(2);
  expect(leaders).toEqual([]);
  expect(leases.owner).toBe('elsewhere');
});

test('what a leader leaves behind after its work has ended by itself is a free lease, taken again', async () => {
  let runs = 0;
  const stop = new AbortController();
  const ended = runAsLeader(leases, 'lease', 'a', stop.signal, async () => {
    runs += 1;
  });
  await pass(3);
  expect(runs).toBeGreaterThan(1);
  stop.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  await ended;
  expect(leases.owner).toBeUndefined();
});
