import { expect, test } from 'vitest';
import type { ReadModels, Row } from '../../../src/storage/readModels.ts';
import { idsWithRow } from '../../support/eventually.ts';

/** A row whose body tells which write it came from. */
export function row(id: string, position: number, overrides: Partial<Row> = {}): Row {
  return { id, partition: 'p', order: 1, position, body: { at: position }, ...overrides };
}

export function rowsContract(at: () => { store: ReadModels; model: string }): void {
  test('a read model that was never written is empty', async () => {
    const { store, model } = at();
    expect(await idsWithRow(store, model, ['a'])).toEqual(new Set());
    expect(await store.load(model, ['a'])).toEqual([]);
    expect(await store.page(model, { partition: 'p', limit: 10 })).toEqual([]);
    expect(await store.count(model)).toBe(0);
    expect(await store.checkpoint(model)).toBe(0);
    expect(await store.parked(model)).toEqual([]);
  });

  test('rows are found by id, absent ones are left out', async () => {
    const { store, model } = at();
    await store.write({ model, rows: [row('a', 1), row('b', 2)], checkpoint: 2 });
    expect(await idsWithRow(store, model, ['b', 'c', 'a'])).toEqual(new Set(['a', 'b']));
    expect(await store.load(model, ['c', 'b'])).toEqual([row('b', 2)]);
    expect(await idsWithRow(store, model, [])).toEqual(new Set());
    expect(await store.load(model, [])).toEqual([]);
  });

  test('read models do not see each other', async () => {
    const { store, model } = at();
    await store.write({ model, rows: [row('a', 1)], checkpoint: 1 });
    expect(await idsWithRow(store, `${model}2`, ['a'])).toEqual(new Set());
    expect(await store.checkpoint(`${model}2`)).toBe(0);
  });

  const ids = {
    percent: 'clinic.patient-a%2Fb%25',
    unicode: 'ü\u0308-Ω-日本',
    emoji: '👩‍⚕️😀',
    quotes: `'"; DROP TABLE x; --`,
    dots: '../$where.{$gt: 1}',
    spaces: '  a\tb\n',
    empty: '',
    '10 KB': 'x'.repeat(10_000),
    '10 KB of emoji': '😀'.repeat(2_500),
  };
  test.each(Object.entries(ids))('an id may be anything: %s', async (_label, id) => {
    const { store, model } = at();
    const written = row(id, 1, { partition: id });
    await store.write({ model, rows: [written, row(`${id}x`, 1, { partition: `${id}x` })], checkpoint: 1 });
    await store.write({ model, rows: [written], checkpoint: 1 });
    expect(await idsWithRow(store, model, [id])).toEqual(new Set([id]));
    expect(await store.load(model, [id])).toEqual([written]);
    expect(await store.page(model, { partition: id, limit: 10 })).toEqual([written]);
  });

  test('a body comes back as it was', async () => {
    const { store, model } = at();
    const body = {
      empty: '',
      nul: 'a\u0000b',
      control: '\u0001\u001f\u007f',
      unicode: 'ü 日本 😀',
      loneSurrogate: '\ud800',
      operators: '$set a.b %2F \\ " \'',
      numbers: [0, -1, 1.5, 2 ** 40, Number.MAX_SAFE_INTEGER],
      nothing: null,
      yes: true,
      nested: { list: [{ deep: { deeper: [[]] } }, {}] },
      long: 'x'.repeat(100_000),
    };
    await store.write({ model, rows: [row('a', 1, { body })], checkpoint: 1 });
    const [read] = await store.load(model, ['a']);
    expect(read?.body).toEqual(body);
  });

  test('pages go through a partition by rising order, and not beyond it', async () => {
    const { store, model } = at();
    const count = 1_203;
    const ofP = Array.from({ length: count }, (_, index) =>
      row(`p${index}`, index + 1, { order: index * 3 }),
    );
    const ofQ = Array.from({ length: 40 }, (_, index) =>
      row(`q${index}`, index + 1, { partition: 'q', order: index * 3 + 1 }),
    );
    const shuffled = [...ofP, ...ofQ].sort((a, b) => a.id.localeCompare(b.id));
    await store.write({ model, rows: shuffled, checkpoint: count });
    expect(await store.count(model)).toBe(count + 40);

    const seen: Row[] = [];
    for (;;) {
      const after = seen.at(-1)?.order;
      const page = await store.page(model, {
        partition: 'p',
        limit: 500,
        ...(after !== undefined && { after }),
      });
      seen.push(...page);
      if (page.length < 500) break;
    }
    expect(seen).toEqual(ofP);
    expect(await store.page(model, { partition: 'q', limit: 1_000 })).toEqual(ofQ);
    expect(await store.page(model, { partition: 'q', after: 2, limit: 1 })).toEqual([ofQ[1]]);
    expect(await store.page(model, { partition: 'Q', limit: 10 })).toEqual([]);
    const everyId = ofP.map(({ id }) => id);
    expect((await idsWithRow(store, model, everyId)).size).toBe(count);
    expect(await store.load(model, everyId)).toHaveLength(count);
  });

  test('a scan goes through the rows of all partitions by rising id, whether they have lists and terms or not', async () => {
    const { store, model } = at();
    expect(await store.scan(model, { limit: 10 })).toEqual([]);
    const plain = Array.from({ length: 250 }, (_, index) =>
      row(`r${index}`, index + 1, { partition: `p${index % 3}` }),
    );
    const scanned = async () => {
      const seen: Row[] = [];
      for (;;) {
        const rows = await store.scan(model, { after: seen.at(-1)?.id, limit: 100 });
        seen.push(...rows);
        if (rows.length < 100) return seen;
      }
    };
    const byId = (rows: Row[]) => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await store.write({ model, rows: plain, checkpoint: 250 });
    expect(await scanned()).toEqual(byId(plain));
    const found = [
      row('a listed', 251, { lists: ['x=1'] }),
      row('z found', 252, { search: { terms: ['zeta'], since: 252 } }),
    ];
    await store.write({ model, rows: found, checkpoint: 252 });
    expect(await scanned()).toEqual(byId([...plain, ...found]));
  });

  test('a row may change its partition, and keeps its place in the order', async () => {
    const { store, model } = at();
    await store.write({ model, rows: [row('a', 1, { order: 7 })], checkpoint: 1 });
    await store.write({ model, rows: [row('a', 2, { order: 9, partition: 'gone' })], checkpoint: 2 });
    expect(await store.page(model, { partition: 'p', limit: 10 })).toEqual([]);
    expect(await store.page(model, { partition: 'gone', limit: 10 })).toEqual([
      row('a', 2, { order: 7, partition: 'gone' }),
    ]);
  });
}
