import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ReadModels, Row } from '../../src/ports/readModels.ts';
import { eventually } from '../support/eventually.ts';

const LONG_MS = 60_000;

/** A row whose body tells which write it came from. */
function row(id: string, position: number, overrides: Partial<Row> = {}): Row {
  return { id, partition: 'p', order: 1, position, body: { at: position }, ...overrides };
}

function unique(label: string): string {
  return `${label}_${randomBytes(4).toString('hex')}`;
}

/** What every backend of the read models promises. `open` opens one more instance over the same store. */
export function readModelsContract(open: () => Promise<ReadModels>): void {
  let store: ReadModels;
  /** Another instance, as another process would have. */
  let other: ReadModels;
  let model: string;
  beforeAll(async () => {
    [store, other] = await Promise.all([open(), open()]);
  });
  afterAll(() => Promise.all([store.close(), other.close()]));
  beforeEach(() => {
    model = `${unique('model')}_v1`;
  });

  describe('rows', () => rowsContract(() => ({ store, model })));
  describe('guarded writes', () => guardedWritesContract(() => ({ store, other, model })));
  describe('checkpoints', () => checkpointsContract(() => ({ store, other, model })));
  describe('parked events', () => parkedContract(() => ({ store, other, model })));
  describe('rebuilds', () => rebuildsContract(() => ({ store, other, model })));
  describe('leases', () => leasesContract(() => ({ store, other })));
}

function rowsContract(at: () => { store: ReadModels; model: string }): void {
  test('a read model that was never written is empty', async () => {
    const { store, model } = at();
    expect(await store.existing(model, ['a'])).toEqual(new Set());
    expect(await store.load(model, ['a'])).toEqual([]);
    expect(await store.page(model, { partition: 'p', limit: 10 })).toEqual([]);
    expect(await store.count(model)).toBe(0);
    expect(await store.checkpoint(model)).toBe(0);
    expect(await store.parked(model)).toEqual([]);
  });

  test('rows are found by id, absent ones are left out', async () => {
    const { store, model } = at();
    await store.write(model, [row('a', 1), row('b', 2)], 2);
    expect(await store.existing(model, ['b', 'c', 'a'])).toEqual(new Set(['a', 'b']));
    expect(await store.load(model, ['c', 'b'])).toEqual([row('b', 2)]);
    expect(await store.existing(model, [])).toEqual(new Set());
    expect(await store.load(model, [])).toEqual([]);
  });

  test('read models do not see each other', async () => {
    const { store, model } = at();
    await store.write(model, [row('a', 1)], 1);
    expect(await store.existing(`${model}2`, ['a'])).toEqual(new Set());
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
    await store.write(model, [written, row(`${id}x`, 1, { partition: `${id}x` })], 1);
    await store.write(model, [written], 1);
    expect(await store.existing(model, [id])).toEqual(new Set([id]));
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
    await store.write(model, [row('a', 1, { body })], 1);
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
    await store.write(model, shuffled, count);
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
    expect((await store.existing(model, everyId)).size).toBe(count);
    expect(await store.load(model, everyId)).toHaveLength(count);
  });

  test('a row may change its partition, and keeps its place in the order', async () => {
    const { store, model } = at();
    await store.write(model, [row('a', 1, { order: 7 })], 1);
    await store.write(model, [row('a', 2, { order: 9, partition: 'gone' })], 2);
    expect(await store.page(model, { partition: 'p', limit: 10 })).toEqual([]);
    expect(await store.page(model, { partition: 'gone', limit: 10 })).toEqual([
      row('a', 2, { order: 7, partition: 'gone' }),
    ]);
  });
}

interface Two {
  store: ReadModels;
  other: ReadModels;
  model: string;
}

function guardedWritesContract(at: () => Two): void {
  test('an older or equal position changes nothing', async () => {
    const { store, model } = at();
    await store.write(model, [row('a', 5)], 5);
    await store.write(model, [row('a', 5, { body: { at: 'again' } })], 5);
    await store.write(model, [row('a', 4, { body: { at: 'older' } })], 5);
    expect(await store.load(model, ['a'])).toEqual([row('a', 5)]);
    await store.write(model, [row('a', 6)], 6);
    expect(await store.load(model, ['a'])).toEqual([row('a', 6)]);
  });

  test('a batch may be repeated, wholly or in part, among new rows', async () => {
    const { store, model } = at();
    const batch = Array.from({ length: 450 }, (_, index) => row(`r${index}`, index + 1, { order: index }));
    await store.write(model, batch.slice(0, 300), 300);
    await store.write(model, batch, 450);
    await store.write(model, batch, 450);
    expect(await store.count(model)).toBe(450);
    expect(await store.page(model, { partition: 'p', limit: 1_000 })).toEqual(batch);
  });

  test('writers of the same rows, in any order and at once, end at the highest position', async () => {
    const { store, other, model } = at();
    await store.write(model, [], 0);
    await other.checkpoint(model);
    const ids = Array.from({ length: 25 }, (_, index) => `r${index}`);
    const positions = Array.from({ length: 12 }, (_, index) => ((index * 7) % 12) + 1);
    await Promise.all(
      positions.map((position, index) =>
        (index % 2 ? store : other).write(
          model,
          ids.map((id, order) => row(id, position, { order })),
          position,
        ),
      ),
    );
    const rows = await store.page(model, { partition: 'p', limit: 100 });
    expect(rows).toEqual(ids.map((id, order) => row(id, 12, { order })));
    expect(await store.checkpoint(model)).toBe(12);
  });
}

function checkpointsContract(at: () => Two): void {
  test('a checkpoint is kept, also by a batch without rows, and only rises', async () => {
    const { store, other, model } = at();
    await store.write(model, [], 7);
    expect(await other.checkpoint(model)).toBe(7);
    await store.write(model, [row('a', 3)], 3);
    expect(await store.checkpoint(model)).toBe(7);
    await store.write(model, [], Number.MAX_SAFE_INTEGER);
    expect(await other.checkpoint(model)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('a writer whose read model was dropped is refused until it has read the checkpoint again', async () => {
    const { store, other, model } = at();
    await store.write(model, [row('a', 5)], 5);
    await other.drop(model);
    await expect(store.write(model, [row('b', 6)], 6)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.checkpoint(model)).toBe(0);
    await store.write(model, [row('a', 5), row('b', 6)], 6);
    expect(await other.existing(model, ['a', 'b'])).toEqual(new Set(['a', 'b']));
    expect(await other.checkpoint(model)).toBe(6);
  });
}

function parkedContract(at: () => Two): void {
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

function rebuildsContract(at: () => Two): void {
  const parked = (reason: string) => ({ position: 2, eventId: 'event', reason });

  test('replace puts rows, checkpoint and parked events in the place of the earlier ones', async () => {
    const { store, other, model } = at();
    const beside = `${model}_beside`;
    await store.write(model, [row('old', 1), row('both', 3)], 9);
    await store.park(model, parked('old'));
    await other.write(beside, [row('both', 2), row('new', 4, { order: 2 })], 4);
    await other.park(beside, parked('new'));
    expect(await other.count(beside)).toBe(2);

    await other.replace(model, beside);
    expect(await store.page(model, { partition: 'p', limit: 10 })).toEqual([
      row('both', 2),
      row('new', 4, { order: 2 }),
    ]);
    expect(await store.existing(model, ['old', 'both', 'new'])).toEqual(new Set(['both', 'new']));
    expect(await store.parked(model)).toEqual([parked('new')]);
    expect(await other.count(beside)).toBe(0);
    expect(await other.checkpoint(beside)).toBe(0);
    expect(await other.parked(beside)).toEqual([]);

    await expect(store.write(model, [], 10)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.checkpoint(model)).toBe(4);
    await store.write(model, [row('next', 10)], 10);
    expect(await other.checkpoint(model)).toBe(10);
  });

  test('replace can be repeated, and does nothing when there is nothing to put there', async () => {
    const { store, model } = at();
    const beside = `${model}_beside`;
    await store.write(beside, [], 3);
    await store.write(model, [row('old', 1)], 1);
    await store.replace(model, beside);
    expect(await store.count(model)).toBe(0);
    await store.write(model, [row('a', 4)], 4);
    await store.replace(model, beside);
    expect(await store.existing(model, ['a'])).toEqual(new Set(['a']));
    expect(await store.checkpoint(model)).toBe(4);
  });

  test('one rebuild after the other works, with pages in order', async () => {
    const { store, model } = at();
    const beside = `${model}_beside`;
    for (const position of [5, 6, 7]) {
      await store.drop(beside);
      await store.write(beside, [row('b', position, { order: 2 }), row('a', position)], position);
      await store.replace(model, beside);
      const rows = await store.page(model, { partition: 'p', limit: 10 });
      expect(rows).toEqual([row('a', position), row('b', position, { order: 2 })]);
    }
  });

  test('drop removes all of a read model, and can be repeated', async () => {
    const { store, other, model } = at();
    await store.write(model, [row('a', 1)], 1);
    await store.park(model, parked('x'));
    await store.drop(model);
    await other.drop(model);
    expect(await store.existing(model, ['a'])).toEqual(new Set());
    expect(await other.checkpoint(model)).toBe(0);
    expect(await store.parked(model)).toEqual([]);
  });
}

function leasesContract(at: () => { store: ReadModels; other: ReadModels }): void {
  test('one owner holds a lease, and may renew it', async () => {
    const { store, other } = at();
    const name = unique('lease');
    expect(await store.acquireLease(name, 'a', LONG_MS)).toBe(true);
    expect(await other.acquireLease(name, 'b', LONG_MS)).toBe(false);
    expect(await store.acquireLease(name, 'a', LONG_MS)).toBe(true);
    expect(await other.acquireLease(name, 'b', 1)).toBe(false);
    expect(await other.acquireLease(unique('lease'), 'b', LONG_MS)).toBe(true);
  });

  test('of many who ask at once, one gets it', async () => {
    const { store, other } = at();
    const name = unique('lease');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? store : other).acquireLease(name, `o${index}`, LONG_MS),
      ),
    );
    expect(answers.filter(Boolean)).toEqual([true]);
  });

  test('a lease that is given back is free at once; only its owner can give it back', async () => {
    const { store, other } = at();
    const name = unique('lease');
    await store.acquireLease(name, 'a', LONG_MS);
    await other.releaseLease(name, 'b');
    expect(await other.acquireLease(name, 'b', LONG_MS)).toBe(false);
    await store.releaseLease(name, 'a');
    expect(await other.acquireLease(name, 'b', LONG_MS)).toBe(true);
    await other.releaseLease('never taken', 'b');
  });

  test('a lease that is not renewed is taken over, one that is renewed is not', async () => {
    const { store, other } = at();
    const [left, renewed] = [unique('lease'), unique('lease')];
    await store.acquireLease(left, 'a', 300);
    await store.acquireLease(renewed, 'a', 300);
    await store.acquireLease(renewed, 'a', LONG_MS);
    const taken: boolean[] = [];
    await eventually(async () => {
      taken.push(await other.acquireLease(renewed, 'b', LONG_MS));
      expect(await other.acquireLease(left, 'b', LONG_MS)).toBe(true);
    });
    taken.push(await other.acquireLease(renewed, 'b', LONG_MS));
    expect(taken).not.toContain(true);
    expect(await store.acquireLease(left, 'a', LONG_MS)).toBe(false);
  });
}
