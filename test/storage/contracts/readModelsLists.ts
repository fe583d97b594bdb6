import { expect, test } from 'vitest';
import type { ReadModels, Row } from '../../../src/storage/readModels.ts';
import { row } from './readModelsRows.ts';
import type { Two } from './readModelsWrites.ts';

const idsOf = (rows: Row[]) => rows.map(({ id }) => id);

export function listsContract(at: () => Two): void {
  /** Row `rN` at order and position N, on these lists. */
  const listed = (at: number, lists: string[], overrides: Partial<Row> = {}) =>
    row(`r${at}`, at, { order: at, lists, ...overrides });

  async function onList(store: ReadModels, model: string, list: string, after?: number): Promise<string[]> {
    const query = { partition: 'p', list, limit: 100, ...(after !== undefined && { after }) };
    return idsOf(await store.page(model, query));
  }

  test('rows come back with their lists, or without', async () => {
    const { store, other, model } = at();
    const rows = [listed(1, ['a', 'b']), listed(2, []), row('plain', 3, { order: 3 })];
    await store.write({ model, rows, checkpoint: 3 });
    expect((await store.load(model, ['r1', 'r2', 'plain'])).toSorted((a, b) => a.order - b.order)).toEqual(
      rows,
    );
    expect(await other.page(model, { partition: 'p', limit: 10 })).toEqual(rows);
    expect(await other.page(model, { partition: 'p', list: 'a', limit: 10 })).toEqual(rows.slice(0, 1));
    expect(await other.changes(model, { partition: 'p', limit: 10 })).toEqual([rows[1], rows[0]]);
  });

  test('a read model without lists has none, until the first row with some', async () => {
    const { store, other, model } = at();
    await store.write({ model, rows: [row('plain', 1)], checkpoint: 1 });
    expect(await onList(other, model, 'a')).toEqual([]);
    expect(await other.changes(model, { partition: 'p', limit: 10 })).toEqual([]);
    await store.write({ model, rows: [listed(2, ['a'])], checkpoint: 2 });
    expect(await onList(other, model, 'a')).toEqual(['r2']);
    expect(idsOf(await other.changes(model, { partition: 'p', limit: 10 }))).toEqual(['r2']);
    expect(idsOf(await other.load(model, ['plain']))).toEqual(['plain']);
  });

  test('pages go through a list by rising order, whatever it is called', async () => {
    const { store, model } = at();
    const name = `f=%2F '"$.ü 日本`;
    const rows = Array.from({ length: 40 }, (_, index) => listed(index + 1, index % 2 ? [name] : ['other']));
    const elsewhere = listed(41, [name], { partition: 'q' });
    await store.write({ model, rows: [...rows, elsewhere].reverse(), checkpoint: 41 });
    const even = rows.filter(({ order }) => order % 2 === 0);
    expect(await onList(store, model, name)).toEqual(idsOf(even));
    expect(await onList(store, model, name, 20)).toEqual(idsOf(even.slice(10)));
    expect(idsOf(await store.page(model, { partition: 'p', list: name, after: 20, limit: 3 }))).toEqual(
      idsOf(even.slice(10, 13)),
    );
    expect(idsOf(await store.page(model, { partition: 'q', list: name, limit: 3 }))).toEqual(['r41']);
    expect(await onList(store, model, 'nobody')).toEqual([]);
  });

  test('the heads of lists are the first rows of each, however long it is', async () => {
    const { store, other, model } = at();
    const heads = async (lists: string[], limit: number, partition = 'p') =>
      (await other.heads(model, { partition, lists, limit })).map(idsOf);
    expect(await heads(['a', 'b'], 3)).toEqual([[], []]);
    const rows = [1, 2, 3, 4, 5].map((order) => listed(order, order % 2 ? ['a', 'f=%2F "$'] : ['b']));
    const elsewhere = listed(6, ['a'], { partition: 'q' });
    await store.write({ model, rows: [...rows, elsewhere].reverse(), checkpoint: 6 });
    expect(await heads(['b', 'nobody', 'f=%2F "$', 'a'], 3)).toEqual([
      ['r2', 'r4'],
      [],
      ['r1', 'r3', 'r5'],
      ['r1', 'r3', 'r5'],
    ]);
    expect(await heads(['a', 'b'], 1)).toEqual([['r1'], ['r2']]);
    expect(await heads(['a'], 9, 'q')).toEqual([['r6']]);
    expect(await heads([], 9)).toEqual([]);
    const long = Array.from({ length: 60 }, (_, index) => listed(index + 10, ['long', `own ${index}`]));
    await store.write({ model, rows: long, checkpoint: 70 });
    const own = long.map((_, index) => `own ${index}`).slice(0, 20);
    expect(await heads(['long', ...own], 4)).toEqual([
      idsOf(long.slice(0, 4)),
      ...idsOf(long.slice(0, 20)).map((id) => [id]),
    ]);
    expect(await store.heads(model, { partition: 'p', lists: ['b'], limit: 1 })).toEqual([rows.slice(1, 2)]);
  });

  test('the rows of a partition and of a list are counted, no further than is asked for', async () => {
    const { store, other, model } = at();
    expect(await store.countPage(model, { partition: 'p', limit: 10 })).toBe(0);
    expect(await store.countPage(model, { partition: 'p', list: 'a', limit: 10 })).toBe(0);
    const rows = [1, 2, 3, 4, 5].map((order) => listed(order, order % 2 ? ['a', 'b'] : ['b']));
    const elsewhere = listed(6, ['a'], { partition: 'q' });
    await store.write({ model, rows: [...rows, elsewhere, row('plain', 7, { order: 7 })], checkpoint: 7 });
    const counts = (limit: number) =>
      Promise.all([
        other.countPage(model, { partition: 'p', limit }),
        other.countPage(model, { partition: 'p', list: 'a', limit }),
        other.countPage(model, { partition: 'q', list: 'a', limit }),
        other.countPage(model, { partition: 'p', list: 'nobody', limit }),
      ]);
    expect(await counts(100)).toEqual([6, 3, 1, 0]);
    expect(await counts(2)).toEqual([2, 2, 1, 0]);
  });

  test('a row that changes its lists leaves the earlier ones, and keeps its place', async () => {
    const { store, model } = at();
    await store.write({ model, rows: [listed(1, ['a', 'b']), listed(2, ['a'])], checkpoint: 2 });
    const changed = listed(1, ['b', 'c'], { position: 3, order: 9 });
    await store.write({ model, rows: [changed], checkpoint: 3 });
    await store.write({ model, rows: [listed(1, ['a'])], checkpoint: 3 });
    for (const [list, ids] of Object.entries({ a: ['r2'], b: ['r1'], c: ['r1'] })) {
      expect([list, await onList(store, model, list)]).toEqual([list, ids]);
    }
    expect(await onList(store, model, 'c', 1)).toEqual([]);
  });

  test('a row that is taken off all lists, or moves to another partition, is no longer found there', async () => {
    const { store, model } = at();
    await store.write({ model, rows: [listed(1, ['a']), listed(2, ['a']), listed(3, ['a'])], checkpoint: 3 });
    const { lists, ...unlisted } = listed(1, [], { position: 4 });
    const moved = listed(2, ['a'], { position: 5, partition: 'q' });
    await store.write({ model, rows: [unlisted, moved], checkpoint: 5 });
    expect(await onList(store, model, 'a')).toEqual(['r3']);
    expect(idsOf(await store.changes(model, { partition: 'p', limit: 10 }))).toEqual(['r3']);
    expect(idsOf(await store.changes(model, { partition: 'q', limit: 10 }))).toEqual(['r2']);
    expect(idsOf(await store.page(model, { partition: 'p', limit: 10 }))).toEqual(['r1', 'r3']);
  });

  test('changes go by falling position, between two that are not among them', async () => {
    const { store, model } = at();
    await store.write({ model, rows: [1, 2, 3, 4, 5].map((at) => listed(at, [])), checkpoint: 5 });
    await store.write({ model, rows: [listed(2, [], { position: 6 })], checkpoint: 6 });
    const changes = async (query: object) =>
      idsOf(await store.changes(model, { partition: 'p', limit: 10, ...query }));
    expect(await changes({})).toEqual(['r2', 'r5', 'r4', 'r3', 'r1']);
    expect(await changes({ limit: 2 })).toEqual(['r2', 'r5']);
    expect(await changes({ below: 5 })).toEqual(['r4', 'r3', 'r1']);
    expect(await changes({ above: 4 })).toEqual(['r2', 'r5']);
    expect(await changes({ above: 3, below: 6 })).toEqual(['r5', 'r4']);
    expect(await changes({ partition: 'q' })).toEqual([]);
  });

  test('writers of the same rows at once agree about their lists', async () => {
    const { store, other, model } = at();
    await store.write({ model, rows: [listed(0, [])], checkpoint: 0 });
    await other.checkpoint(model);
    const positions = Array.from({ length: 12 }, (_, index) => ((index * 7) % 12) + 1);
    await Promise.all(
      positions.map((position, index) =>
        (index % 2 ? store : other).write({
          model,
          rows: [1, 2, 3].map((at) => listed(at, [`list ${position % 4}`], { position })),
          checkpoint: position,
        }),
      ),
    );
    for (const list of [0, 1, 2, 3]) {
      expect(await onList(store, model, `list ${list}`)).toEqual(list === 0 ? ['r1', 'r2', 'r3'] : []);
    }
  });

  test('lists go with their read model when it is replaced, begun anew or dropped', async () => {
    const { store, other, model } = at();
    const beside = `${model}_beside`;
    for (const position of [5, 6, 7]) {
      await store.drop(beside);
      await store.begin(beside, 'log');
      const rows = [listed(1, [`a${position}`], { position }), listed(2, [], { position: position + 1 })];
      await store.write({ model: beside, rows, checkpoint: 9 });
      await store.replace(model, beside);
      expect(await onList(store, model, `a${position}`)).toEqual(['r1']);
      expect(await onList(other, model, `a${position - 1}`)).toEqual([]);
      expect(idsOf(await other.changes(model, { partition: 'p', limit: 10 }))).toEqual(['r2', 'r1']);
    }
    await store.begin(model, 'log');
    expect([
      await onList(other, model, 'a7'),
      await other.changes(model, { partition: 'p', limit: 9 }),
    ]).toEqual([[], []]);
    await store.write({ model, rows: [listed(1, ['b'])], checkpoint: 1 });
    expect(await onList(other, model, 'b')).toEqual(['r1']);
    await store.drop(model);
    expect(await onList(store, model, 'b')).toEqual([]);
    await store.write({ model, rows: [listed(2, ['b'])], checkpoint: 2 });
    expect(await onList(store, model, 'b')).toEqual(['r2']);
  });
}
