import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { Consumers, storedConsumers } from '../../src/modules/eventStream/consumers.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import { keepWarehouse } from '../../src/server/warehouse.ts';
import { systemClock } from '../../src/storage/rateLimiters.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eraserIn } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader, eventsOf, keyed } from '../support/log.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, startFaultyApp, type TestService } from '../support/service.ts';
import { createWebhook } from '../support/webhooks.ts';

const sse = { accept: 'text/event-stream' };

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('a reader that names itself is listed with how far behind it is, next to webhooks, until it is removed', async () => {
    const { key } = await service.createKey('named', ['write', 'events', 'webhooks']);
    const client = service.as(key);
    const receiver = await createWebhook(client, { url: 'https://hooks.example.com/events' });
    for (let index = 0; index < 3; index += 1) await client.post('/integration/payers', samples.payer());
    const page = '/events?consumer=warehouse&kinds=payer&limit=2';
    const consumers = async () => (await client.get('/integration/consumers')).body.items;
    let position = '';
    const appended = await appendedBy(service, async () => {
      position = String((await client.get(page)).headers['chartledger-position']);
      const named = { type: 'reader', name: 'warehouse', contents: 'full', resumes: false };
      const webhook = { type: 'webhook', name: receiver.id, contents: 'reference' };
      // What is pending is counted as far as the log can be read in a second.
      const listed = (pending: number) =>
        eventually(async () => {
          const found = await consumers();
          expect(found).toMatchObject([{ ...named, pending }, webhook]);
          return found;
        });
      await listed(3);
      await client.get(`${page}&after=${position}`);
      const [behind] = await listed(1);
      expect(behind.position).toBe(position);
      expect(Date.parse(behind.last_contact_at)).toBeGreaterThan(Date.parse(behind.oldest_pending_at));
      const live = await EventReader.open(client, '/events?consumer=live', { 'last-event-id': position });
      await live.count(1);
      await eventually(async () =>
        expect(await consumers()).toMatchObject([{ name: 'live', pending: 0 }, {}, {}]),
      );
      live.kill();
    });
    expect(appended).toEqual([]);
    const accesses = await accessesBy(service, async () => {
      expect((await client.send('/integration/consumers/warehouse', { method: 'DELETE' })).status).toBe(200);
    });
    expect(accesses).toEqual([
      expect.objectContaining({ action: 'consumer.removed', query: { consumer: 'warehouse' } }),
    ]);
    expect((await consumers()).map(({ name }: { name: string }) => name)).toEqual(['live', receiver.id]);
    expect((await client.send('/integration/consumers/warehouse', { method: 'DELETE' })).status).toBe(404);
    const reader = service.as((await service.createKey('named', ['events'])).key);
    expect((await reader.get('/integration/consumers')).body.items).toMatchObject([{ name: 'live' }]);
  });

  test('a repeat of the removal of a consumer that never was is refused', async () => {
    const client = service.as((await service.createKey('unknown', ['events'])).key);
    const away = () => Promise.reject(unavailable('state store'));
    const faulty = await startFaultyApp(service, { stateStore: { page: away } });
    const removal = { method: 'DELETE', headers: keyed() };
    const remove = (to: Client) => to.send('/integration/consumers/nobody', removal);
    expect((await remove(new Client(faulty.url, client.key))).status).toBe(503);
    const accesses = await accessesBy(service, async () => {
      expect((await remove(client)).status).toBe(404);
    });
    expect(accesses).toEqual([]);
    await faulty.stop();
  });

  test('a reader that asks for it goes on without a position, also after a restart, at the last one that it sent', async () => {
    const own = await start();
    try {
      const client = own.as((await own.createKey('kept', ['write', 'events'])).key);
      const ids = Array.from({ length: 5 }, () => samples.payer());
      for (const payer of ids) await client.post('/integration/payers', payer);
      const path = '/events?consumer=warehouse&resume=true&limit=2';
      const read = async (query = '', by = client) => {
        const response = await by.get(`${path}${query}`);
        const subjects = eventsOf(response).map(({ subject }) => subject);
        const found = subjects.map((subject) => ids.findIndex(({ id }) => subject === `payer/${id}`));
        return { found, position: String(response.headers['chartledger-position']) };
      };
      const first = await read();
      expect(first.found).toEqual([0, 1]);
      expect((await read(`&after=${first.position}`)).found).toEqual([2, 3]);
      expect((await read()).found).toEqual([2, 3]);
      await own.restart();
      const again = own.as(client.key);
      expect((await read('', again)).found).toEqual([2, 3]);
      expect((await again.get('/events?consumer=warehouse&limit=2')).body).not.toEqual('');
      for (const [query, headers, field] of [
        ['?resume=true', {}, 'resume'],
        ['?resume=true&consumer=warehouse', sse, 'resume'],
        ['?consumer=Ware%20house', {}, 'consumer'],
      ] as const) {
        const refused = await again.get(`/events${query}`, headers);
        expect(refused).toMatchObject({ status: 400, body: { details: [{ field }] } });
      }
    } finally {
      await own.stop();
    }
  });

  test('reading as a consumer writes nothing to the state store, and needs it only to resume', async () => {
    const client = service.as((await service.createKey('quiet', ['write', 'read', 'events'])).key);
    await client.post('/integration/payers', samples.payer());
    const away = () => Promise.reject(unavailable('state store'));
    const writes: string[] = [];
    const save = async ({ name }: { name: string }) => void writes.push(name);
    const [quiet, without] = [
      await startFaultyApp(service, { stateStore: { save } }),
      await startFaultyApp(service, { stateStore: { load: away, page: away } }),
    ];
    const as = ({ url }: Client) => new Client(url, client.key);
    for (let index = 0; index < 50; index += 1) {
      expect((await as(quiet).get('/events?consumer=many&after=0')).status).toBe(200);
    }
    expect(writes).toEqual([]);
    expect((await as(without).get('/events?consumer=many')).status).toBe(200);
    expect((await as(without).get('/events?consumer=many&resume=true')).status).toBe(503);
    await quiet.stop();
    await without.stop();
  });

  test('a workspace that is deleted leaves no consumers, whatever a process had noted of them', async () => {
    const own = service.workspaceId('leaving');
    const stateStore = await openStateStore(service.config.stateUrl);
    const consumers = new Consumers({ stateStore, clock: systemClock });
    const contact = { type: 'sink', key: null, view: 'full', unchanged: 'send' } as const;
    await service.createKey('leaving');
    const stored = async () => (await storedConsumers(stateStore)).map(({ workspace }) => workspace);
    const sinks = ['lake', 'house'].map((name) => ({ ...contact, eventTypes: [], workspace: own, name }));
    for (const sink of sinks) await consumers.connect(sink, false);
    await consumers.flush(() => true);
    const directory = await KeyDirectory.open(service.eventLog);
    const [stop, reached] = [new AbortController(), Promise.withResolvers<void>()];
    const caller = { ...eraserIn(service), workspace: own };
    const sinking = keepWarehouse(service.config, { eventLog: service.eventLog, directory }, caller, {
      ...{ place: join(temporaryFolder(), 'sink'), view: 'full', consumer: 'follower' },
      follow: { everyMs: 100, signal: stop.signal },
      onReached: () => reached.resolve(),
    });
    await reached.promise;
    expect((await stored()).filter((one) => one === own)).toHaveLength(2);
    await consumers.connect({ ...contact, eventTypes: [], workspace: own, name: 'lake' }, false);
    const deleted = await runCli(['workspaces', 'delete', own, '--confirm', own, '--reason', 'It left.'], {
      env: { ...storesOf(service.config), DATA_DIR: service.config.dataDir },
    });
    expect(deleted.code).toBe(0);
    await consumers.flush((workspace) => workspace !== own);
    expect(await stored()).not.toContain(own);
    await directory.refresh();
    stop.abort();
    await sinking;
    directory.close();
    expect(await stored()).not.toContain(own);
    await stateStore.close();
  });
});
