import { expect, test } from 'vitest';
import { loadOnce } from '../../src/platform/retry.ts';

/** Loads that a test ends one by one. */
function loads() {
  const begun: PromiseWithResolvers<string>[] = [];
  const load = loadOnce(() => {
    const one = Promise.withResolvers<string>();
    begun.push(one);
    return one.promise;
  });
  return { begun, load };
}

test('calls share a load, whose result is kept', async () => {
  const { begun, load } = loads();
  const calls = [load(), load()];
  begun[0]?.resolve('the dashboard');
  expect(await Promise.all([...calls, load()])).toEqual(Array(3).fill('the dashboard'));
  expect(begun).toHaveLength(1);
});

test('a load that fails, for want of a file descriptor, is tried once more by the next call', async () => {
  const { begun, load } = loads();
  const calls = [load(), load()];
  begun[0]?.reject(new Error('EMFILE'));
  for (const call of calls) await expect(call).rejects.toThrow('EMFILE');
  const again = load();
  begun[1]?.resolve('the dashboard');
  expect(await again).toBe('the dashboard');
  expect(begun).toHaveLength(2);
});
