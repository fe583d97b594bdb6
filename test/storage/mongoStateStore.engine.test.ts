import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MongoLeases, MongoStateStore } from '../../src/storage/engines/mongodb/stateStore.ts';
import type { Leases } from '../../src/storage/leases.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { eventually } from '../support/eventually.ts';
import { type TcpProxy, tcpProxy } from '../support/network.ts';
import { mongoDb } from '../support/servers.ts';

import { leasesContract } from './contracts/leases.ts';
import { stateStoreContract } from './contracts/stateStore.ts';

const server = await mongoDb();
const address = new URL(server.url ?? 'mongodb://127.0.0.1/');
address.pathname = `chartledger_test_${randomBytes(4).toString('hex')}`;
const table = { name: 'away_v1', body: z.object({ at: z.number() }) };
const row = { id: 'a', partition: 'p', order: 1, revision: 1, body: { at: 1 } };

(server.url ? describe : describe.skip)('state in MongoDB', () => {
  afterAll(async () => {
    const client = new MongoClient(address.href);
    await eventually(() => client.db(address.pathname.slice(1)).dropDatabase());
    await client.close();
  });

  describe('MongoStateStore', () => stateStoreContract(async () => new MongoStateStore(address.href)));
  describe('MongoLeases', () => leasesContract(async () => new MongoLeases(address.href)));

  test('pages have an index', async () => {
    const store = new MongoStateStore(address.href);
    await store.save({ ...table, name: 'indexed_v1' }, [row]);
    const client = new MongoClient(address.href);
    const indexes = await client.db(address.pathname.slice(1)).collection('state.indexed_v1').indexes();
    await Promise.all([store.close(), client.close()]);
    expect(indexes.map(({ key }) => key)).toContainEqual({ 'state.partition': 1, order: 1 });
  });

  describe('behind a server that goes away', () => {
    let proxy: TcpProxy;
    let store: StateStore;
    let leases: Leases;
    beforeAll(async () => {
      proxy = await tcpProxy({ host: address.hostname, port: Number(address.port || 27017) });
      const url = new URL(address);
      url.host = `${proxy.host}:${proxy.port}`;
      url.searchParams.set('directConnection', 'true');
      store = new MongoStateStore(url.href);
      leases = new MongoLeases(url.href);
      await store.save(table, [row]);
      await leases.acquire('away', 'a', 60_000);
    });
    afterEach(() => proxy.restore());
    afterAll(async () => {
      await Promise.all([store.close(), leases.close()]);
      await proxy.close();
    });

    const calls = {
      load: () => store.load(table, ['a']),
      page: () => store.page(table, { partition: 'p', limit: 10 }),
      save: () => store.save(table, [row]),
      swap: () => store.swap(table, row, 0),
      remove: () => store.remove(table, ['a'], 0),
      prune: () => store.prune(table, 0),
      check: () => store.check(),
      acquire: () => leases.acquire('away', 'a', 60_000),
      release: () => leases.release('away', 'b'),
    };
    const ways = { frozen: () => proxy.freeze(), cut: () => proxy.cut() };
    test.each(Object.keys(ways) as (keyof typeof ways)[])(
      'every call is unavailable while it is %s, and works again by itself',
      async (way) => {
        ways[way]();
        const answers = await Promise.allSettled(Object.values(calls).map((call) => call()));
        for (const answer of answers) expect(answer).toMatchObject({ reason: { code: 'unavailable' } });
        proxy.restore();
        await eventually(async () => {
          for (const call of Object.values(calls)) await call();
        }, 5_000);
        expect(await store.load(table, ['a'])).toEqual([row]);
      },
    );
  });
});
