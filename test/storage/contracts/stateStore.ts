import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ServiceError } from '../../../src/platform/errors.ts';
import type { StateRow, StateStore, StateTable } from '../../../src/storage/stateStore.ts';

import { eventually } from '../../support/eventually.ts';

interface Body {
  at: number;
  text?: string | undefined;
}
type Row = StateRow<Body>;
interface Two {
  store: StateStore;
  /** Another instance, as another process would have. */
  other: StateStore;
  table: StateTable<Body>;
}

const shape = z.object({ at: z.number(), text: z.string().optional() });
const all = { partition: 'p', limit: 1_000 };

function row(id: string, revision: number, overrides: Partial<Row> = {}): Row {
  return { id, partition: 'p', order: 1, revision, body: { at: revision }, ...overrides };
}

function rowsInOrder(count: number): Row[] {
  return Array.from({ length: count }, (_, index) => row(`r${index}`, index + 1, { order: index }));
}

/** What every backend of the state store promises. `open` opens one more instance over the same store. */
export function stateStoreContract(open: () => Promise<StateStore>): void {
  let store: StateStore;
  let other: StateStore;
  let table: StateTable<Body>;
  beforeAll(async () => {
    [store, other] = await Promise.all([open(), open()]);
  });
  afterAll(() => Promise.all([store.close(), other.close()]));
  beforeEach(() => {
    table = { name: `table_${randomBytes(4).toString('hex')}_v1`, body: shape };
  });
  const at = () => ({ store, other, table });

  describe('reading', () => readingContract(at));
  describe('saving', () => savingContract(at));
  describe('swapping', () => swappingContract(at));
  describe('removing', () => removingContract(at));
  describe('writing together', () => writingContract(at));
}

function readingContract(at: () => Two): void {
  test('a table that was never written is empty, and others do not see what is written', async () => {
    const { store, table } = at();
    expect(await store.load(table, ['a'])).toEqual([]);
    expect(await store.page(table, all)).toEqual([]);
    await store.save(table, [row('a', 1)]);
    expect(await store.load({ ...table, name: `${table.name}2` }, ['a'])).toEqual([]);
    await store.check();
  });

  test('ids, partitions and texts may be anything', async () => {
    const { store, other, table } = at();
    const texts = ['clinic.patient-a%2Fb', `'"; DROP TABLE x; --`, '../$where.{$gt: 1}', '👩‍⚕️', '', '\ud800'];
    const rows = texts.map((text, index) =>
      row(`${index}${text}`.toWellFormed(), index + 1, {
        partition: text.toWellFormed(),
        body: { at: index, text },
      }),
    );
    await store.save(table, rows);
    for (const one of rows) {
      expect(await other.load(table, [one.id])).toEqual([one]);
      expect(await other.page(table, { partition: one.partition, limit: 10 })).toEqual([one]);
    }
    expect(await store.load(table, [])).toEqual([]);
  });

  test('pages go through a partition by rising order, and not beyond it', async () => {
    const { store, table } = at();
    const rows = rowsInOrder(700);
    await store.save(table, [...rows.toReversed(), row('q', 1, { partition: 'q' })]);
    const seen: Row[] = [];
    for (let after = -1; ; after = seen.at(-1)?.order ?? after) {
      const page = await store.page(table, { partition: 'p', after, limit: 300 });
      seen.push(...page);
      if (page.length < 300) break;
    }
    expect(seen).toEqual(rows);
  });

  test('a scan goes through all rows of a table by rising id', async () => {
    const { store, other, table } = at();
    expect(await store.scan(table, { limit: 10 })).toEqual([]);
    const ids = ['', 'A', 'a', 'b', 'é', '👩‍⚕️', ...rowsInOrder(700).map(({ id }) => id)];
    const rows = ids.map((id, index) => row(id, index + 1, { partition: `p${index % 3}`, order: index }));
    await store.save(table, rows.toReversed());
    const seen: Row[] = [];
    for (;;) {
      const found = await other.scan(table, { after: seen.at(-1)?.id, limit: 300 });
      seen.push(...found);
      if (found.length < 300) break;
    }
    expect(seen).toEqual(rows.toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))));
  });

  test('a row whose body is not of the shape of its table is told, and not given out', async () => {
    const { store, table } = at();
    await store.save(table, [row('a', 1)]);
    const stricter: StateTable<{ name: string }> = { name: table.name, body: z.object({ name: z.string() }) };
    await expect(store.load(stricter, ['a'])).rejects.toThrow();
    await expect(store.page(stricter, all)).rejects.toThrow();
  });
}

function savingContract(at: () => Two): void {
  test('an older or equal revision changes nothing', async () => {
    const { store, other, table } = at();
    await store.save(table, []);
    await store.save(table, [row('a', 5), row('b', 1, { order: 2 })]);
    await other.save(table, [row('a', 4), row('b', 2, { order: 2 })]);
    await other.save(table, [row('a', 5)]);
    expect(await store.page(table, all)).toEqual([row('a', 5), row('b', 2, { order: 2 })]);
  });

  test('any number of rows and writers at once', async () => {
    const { store, other, table } = at();
    const rows = rowsInOrder(900);
    await Promise.all([
      store.save(table, rows.slice(0, 500)),
      other.save(table, rows.slice(400)),
      store.save(table, rows.slice(200, 700)),
    ]);
    expect(await store.page(table, all)).toEqual(rows);
  });
}

function swappingContract(at: () => Two): void {
  test('swap writes where the revision is the expected one, and nowhere else', async () => {
    const { store, other, table } = at();
    expect(await store.swap(table, row('a', 3), 2)).toBe(false);
    expect(await store.load(table, ['a'])).toEqual([]);
    expect(await store.swap(table, row('a', 3), undefined)).toBe(true);
    expect(await other.swap(table, row('a', 4), undefined)).toBe(false);
    expect(await other.swap(table, row('a', 4), 2)).toBe(false);
    expect(await other.swap(table, row('a', 4), 4)).toBe(false);
    expect(await store.load(table, ['a'])).toEqual([row('a', 3)]);
    expect(await other.swap(table, row('a', 2 ** 52), 3)).toBe(true);
    expect(await store.swap(table, row('a', 2 ** 52 + 1), 2 ** 52)).toBe(true);
    expect(await store.load(table, ['a'])).toEqual([row('a', 2 ** 52 + 1)]);
  });

  test('of many who swap at once, one succeeds', async () => {
    const { store, other, table } = at();
    let rushes = 0;
    const rush = (expected: number | undefined) =>
      eventually(async () => {
        const id = `row ${++rushes}`;
        if (expected !== undefined) await store.swap(table, row(id, expected), undefined);
        const swaps = Array.from({ length: 20 }, (_, index) =>
          (index % 2 ? store : other)
            .swap(table, row(id, (expected ?? 0) + 100), expected)
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

  test('swap sees that the row was removed', async () => {
    const { store, other, table } = at();
    await store.swap(table, row('a', 1), undefined);
    await other.remove(table, ['a'], 1);
    expect(await store.swap(table, row('a', 2), 1)).toBe(false);
    expect(await store.swap(table, row('a', 1), undefined)).toBe(true);
    expect(await other.page(table, all)).toEqual([row('a', 1)]);
  });
}

function removingContract(at: () => Two): void {
  test('remove takes rows out, but none that is above the revision', async () => {
    const { store, other, table } = at();
    const rows = rowsInOrder(450);
    await store.save(table, rows);
    await other.remove(
      table,
      rows.map(({ id }) => id),
      300,
    );
    await other.remove(table, ['r300', 'absent'], 300);
    await other.remove(table, [], 999);
    expect(await store.page(table, all)).toEqual(rows.slice(300));
    await other.save(table, rows.slice(0, 1));
    expect(await store.load(table, ['r0', 'r1'])).toEqual(rows.slice(0, 1));
  });

  test('prune removes all that is below a revision, of that table alone', async () => {
    const { store, other, table } = at();
    const rows = rowsInOrder(2_300);
    const beside = { ...table, name: `${table.name}2` };
    await store.save(table, rows);
    await store.save(beside, [row('a', 1)]);
    await other.prune(table, 2_201);
    expect(await store.page(table, all)).toEqual(rows.slice(2_200));
    await store.prune(table, 2_201);
    expect(await store.page(table, all)).toHaveLength(100);
    expect(await store.page(beside, all)).toHaveLength(1);
    await store.prune({ ...table, name: `${table.name}3` }, 5);
  });
}

function writingContract(at: () => Two): void {
  test('writes are done in their order, in several tables', async () => {
    const { store, other, table } = at();
    const second = { ...table, name: `${table.name}2` };
    await store.save(table, [row('old', 1), row('newer', 3, { order: 2 })]);
    const done = await store.write([
      { table, swap: row('new', 1, { order: 3 }), expected: undefined },
      { table: second, save: [row('a', 1), row('b', 2, { order: 2 })] },
      { table, remove: ['old', 'newer'], upTo: 2 },
      { table: second, swap: row('a', 2), expected: 1 },
    ]);
    expect(done).toBe(true);
    expect(await other.page(table, all)).toEqual([
      row('newer', 3, { order: 2 }),
      row('new', 1, { order: 3 }),
    ]);
    expect(await other.page(second, all)).toEqual([row('a', 2), row('b', 2, { order: 2 })]);
    expect(await store.write([])).toBe(true);
  });

  test('nothing is written after a swap that fails', async () => {
    const { store, other, table } = at();
    const done = await store.write([
      { table, save: [row('before', 1)] },
      { table, swap: row('a', 2), expected: 1 },
      { table, save: [row('after', 1, { order: 2 })] },
    ]);
    expect(done).toBe(false);
    expect(await other.page(table, all)).toEqual([row('before', 1)]);
  });

  test('a store that is ordered shows each call what earlier calls write; what may wait is written nevertheless', async () => {
    const { store, other, table } = at();
    const waiting = store.write([{ table, save: [row('a', 1)] }], { mayWait: true });
    const seen = store.isOrdered ? store.load(table, ['a']) : waiting.then(() => store.load(table, ['a']));
    const swapped = seen.then(() =>
      store.write([{ table, swap: row('a', 2), expected: 1 }], { mayWait: true }),
    );
    expect(await Promise.all([waiting, seen, swapped])).toEqual([true, [row('a', 1)], true]);
    expect(await other.load(table, ['a'])).toEqual([row('a', 2)]);
  });

  test('of many who begin with the same swap at once, only one writes what follows', async () => {
    const { store, other, table } = at();
    const writes = Array.from({ length: 10 }, (_, index) =>
      (index % 2 ? store : other).write([
        { table, swap: row('claim', 1), expected: undefined },
        { table, save: [row(`by ${index}`, 1, { order: index + 2 })] },
      ]),
    );
    const done = await Promise.all(writes);
    expect(done.filter(Boolean)).toEqual([true]);
    const [claim, ...others] = await store.page(table, all);
    expect([claim, others.map(({ id }) => id)]).toEqual([row('claim', 1), [`by ${done.indexOf(true)}`]]);
  });
}
