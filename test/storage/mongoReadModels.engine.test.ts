import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openRateLimiters } from '../../src/server/openStorage.ts';
import { MongoReadModels } from '../../src/storage/engines/mongodb/readModels.ts';
import { searchFilter } from '../../src/storage/engines/mongodb/rows.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import { STORE_FORMAT } from '../../src/storage/storeFormat.ts';
import { eventually, idsWithRow } from '../support/eventually.ts';
import { type TcpProxy, tcpProxy } from '../support/network.ts';
import { mongoDb } from '../support/servers.ts';

import { rateLimitersContract } from './contracts/rateLimiters.ts';
import { readModelsContract } from './contracts/readModels.ts';

const server = await mongoDb();
const database = `chartledger_test_${randomBytes(4).toString('hex')}`;
const away = { code: 'unavailable' };
const row = (id: string, position: number) => ({
  id,
  partition: 'p',
  order: position,
  position,
  body: { id },
});

/** The address of a database of the server, by way of the proxy when there is one. */
function urlOf(name: string, proxy?: { host: string; port: number }): string {
  const url = new URL(server.url ?? 'mongodb://127.0.0.1/');
  url.pathname = name;
  if (proxy) {
    url.host = `${proxy.host}:${proxy.port}`;
    url.searchParams.set('directConnection', 'true');
  }
  return url.href;
}

(server.url ? describe : describe.skip)('MongoReadModels', () => {
  afterAll(async () => {
    const client = new MongoClient(urlOf(database));
    // Calls that were cut off may still run on the server, and make the collections that it drops.
    await eventually(() => client.db(database).dropDatabase());
    await client.close();
  });

  readModelsContract(async () => new MongoReadModels(urlOf(database)));

  test('a database of a later format is refused, and others are marked', async () => {
    const client = new MongoClient(urlOf(database));
    const formats = client.db(database).collection<{ _id: string; number: number }>('format');
    const store = new MongoReadModels(urlOf(database));
    await store.checkpoint('a_v1');
    await store.close();
    expect(await formats.find().toArray()).toEqual([{ _id: 'format', number: STORE_FORMAT }]);
    await formats.updateOne({ _id: 'format' }, { $inc: { number: 1 } });
    const refused = new MongoReadModels(urlOf(database));
    const problem = expect.stringContaining(`is of format ${STORE_FORMAT + 1}`);
    await expect(refused.checkpoint('a_v1')).rejects.toMatchObject({ code: 'internal', problem });
    await refused.close();
    await formats.updateOne({ _id: 'format' }, { $inc: { number: -1 } });
    await client.close();
  });

  test('pages have an index, also after a rebuild', async () => {
    const store = new MongoReadModels(urlOf(database));
    const client = new MongoClient(urlOf(database));
    await store.write({ model: 'indexed_v1_beside', rows: [row('a', 1)], checkpoint: 1 });
    await store.replace('indexed_v1', 'indexed_v1_beside');
    const indexes = await client.db(database).collection('rows.indexed_v1').indexes();
    await Promise.all([store.close(), client.close()]);
    expect(indexes.map(({ key }) => key)).toContainEqual({ 'state.partition': 1, order: 1 });
  });

  test('terms have an index, and beginnings are ranges of it', async () => {
    const store = new MongoReadModels(urlOf(database));
    const client = new MongoClient(urlOf(database));
    const search = { terms: ['lopez', 'maria'], since: 1 };
    await store.write({ model: 'searched_v1', rows: [{ ...row('a', 1), search }], checkpoint: 1 });
    const rows = client.db(database).collection('rows.searched_v1');
    const indexes = await rows.indexes();
    expect(indexes.map(({ key }) => key)).toContainEqual({
      ...{ 'state.partition': 1, 'state.search.terms': 1, 'state.search.since': -1 },
    });
    const filter = searchFilter({ partitions: ['p'], words: [[{ beginning: 'lop' }, { term: 'x' }]] });
    const plan = await rows
      .find(filter as object)
      .explain()
      .catch(() => undefined);
    await Promise.all([store.close(), client.close()]);
    // Servers that stand in for MongoDB do not explain.
    if (plan?.queryPlanner) {
      const text = JSON.stringify(plan.queryPlanner.winningPlan);
      expect(text).toContain('IXSCAN');
      expect(text).toContain('[\\"lop\\", \\"loq\\")');
    }
  });

  describe('behind a server that goes away', () => {
    let proxy: TcpProxy;
    let store: ReadModels;
    beforeAll(async () => {
      const { hostname, port } = new URL(urlOf(database));
      proxy = await tcpProxy({ host: hostname, port: Number(port || 27017) });
      store = new MongoReadModels(urlOf(database, proxy));
      await store.write({ model: 'away_v1', rows: [row('a', 1)], checkpoint: 1 });
    });
    afterEach(() => proxy.restore());
    afterAll(async () => {
      await store.close();
      await proxy.close();
    });

    const calls = {
      load: () => store.load('away_v1', ['a']),
      page: () => store.page('away_v1', { partition: 'p', limit: 10 }),
      write: () => store.write({ model: 'away_v1', rows: [row('b', 2)], checkpoint: 2 }),
      search: () => store.search('away_v1', { partitions: ['p'], words: [[{ term: 'a' }]], limit: 1 }),
      checkpoint: () => store.checkpoint('away_v1'),
      park: () => store.park('away_v1', { position: 1, eventId: 'event', reason: 'Error' }),
      parked: () => store.parked('away_v1'),
      replace: () => store.replace('away_v1', 'beside_v1'),
      drop: () => store.drop('nothing_v1'),
    };
    const ways = { frozen: () => proxy.freeze(), cut: () => proxy.cut() };
    test.each(Object.keys(ways) as (keyof typeof ways)[])(
      'every call is unavailable while it is %s, and works again by itself',
      async (way) => {
        ways[way]();
        const answers = await Promise.allSettled(Object.values(calls).map((call) => call()));
        expect(answers.map(({ status }) => status)).toEqual(Array(answers.length).fill('rejected'));
        for (const answer of answers) expect(answer).toMatchObject({ reason: away });
        await expect(idsWithRow(store, 'away_v1', ['a'])).rejects.toMatchObject(away);

        proxy.restore();
        await eventually(() => store.checkpoint('away_v1'), 5_000);
        for (const call of Object.values(calls)) await call();
        expect(await idsWithRow(store, 'away_v1', ['a', 'b'])).toEqual(new Set(['a', 'b']));
      },
    );

    test('a connection that was reset is unavailable at most, and refuses nobody', async () => {
      const opened = await openRateLimiters(urlOf(database, proxy));
      const limiter = opened.limiter({ name: 'requests', points: 1_000, seconds: 60 });
      for (let round = 0; round < 20; round += 1) {
        await eventually(() => Promise.all(Object.values(calls).map((call) => call())), 5_000);
        await limiter.consume('reset');
        proxy.reset();
        // At once, so that the driver writes to connections that are no more and does not know it.
        const count = limiter.consume('reset');
        const answers = await Promise.allSettled(Object.values(calls).map((call) => call()));
        for (const answer of answers) {
          if (answer.status === 'rejected') expect(answer).toMatchObject({ reason: away });
        }
        expect(await count).toMatchObject({ refused: false });
      }
      await opened.close();
    });

    test('opening and closing need no server', async () => {
      proxy.freeze();
      const another = new MongoReadModels(urlOf(database, proxy));
      await expect(idsWithRow(another, 'away_v1', ['a'])).rejects.toMatchObject(away);
      proxy.restore();
      await eventually(() => another.checkpoint('away_v1'), 5_000);
      proxy.freeze();
      await another.close();
    });

    test('a limit counts on without it', async () => {
      const opened = await openRateLimiters(urlOf(database, proxy));
      const limiter = opened.limiter({ name: 'requests', points: 3, seconds: 60 });
      await limiter.consume('frozen');
      proxy.freeze();
      await limiter.consume('frozen');
      await limiter.consume('frozen');
      await limiter.consume('frozen');
      expect(await limiter.consume('frozen')).toMatchObject({ refused: true, refusals: 1, remaining: 0 });
      await limiter.reset('frozen');
      expect(await limiter.consume('frozen')).toMatchObject({ refused: false, remaining: 2 });
      await opened.close();
    });
  });

  describe('MongoRateLimiter', () => rateLimitersContract(() => openRateLimiters(urlOf(database))));

  test('a limit is one for all instances', async () => {
    const limit = { name: 'requests', points: 10, seconds: 60 };
    const opened = [
      await openRateLimiters(urlOf(database)),
      await openRateLimiters(urlOf(database)),
    ] as const;
    const [one, other] = [opened[0].limiter(limit), opened[1].limiter(limit)];
    // Until its connection is there, an instance may count by itself.
    await eventually(async () => {
      const key = randomBytes(4).toString('hex');
      await one.consume(key);
      expect(await other.consume(key)).toMatchObject({ remaining: 8 });
    });
    // Nor while the server is slow to answer.
    await eventually(async () => {
      const key = randomBytes(4).toString('hex');
      const counts = [];
      for (let index = 0; index < 12; index += 1) counts.push(await (index % 2 ? one : other).consume(key));
      expect(counts.filter(({ refused }) => !refused)).toHaveLength(10);
      expect(counts.filter(({ refusals }) => refusals === 1)).toHaveLength(1);
      expect(counts.find(({ refused }) => refused)?.msBeforeReset).toBeGreaterThan(0);
    });
    // Never more at once than the limit; a server that counted a call twice gets another chance to let all through.
    const most: number[] = [];
    await eventually(async () => {
      const key = randomBytes(4).toString('hex');
      await one.consume(key);
      const atOnce = Array.from({ length: 16 }, (_, index) => (index % 2 ? one : other).consume(key));
      most.push((await Promise.all(atOnce)).filter(({ refused }) => !refused).length);
      expect(most.at(-1)).toBe(9);
    });
    expect(Math.max(...most)).toBe(9);
    expect(await one.consume('192.0.2.2')).toMatchObject({ refused: false, remaining: 9 });
    const another = opened[0].limiter({ ...limit, name: 'others' });
    expect(await another.consume('192.0.2.1')).toMatchObject({ refused: false, remaining: 9 });
    await one.reset('192.0.2.1');
    expect(await one.consume('192.0.2.1')).toMatchObject({ refused: false, remaining: 9 });
    await Promise.all(opened.map((each) => each.close()));
  });
});
