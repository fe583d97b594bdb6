import { expect, test } from 'vitest';
import type { ReadModels } from '../../../src/storage/readModels.ts';
import { idsWithRow } from '../../support/eventually.ts';
import { row } from './readModelsRows.ts';

/** Two instances over one store, and a read model that is the test's own. */
export interface Two {
  store: ReadModels;
  other: ReadModels;
  model: string;
}

export function guardedWritesContract(at: () => Two): void {
  test('an older or equal position changes nothing', async () => {
    const { store, model } = at();
    await store.write({ model, rows: [row('a', 5)], checkpoint: 5 });
    await store.write({ model, rows: [row('a', 5)], checkpoint: 5 });
    await store.write({ model, rows: [row('a', 4, { body: { at: 'zzzz, older' } })], checkpoint: 5 });
    expect(await store.load(model, ['a'])).toEqual([row('a', 5)]);
    await store.write({ model, rows: [row('a', 6)], checkpoint: 6 });
    expect(await store.load(model, ['a'])).toEqual([row('a', 6)]);
  });

  test('a batch may be repeated, wholly or in part, among new rows', async () => {
    const { store, model } = at();
    const batch = Array.from({ length: 450 }, (_, index) => row(`r${index}`, index + 1, { order: index }));
    await store.write({ model, rows: batch.slice(0, 300), checkpoint: 300 });
    await store.write({ model, rows: batch, checkpoint: 450 });
    await store.write({ model, rows: batch, checkpoint: 450 });
    expect(await store.count(model)).toBe(450);
    expect(await store.page(model, { partition: 'p', limit: 1_000 })).toEqual(batch);
  });

  test('writers of the same rows, in any order and at once, end at the highest position', async () => {
    const { store, other, model } = at();
    await store.write({ model, rows: [], checkpoint: 0 });
    await other.checkpoint(model);
    const ids = Array.from({ length: 25 }, (_, index) => `r${index}`);
    const positions = Array.from({ length: 12 }, (_, index) => ((index * 7) % 12) + 1);
    await Promise.all(
      positions.map((position, index) =>
        (index % 2 ? store : other).write({
          model,
          rows: ids.map((id, order) => row(id, position, { order })),
          checkpoint: position,
        }),
      ),
    );
    const rows = await store.page(model, { partition: 'p', limit: 100 });
    expect(rows).toEqual(ids.map((id, order) => row(id, 12, { order })));
    expect(await store.checkpoint(model)).toBe(12);
  });
}

export function checkpointsContract(at: () => Two): void {
  test('a checkpoint is kept, also by a batch without rows, and only rises', async () => {
    const { store, other, model } = at();
    await store.write({ model, rows: [], checkpoint: 7 });
    expect(await other.checkpoint(model)).toBe(7);
    await store.write({ model, rows: [row('a', 3)], checkpoint: 3 });
    expect(await store.checkpoint(model)).toBe(7);
    await store.write({ model, rows: [], checkpoint: Number.MAX_SAFE_INTEGER });
    expect(await other.checkpoint(model)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('batches of several read models, and several of one, are written together', async () => {
    const { store, other, model } = at();
    const beside = `${model}_beside`;
    await store.write(
      { model, rows: [row('a', 1)], checkpoint: 0 },
      { model: beside, rows: [row('c', 4)], checkpoint: 4 },
      { model, rows: [row('b', 2)], checkpoint: 3 },
    );
    expect(await idsWithRow(other, model, ['a', 'b', 'c'])).toEqual(new Set(['a', 'b']));
    expect(await idsWithRow(other, beside, ['a', 'b', 'c'])).toEqual(new Set(['c']));
    expect([await other.checkpoint(model), await other.checkpoint(beside)]).toEqual([3, 4]);
    await store.write();
  });

  test('a read model that was set back refuses its batch, and keeps no other from being repeated', async () => {
    const { store, other, model } = at();
    const beside = `${model}_beside`;
    await store.write({ model, rows: [], checkpoint: 5 }, { model: beside, rows: [], checkpoint: 5 });
    await other.drop(model);
    const batches = [
      { model: beside, rows: [row('a', 6)], checkpoint: 6 },
      { model, rows: [row('a', 6)], checkpoint: 6 },
    ];
    await expect(store.write(...batches)).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.checkpoint(model)).toBe(0);
    expect(await idsWithRow(other, model, ['a'])).toEqual(new Set());
    await store.checkpoint(beside);
    await store.write(...batches);
    for (const one of [model, beside]) {
      expect(await idsWithRow(other, one, ['a'])).toEqual(new Set(['a']));
      expect(await other.checkpoint(one)).toBe(6);
    }
  });

  test('a writer whose read model was dropped is refused until it has read the checkpoint again', async () => {
    const { store, other, model } = at();
    await store.write({ model, rows: [row('a', 5)], checkpoint: 5 });
    await other.drop(model);
    await expect(store.write({ model, rows: [row('b', 6)], checkpoint: 6 })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await store.checkpoint(model)).toBe(0);
    await store.write({ model, rows: [row('a', 5), row('b', 6)], checkpoint: 6 });
    expect(await idsWithRow(other, model, ['a', 'b'])).toEqual(new Set(['a', 'b']));
    expect(await other.checkpoint(model)).toBe(6);
  });
}

export function parkedContract(at: () => Two): void {
  test('parked events are listed by position, each once', async () => {
    const { store, other, model } = at();
    const event = (position: number) => ({ position, eventId: `event-${position}`, reason: 'TypeError' });
    await store.park(model, event(9));
    await store.park(model, event(4));
    await other.park(model, { ...event(9), reason: 'parked again' });
    expect(await other.parked(model)).toEqual([event(4), event(9)]);
    expect(await store.parked(`${model}2`)).toEqual([]);
  });

  test('at most 1,000 are listed', async () => {
    const { store, model } = at();
    for (let position = 1_010; position > 0; position--) {
      await store.park(model, { position, eventId: `event-${position}`, reason: 'Error' });
    }
    const positions = (await store.parked(model)).map(({ position }) => position);
    expect(positions).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
  });
}
