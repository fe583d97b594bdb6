import { expect, test } from 'vitest';
import type { Row, SearchQuery } from '../../../src/storage/readModels.ts';
import { row } from './readModelsRows.ts';
import type { Two } from './readModelsWrites.ts';

export function searchContract(at: () => Two): void {
  /** Row `rN` at order and position N, with these terms since then. */
  const searched = (at: number, terms: string[], overrides: Partial<Row> = {}) =>
    row(`r${at}`, at, { order: at, search: { terms, since: at }, ...overrides });

  const term = (text: string) => [{ term: text }];
  const beginning = (text: string) => [{ beginning: text }];

  async function found(words: SearchQuery['words'], query: Partial<SearchQuery> = {}): Promise<string[]> {
    const { other, model } = at();
    const rows = await other.search(model, { partitions: ['p'], words, limit: 100, ...query });
    return rows.map(({ id }) => id);
  }

  test('rows come back with their terms, and are found by all of the words that are asked for', async () => {
    const { store, other, model } = at();
    const rows = [
      searched(1, ['maria', 'lopez']),
      searched(2, ['marian', 'lopez', 'maria'], { lists: ['a'] }),
      searched(3, ['mario', 'lopezmaria']),
      row('plain', 4, { order: 4 }),
    ];
    await store.write({ model, rows, checkpoint: 4 });
    expect(await other.page(model, { partition: 'p', limit: 10 })).toEqual(rows);
    expect(await other.page(model, { partition: 'p', list: 'a', limit: 10 })).toEqual([rows[1]]);
    const query = { partitions: ['p'], words: [term('maria'), beginning('lop')], limit: 10 };
    expect(await other.search(model, query)).toEqual([rows[1], rows[0]]);
    expect(await found([beginning('mari')])).toEqual(['r3', 'r2', 'r1']);
    expect(await found([term('mari')])).toEqual([]);
    expect(await found([beginning('maria')])).toEqual(['r2', 'r1']);
    expect(await found([beginning('marian'), beginning('maria')])).toEqual(['r2']);
    expect(await found([[{ term: 'mario' }, { term: 'marian' }], beginning('lo')])).toEqual(['r3', 'r2']);
    expect(await found([])).toEqual([]);
  });

  test('a read model without terms finds nothing', async () => {
    const { store, model } = at();
    expect(await found([term('a')])).toEqual([]);
    await store.write({ model, rows: [row('a', 1, { lists: [] })], checkpoint: 1 });
    expect(await found([term('a')])).toEqual([]);
    await store.write({ model, rows: [searched(2, ['a'])], checkpoint: 2 });
    expect(await found([term('a')])).toEqual(['r2']);
  });

  test('those come first whose terms changed last, and pages go on from there', async () => {
    const { store, model } = at();
    const rows = Array.from({ length: 30 }, (_, index) => searched(index + 1, ['a', `n${index + 1}`]));
    await store.write({ model, rows, checkpoint: 30 });
    const changed = [
      searched(3, ['a', 'b'], { position: 31, order: 99, search: { terms: ['a', 'b'], since: 31 } }),
      searched(4, ['a', 'n4'], { position: 32, body: { at: 'elsewhere' } }),
    ];
    await store.write({ model, rows: changed, checkpoint: 32 });
    const first = await found([term('a')], { limit: 4 });
    expect(first).toEqual(['r3', 'r30', 'r29', 'r28']);
    expect(await found([term('a')], { below: 28, limit: 3 })).toEqual(['r27', 'r26', 'r25']);
    expect(await found([beginning('a')], { below: 5 })).toEqual(['r4', 'r2', 'r1']);
    expect(await found([term('n3')])).toEqual([]);
    expect(await found([term('b')])).toEqual(['r3']);
    const [row4] = await store.search(model, { partitions: ['p'], words: [term('n4')], limit: 1 });
    expect(row4).toMatchObject({ position: 32, body: { at: 'elsewhere' }, search: { since: 4 } });
    await store.write({ model, rows: [searched(3, ['older'], { position: 30 })], checkpoint: 32 });
    expect(await found([term('older')])).toEqual([]);
  });

  test('partitions are apart, and may be asked for together', async () => {
    const { store, model } = at();
    const rows = [
      searched(1, ['a']),
      searched(2, ['a'], { partition: 'q' }),
      searched(3, ['a'], { partition: 'p a' }),
    ];
    await store.write({ model, rows, checkpoint: 3 });
    expect(await found([term('a')])).toEqual(['r1']);
    expect(await found([term('a')], { partitions: ['q', 'p'] })).toEqual(['r2', 'r1']);
    expect(await found([beginning('a')], { partitions: ['q', 'p a'] })).toEqual(['r3', 'r2']);
    expect(await found([term('a')], { partitions: [] })).toEqual([]);
    await store.write({ model, rows: [searched(2, ['a'], { position: 4 })], checkpoint: 4 });
    expect(await found([term('a')], { partitions: ['q'] })).toEqual([]);
    expect(await found([term('a')])).toEqual(['r2', 'r1']);
  });

  const odd = [
    '日本語',
    'müller',
    'мария',
    '#p-1',
    '@19900102',
    '^m',
    `o'"brien`,
    'a b',
    '.*',
    'a|b',
    '[a]',
    '\\d',
    '*',
  ];
  test('terms may hold any signs, and mean nothing but themselves', async () => {
    const { store, model } = at();
    const rows = odd.map((text, index) => searched(index + 1, [text]));
    await store.write({ model, rows, checkpoint: odd.length });
    for (const [index, text] of odd.entries()) {
      expect([text, await found([term(text)])]).toEqual([text, [`r${index + 1}`]]);
      const [first = ''] = text;
      const begun = odd.flatMap((one, other) => (one.startsWith(first) ? [`r${other + 1}`] : []));
      expect([first, await found([beginning(first)])]).toEqual([first, begun.reverse()]);
    }
    expect(await found([term('A B'), term('a b')])).toEqual([]);
  });

  test('a row whose terms are taken away is found no more, and may be found again', async () => {
    const { store, model } = at();
    await store.write({ model, rows: [searched(1, ['a', 'b']), searched(2, ['a'])], checkpoint: 2 });
    const { search, ...emptied } = searched(1, [], { position: 3, body: {} });
    await store.write({ model, rows: [emptied], checkpoint: 3 });
    expect([await found([term('a')]), await found([beginning('b')])]).toEqual([['r2'], []]);
    expect(await store.load(model, ['r1'])).toEqual([{ ...emptied, order: 1 }]);
    const again = searched(1, ['b'], { position: 4, search: { terms: ['b'], since: 4 } });
    await store.write({ model, rows: [again], checkpoint: 4 });
    expect([await found([term('a')]), await found([term('b')])]).toEqual([['r2'], ['r1']]);
  });

  test('of many changes in any order what is found is what there is', async () => {
    const { store, model } = at();
    const names = ['ada', 'adam', 'adele', 'bea', 'beatrix', 'carl'];
    const rows = new Map<string, Row>();
    let random = 7;
    const next = (below: number) => {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
      return random % below;
    };
    for (let position = 1; position <= 600; ) {
      const batch = Array.from({ length: 1 + next(30) }, () => {
        const number = next(60);
        const terms = names.filter(() => next(3) === 0);
        const changed = searched(number, terms, { position, search: { terms, since: position } });
        const { search, ...emptied } = changed;
        position += 1;
        return terms.length > 0 ? changed : emptied;
      });
      const last = new Map(batch.map((one) => [one.id, one]));
      await store.write({ model, rows: [...last.values()], checkpoint: position });
      for (const [id, one] of last) rows.set(id, one);
    }
    const expected = (fits: (term: string) => boolean) =>
      [...rows.values()]
        .filter(({ search }) => search?.terms.some(fits))
        .sort((a, b) => b.position - a.position)
        .map(({ id }) => id);
    for (const name of names) {
      expect(await found([term(name)])).toEqual(expected((one) => one === name));
      const part = name.slice(0, 2);
      expect(await found([beginning(part)])).toEqual(expected((one) => one.startsWith(part)));
    }
  });

  test('terms go with their read model when it is replaced, begun anew or dropped', async () => {
    const { store, model } = at();
    const beside = `${model}_beside`;
    for (const position of [5, 6, 7]) {
      await store.drop(beside);
      await store.begin(beside, 'log');
      const changed = (id: number, text: string, since: number) =>
        searched(id, [text], { position: since, search: { terms: [text], since } });
      const rows = [changed(1, `a${position}`, position), changed(2, 'b', position + 1)];
      await store.write({ model: beside, rows, checkpoint: 9 });
      await store.replace(model, beside);
      expect(await found([term(`a${position}`)])).toEqual(['r1']);
      expect(await found([term(`a${position - 1}`)])).toEqual([]);
      expect(await store.checkpoint(model)).toBe(9);
      await store.write({ model, rows: [changed(3, 'c', position + 20)], checkpoint: position + 20 });
      expect(await found([beginning('c')])).toEqual(['r3']);
    }
    await store.begin(model, 'log');
    expect(await found([term('b')])).toEqual([]);
    await store.write({ model, rows: [searched(1, ['b'])], checkpoint: 1 });
    expect(await found([term('b')])).toEqual(['r1']);
    await store.drop(model);
    const search = () => store.search(model, { partitions: ['p'], words: [term('b')], limit: 9 });
    expect(await search()).toEqual([]);
    await store.write({ model, rows: [searched(2, ['b'])], checkpoint: 2 });
    expect(await search()).toEqual([searched(2, ['b'])]);
  });
}
