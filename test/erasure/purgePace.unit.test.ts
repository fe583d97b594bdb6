import { expect, test } from 'vitest';
import { Throttle } from '../../src/modules/erasure/purge.ts';

test('a purge is followed by as long without one', async () => {
  let now = 1_000;
  const pace = new Throttle(() => now);
  expect(pace.isDue).toBe(true);
  const { promise, resolve } = Promise.withResolvers<void>();
  const purging = pace.during(promise);
  now += 2_000;
  resolve();
  await purging;
  expect(pace.isDue).toBe(false);
  now += 1_999;
  expect(pace.isDue).toBe(false);
  now += 1;
  expect(pace.isDue).toBe(true);
});

test('one that failed is due at once', async () => {
  const pace = new Throttle(() => 0);
  await expect(pace.during(Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(pace.isDue).toBe(true);
});
