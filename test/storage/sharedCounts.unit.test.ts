import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { MemoryRateLimiter, SharedCounts } from '../../src/storage/engines/memory/rateLimiter.ts';

const limit = { name: 'requests', points: 3, seconds: 60 };

test('a key is counted up to the limit and beyond, apart from other keys and limits', () => {
  const counts = new SharedCounts(SharedCounts.memory());
  const counted = Array.from({ length: 5 }, () => counts.consume(limit, 'a'));
  expect(counted.map(({ refused, refusals, remaining }) => ({ refused, refusals, remaining }))).toEqual([
    { refused: false, refusals: 0, remaining: 2 },
    { refused: false, refusals: 0, remaining: 1 },
    { refused: false, refusals: 0, remaining: 0 },
    { refused: true, refusals: 1, remaining: 0 },
    { refused: true, refusals: 2, remaining: 0 },
  ]);
  expect(counts.consume(limit, 'b').remaining).toBe(2);
  expect(counts.consume({ ...limit, name: 'others' }, 'a').remaining).toBe(2);
});

test('a window ends after its seconds, and a reset ends it at once', () => {
  const counts = new SharedCounts(SharedCounts.memory());
  const hrtime = vi.spyOn(process, 'hrtime').mockReturnValue([1_000, 0]);
  expect(counts.consume(limit, 'a')).toMatchObject({ remaining: 2, msBeforeReset: 60_000 });
  hrtime.mockReturnValue([1_059, 999_000_000]);
  expect(counts.consume(limit, 'a')).toMatchObject({ remaining: 1, msBeforeReset: 1 });
  hrtime.mockReturnValue([1_060, 0]);
  expect(counts.consume(limit, 'a')).toMatchObject({ remaining: 2, msBeforeReset: 60_000 });
  counts.reset(limit, 'a');
  counts.reset(limit, 'never counted');
  expect(counts.consume(limit, 'a')).toMatchObject({ remaining: 2, msBeforeReset: 60_000 });
  hrtime.mockRestore();
});

test('a window that was just begun lasts its seconds and no longer, at whatever moment', () => {
  const counts = new SharedCounts(SharedCounts.memory());
  const hrtime = vi.spyOn(process, 'hrtime');
  const memory = new MemoryRateLimiter(limit);
  for (let moment = 1; moment < 2_000; moment++) {
    hrtime.mockReturnValue([1_000 + moment * 61, moment * 499_979]);
    expect(counts.consume(limit, 'a').msBeforeReset).toBe(60_000);
    expect(memory.consume('a').msBeforeReset).toBe(60_000);
  }
  hrtime.mockRestore();
});

test('more keys than the first table has room for keep their counts', () => {
  const memory = SharedCounts.memory();
  const [counts, others] = [new SharedCounts(memory), new SharedCounts(memory)];
  const before = memory.table.byteLength;
  for (let key = 0; key < 40_000; key++) counts.consume(limit, String(key));
  expect(memory.table.byteLength).toBeGreaterThan(before);
  const wrong = Array.from({ length: 40_000 }, (_, key) => others.consume(limit, String(key)).remaining);
  expect(wrong.filter((remaining) => remaining !== 1)).toEqual([]);
});

test('keys whose windows are over make room for others', () => {
  const memory = SharedCounts.memory();
  const counts = new SharedCounts(memory);
  const before = memory.table.byteLength;
  const hrtime = vi.spyOn(process, 'hrtime');
  for (let key = 0; key < 40_000; key++) {
    hrtime.mockReturnValue([key, 0]);
    counts.consume(limit, String(key));
  }
  hrtime.mockRestore();
  expect(memory.table.byteLength).toBe(before);
});

test('threads that count at once count each time', async () => {
  const memory = SharedCounts.memory();
  const times = 20_000;
  const module = new URL('../../src/storage/engines/memory/rateLimiter.ts', import.meta.url).href;
  const code = `
    const { workerData, parentPort } = require('node:worker_threads');
    import(workerData.module).then(({ SharedCounts }) => {
      const counts = new SharedCounts(workerData.memory);
      for (let n = 0; n < ${times}; n++) counts.consume(workerData.limit, 'a');
    });`;
  const workerData = { module, memory, limit };
  const workers = Array.from({ length: 3 }, () => new Worker(code, { eval: true, workerData }));
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
  const { refusals } = new SharedCounts(memory).consume(limit, 'a');
  expect(refusals).toBe(3 * times + 1 - limit.points);
});
