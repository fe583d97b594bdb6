import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { MongoReadModels } from '../../src/backends/mongodb/MongoReadModels.ts';
import { openRateLimiter } from '../../src/backends/openBackend.ts';
import type { ReadModels } from '../../src/ports/readModels.ts';
import { readModelsContract } from '../contracts/readModels.ts';
import { eventually } from '../support/eventually.ts';
import { mongoDb } from '../support/servers.ts';
import { type TcpProxy, tcpProxy } from '../support/tcpProxy.ts';

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
    await client.db(database).dropDatabase();
    await client.close();
  });

  readModelsContract(async () => new MongoReadModels(urlOf(database)));

  test('pages have an index, also after a rebuild', async () => {
    const store = new MongoReadModels(urlOf(database));
    const client = new MongoClient(urlOf(database));
    await store.write('indexed_v1_beside', [row('a', 1)], 1);
    await store.replace('indexed_v1', 'indexed_v1_beside');
    const indexes = await client.db(database).collection('rows.indexed_v1').indexes();
    await Promise.all([store.close(), client.close()]);
    expect(indexes.map(({ key }) => key)).toContainEqual({ 'state.partition': 1, order: 1 });
  });

  describe('behind a server that goes away', () => {
    let proxy: TcpProxy;
    let store: ReadModels;
    beforeAll(async () => {
      const { hostname, port } = new URL(urlOf(database));
      proxy = await tcpProxy({ host: hostname, port: Number(port || 27017) });
      store = new MongoReadModels(urlOf(database, proxy));
      await store.write('away_v1', [row('a', 1)], 1);
    });
    afterEach(() => proxy.restore());
    afterAll(async () => {
      await store.close();
      await proxy.close();
    });

    const calls = {
      existing: () => store.existing('away_v1', ['a']),
      load: () => store.load('away_v1', ['a']),
      page: () => store.page('away_v1', { partition: 'p', limit: 10 }),
      write: () => store.write('away_v1', [row('b', 2)], 2),
      checkpoint: () => store.checkpoint('away_v1'),
      park: () => store.park('away_v1', { position: 1, eventId: 'event', reason: 'Error' }),
      parked: () => store.parked('away_v1'),
      replace: () => store.replace('away_v1', 'beside_v1'),
      drop: () => store.drop('nothing_v1'),
      acquireLease: () => store.acquireLease('away', 'a', 60_000),
      releaseLease: () => store.releaseLease('away', 'b'),
    };
    const ways = { frozen: () => proxy.freeze(), cut: () => proxy.cut() };
    test.each(Object.keys(ways) as (keyof typeof ways)[])(
      'every call is unavailable while it is %s, and works again by itself',
      async (way) => {
        ways[way]();
        const answers = await Promise.allSettled(Object.values(calls).map((call) => call()));
        expect(answers.map(({ status }) => status)).toEqual(Array(answers.length).fill('rejected'));
        for (const answer of answers) expect(answer).toMatchObject({ reason: away });
        await expect(store.existing('away_v1', ['a'])).rejects.toMatchObject(away);

        proxy.restore();
        await eventually(() => store.checkpoint('away_v1'), 5_000);
        for (const call of Object.values(calls)) await call();
        expect(await store.existing('away_v1', ['a', 'b'])).toEqual(new Set(['a', 'b']));
      },
    );

    test('opening and closing need no server', async () => {
      proxy.freeze();
      const another = new MongoReadModels(urlOf(database, proxy));
      await expect(another.existing('away_v1', ['a'])).rejects.toMatchObject(away);
      proxy.restore();
      await eventually(() => another.checkpoint('away_v1'), 5_000);
      proxy.freeze();
      await another.close();
    });

    test('a limit counts on without it', async () => {
      const opened = await openRateLimiter(urlOf(database, proxy), 3);
      await opened?.limiter.consume('frozen');
      proxy.freeze();
      await opened?.limiter.consume('frozen');
      await opened?.limiter.consume('frozen');
      await opened?.limiter.consume('frozen');
      await expect(opened?.limiter.consume('frozen')).rejects.toMatchObject({ remainingPoints: 0 });
      await opened?.close();
    });
  });

  describe('a limit on requests', () => {
    test('is one for all instances', async () => {
      const opened = await Promise.all([
        openRateLimiter(urlOf(database), 10),
        openRateLimiter(urlOf(database), 10),
      ]);
      const answers = await Promise.allSettled(
        Array.from({ length: 16 }, (_, index) => opened[index % 2]?.limiter.consume('192.0.2.1')),
      );
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
      const refused = answers.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
      expect(refused.reason.msBeforeNext).toBeGreaterThan(0);
      await opened[0]?.limiter.consume('192.0.2.2');
      await Promise.all(opened.map((one) => one?.close()));
    });

    test('of 0 is none', async () => {
      expect(await openRateLimiter(urlOf(database), 0)).toBeUndefined();
    });
  });
});
