import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { exclusively } from '../../src/modules/erasure/exclusive.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { temporaryFolder } from '../support/cli.ts';

const ID = 'c7f0a1b2-0000-4000-8000-000000000001';
let store: StateStore;

beforeEach(async () => {
  store = await openStateStore(`sqlite:${join(temporaryFolder(), 'state.db')}`);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
});

test('of two that carry out the same erasure, one waits until the other has ended', async () => {
  const steps: string[] = [];
  const first = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const one = exclusively(store, ID, async () => {
    begun.resolve();
    await first.promise;
    steps.push('first');
  });
  await begun.promise;
  const two = exclusively(store, ID, async () => steps.push('second'));
  const other = exclusively(store, `${ID}-other`, async () => steps.push('another'));
  await other;
  first.resolve();
  await Promise.all([one, two]);
  expect(steps).toEqual(['another', 'first', 'second']);
});

test('one that failed leaves nothing behind that the next waits for', async () => {
  await expect(exclusively(store, ID, () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await exclusively(store, ID, async () => 'done')).toBe('done');
});

test('one whose process is gone is carried out by another after five seconds', async () => {
  const dying: StateStore = new Proxy(store, {
    get(target, name) {
      const own = Reflect.get(target, name);
      if (name === 'remove') return async () => undefined;
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
  await exclusively(dying, ID, async () => undefined);
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 3_000;
    return now;
  });
  expect(await exclusively(store, ID, async () => 'done')).toBe('done');
});

test('at the signal nobody waits any more', async () => {
  const forever = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const one = exclusively(store, ID, async () => {
    begun.resolve();
    await forever.promise;
  });
  await begun.promise;
  const stop = new AbortController();
  const two = exclusively(store, ID, async () => 'done', stop.signal);
  stop.abort();
  await expect(two).rejects.toMatchObject({ code: 'unavailable' });
  forever.resolve();
  await one;
});
