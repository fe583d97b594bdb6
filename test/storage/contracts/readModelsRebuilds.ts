import { expect, test } from 'vitest';
import { idsWithRow } from '../../support/eventually.ts';
import { row } from './readModelsRows.ts';
import type { Two } from './readModelsWrites.ts';

export function rebuildsContract(at: () => Two): void {
  const parked = (reason: string) => ({ position: 2, eventId: 'event', reason });

  test('replace puts rows, checkpoint and parked events in the place of the earlier ones', async () => {
    const { store, other, model } = at();
    const beside = `${model}_beside`;
    await store.write({ model, rows: [row('old', 1), row('both', 3)], checkpoint: 9 });
    await store.park(model, parked('old'));
    await other.write({ model: beside, rows: [row('both', 2), row('new', 4, { order: 2 })], checkpoint: 4 });
    await other.park(beside, parked('new'));
    expect(await other.count(beside)).toBe(2);

    await other.replace(model, beside);
    expect(await store.page(model, { partition: 'p', limit: 10 })).toEqual([
      row('both', 2),
      row('new', 4, { order: 2 }),
    ]);
    expect(await idsWithRow(store, model, ['old', 'both', 'new'])).toEqual(new Set(['both', 'new']));
    expect(await store.parked(model)).toEqual([parked('new')]);
    expect(await other.count(beside)).toBe(0);
    expect(await other.checkpoint(beside)).toBe(0);
    expect(await other.parked(beside)).toEqual([]);

    const stale = [row('both', 10, { body: { lacks: 'what the new one has' } })];
    await expect(store.write({ model, rows: stale, checkpoint: 10 })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await store.load(model, ['both'])).toEqual([row('both', 2)]);
    expect(await store.checkpoint(model)).toBe(4);
    await store.write({ model, rows: [row('next', 10)], checkpoint: 10 });
    expect(await other.checkpoint(model)).toBe(10);
  });

  test('replace can be repeated, and does nothing when there is nothing to put there', async () => {
    const { store, model } = at();
    const beside = `${model}_beside`;
    await store.write({ model: beside, rows: [], checkpoint: 3 });
    await store.write({ model, rows: [row('old', 1)], checkpoint: 1 });
    await store.replace(model, beside);
    expect(await store.count(model)).toBe(0);
    expect(await store.checkpoint(model)).toBe(3);
    await store.write({ model, rows: [row('a', 4)], checkpoint: 4 });
    await store.replace(model, beside);
    expect(await idsWithRow(store, model, ['a'])).toEqual(new Set(['a']));
    expect(await store.checkpoint(model)).toBe(4);
  });

  test('who was further than what replaced a read model is refused, also with the same object', async () => {
    const { store, model } = at();
    const beside = `${model}_beside`;
    await store.write({ model: beside, rows: [row('a', 2)], checkpoint: 2 });
    await store.write({ model, rows: [row('a', 2), row('b', 3, { order: 2 })], checkpoint: 3 });
    await store.replace(model, beside);
    await expect(store.write({ model, rows: [row('c', 4)], checkpoint: 4 })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await store.checkpoint(model)).toBe(2);
    expect(await idsWithRow(store, model, ['a', 'b', 'c'])).toEqual(new Set(['a']));
    await store.write({ model, rows: [row('b', 3, { order: 2 })], checkpoint: 3 });
    expect(await store.checkpoint(model)).toBe(3);
  });

  test('one rebuild after the other works, with pages in order', async () => {
    const { store, model } = at();
    const beside = `${model}_beside`;
    for (const position of [5, 6, 7]) {
      await store.drop(beside);
      await store.write({
        model: beside,
        rows: [row('b', position, { order: 2 }), row('a', position)],
        checkpoint: position,
      });
      await store.replace(model, beside);
      const rows = await store.page(model, { partition: 'p', limit: 10 });
      expect(rows).toEqual([row('a', position), row('b', position, { order: 2 })]);
    }
  });

  test('drop removes all of a read model, and can be repeated', async () => {
    const { store, other, model } = at();
    await store.write({ model, rows: [row('a', 1)], checkpoint: 1 });
    await store.park(model, parked('x'));
    await store.drop(model);
    await other.drop(model);
    expect(await idsWithRow(store, model, ['a'])).toEqual(new Set());
    expect(await other.checkpoint(model)).toBe(0);
    expect(await store.parked(model)).toEqual([]);
  });

  test('a read model that is begun is empty, and remembers the log that it is built from', async () => {
    const { store, other, model } = at();
    expect(await store.builtFrom(model)).toBeUndefined();
    await store.write({ model, rows: [row('old', 1)], checkpoint: 7 });
    await store.park(model, parked('old'));
    expect(await other.builtFrom(model)).toBeUndefined();

    await other.begin(model, 'log a');
    expect(await store.checkpoint(model)).toBe(0);
    expect(await idsWithRow(store, model, ['old'])).toEqual(new Set());
    expect(await store.parked(model)).toEqual([]);
    await store.write({ model, rows: [row('a', 2)], checkpoint: 3 });
    await other.write({ model, rows: [row('b', 3)], checkpoint: 3 });
    await store.write({ model, rows: [], checkpoint: 4 });
    expect([await other.builtFrom(model), await other.checkpoint(model)]).toEqual(['log a', 4]);

    await store.begin(model, 'log b');
    await store.begin(model, 'log b');
    expect([await other.builtFrom(model), await other.checkpoint(model)]).toEqual(['log b', 0]);
    expect(await other.count(model)).toBe(0);
    await other.drop(model);
    expect(await store.builtFrom(model)).toBeUndefined();
  });

  test('who writes a read model that was begun anew meanwhile is refused', async () => {
    const { store, other, model } = at();
    await store.begin(model, 'log a');
    await store.write({ model, rows: [row('a', 2)], checkpoint: 5 });
    await other.begin(model, 'log b');
    await expect(store.write({ model, rows: [row('a', 6)], checkpoint: 6 })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect([await store.checkpoint(model), await store.count(model)]).toEqual([0, 0]);
  });

  test('of read models that are written together, one that was begun anew has the write refused, and all go on from their checkpoints', async () => {
    const { store, other, model } = at();
    const second = `second_${model}`;
    const both = (position: number, ...models: string[]) =>
      models.map((name) => ({ model: name, rows: [row('a', position)], checkpoint: position }));
    await store.write(...both(5, model, second));
    await other.begin(second, 'log b');
    await expect(store.write(...both(6, model, second))).rejects.toMatchObject({ code: 'conflict' });
    expect([await store.checkpoint(second), await store.count(second)]).toEqual([0, 0]);
    expect(await store.checkpoint(model)).toBeOneOf([5, 6]);
    await store.write(...both(7, model, second));
    expect([await other.checkpoint(model), await other.checkpoint(second)]).toEqual([7, 7]);
    expect(await other.load(model, ['a'])).toEqual([row('a', 7)]);
    await store.drop(second);
  });

  test('replace brings the log along', async () => {
    const { store, other, model } = at();
    const beside = `${model}_beside`;
    await store.begin(model, 'log a');
    await store.write({ model, rows: [row('old', 9)], checkpoint: 9 });
    await store.begin(beside, 'log b');
    await store.write({ model: beside, rows: [row('new', 2)], checkpoint: 2 });
    await store.replace(model, beside);
    expect([await other.builtFrom(model), await other.checkpoint(model)]).toEqual(['log b', 2]);
    expect(await other.builtFrom(beside)).toBeUndefined();
  });
}
