import { expect, test } from '@jest/globals';
import type { ServiceError } from '../../src/errors.ts';
import { eventually } from '../support/eventually.ts';
import { row } from './readModelsRows.ts';
import type { Two } from './readModelsWrites.ts';

/** Rows that their owner writes and removes by himself: `save`, `swap`, `remove` and `prune`. */
export function ownRowsContract(at: () => Two): void {
  test('save writes rows, guarded by their position, and leaves the checkpoint', async () => {
    const { store, other, model } = at();
    await store.save(model, []);
    await store.save(model, [row('a', 5), row('b', 1, { order: 2 })]);
    await other.save(model, [row('a', 4), row('b', 2, { order: 2 })]);
    expect(await store.page(model, { partition: 'p', limit: 10 })).toEqual([
      row('a', 5),
      row('b', 2, { order: 2 }),
    ]);
    expect(await store.checkpoint(model)).toBe(0);
  });

  test('save takes any number of rows and writers at once', async () => {
    const { store, other, model } = at();
    const rows = Array.from({ length: 900 }, (_, index) => row(`r${index}`, index + 1, { order: index }));
    await Promise.all([
      store.save(model, rows.slice(0, 500)),
      other.save(model, rows.slice(400)),
      store.save(model, rows.slice(200, 700)),
    ]);
    expect(await store.page(model, { partition: 'p', limit: 1_000 })).toEqual(rows);
  });

  test('swap writes where the position is the expected one, and nowhere else', async () => {
    const { store, other, model } = at();
    expect(await store.swap(model, row('a', 3), 2)).toBe(false);
    expect(await store.load(model, ['a'])).toEqual([]);
    expect(await store.swap(model, row('a', 3), undefined)).toBe(true);
    expect(await other.swap(model, row('a', 4), undefined)).toBe(false);
    expect(await other.swap(model, row('a', 4), 2)).toBe(false);
    expect(await other.swap(model, row('a', 4), 4)).toBe(false);
    expect(await store.load(model, ['a'])).toEqual([row('a', 3)]);
    expect(await other.swap(model, row('a', 2 ** 52), 3)).toBe(true);
    expect(await store.swap(model, row('a', 2 ** 52 + 1), 2 ** 52)).toBe(true);
    expect(await store.load(model, ['a'])).toEqual([row('a', 2 ** 52 + 1)]);
  });

  test('of many who swap at once, one succeeds', async () => {
    const { store, other, model } = at();
    let rushes = 0;
    const rush = (expected: number | undefined) =>
      eventually(async () => {
        const id = `row ${++rushes}`;
        if (expected !== undefined) await store.swap(model, row(id, expected), undefined);
        const swaps = Array.from({ length: 20 }, (_, index) =>
          (index % 2 ? store : other)
            .swap(model, row(id, (expected ?? 0) + 100), expected)
            .catch((error: ServiceError) => error.code),
        );
        const answers = await Promise.all(swaps);
        // Of a swap that fails nobody knows whether it succeeded: that rush tells nothing.
        expect(answers).not.toContain('unavailable');
        return answers;
      });
    for (const expected of [undefined, 100]) {
      expect((await rush(expected)).filter(Boolean)).toEqual([true]);
    }
  });

  test('swap sees that the read model was dropped', async () => {
    const { store, other, model } = at();
    await store.swap(model, row('a', 1), undefined);
    await other.drop(model);
    expect(await store.swap(model, row('a', 2), 1)).toBe(false);
    expect(await store.swap(model, row('a', 1), undefined)).toBe(true);
    expect(await other.page(model, { partition: 'p', limit: 10 })).toEqual([row('a', 1)]);
  });

  test('remove takes rows out, but none that is above the position', async () => {
    const { store, other, model } = at();
    const rows = Array.from({ length: 450 }, (_, index) => row(`r${index}`, index, { order: index }));
    await store.save(model, rows);
    await other.remove(
      model,
      rows.map(({ id }) => id),
      299,
    );
    await other.remove(model, ['r299', 'absent'], 299);
    await other.remove(model, [], 999);
    expect(await store.page(model, { partition: 'p', limit: 1_000 })).toEqual(rows.slice(300));
    await other.save(model, [rows[0] as (typeof rows)[0]]);
    expect(await store.existing(model, ['r0', 'r1'])).toEqual(new Set(['r0']));
  });

  test('prune removes all that is below a position, of that read model alone', async () => {
    const { store, other, model } = at();
    const rows = Array.from({ length: 2_300 }, (_, index) => row(`r${index}`, index, { order: index }));
    await store.save(model, rows);
    await store.save(`${model}2`, [row('a', 1)]);
    await other.prune(model, 2_200);
    expect(await store.page(model, { partition: 'p', limit: 1_000 })).toEqual(rows.slice(2_200));
    await store.prune(model, 2_200);
    expect(await store.count(model)).toBe(100);
    expect(await store.count(`${model}2`)).toBe(1);
    await store.prune(`${model}3`, 5);
  });
}
