import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { moveStores, type SourceStores, type TargetStores } from '../../src/modules/backup/migrate.ts';
import { backedUpTables } from '../../src/server/backup.ts';
import {
  openDocumentStore,
  openEventLog,
  openLogCopy,
  openStateStoreHere,
} from '../../src/server/openStorage.ts';
import { type EventLog, inLogOrder } from '../../src/storage/eventLog.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { fhirPatient, sendFhir } from '../support/fhir.ts';
import { followToEnd } from '../support/log.ts';
import { configureSources } from '../support/messages.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createWebhook } from '../support/webhooks.ts';

const LONG_MS = 120_000;
let service: TestService;
let source: SourceStores;
beforeAll(async () => {
  service = await startTestService({ ROLES: 'api,projector' });
  const { key, id } = await service.createKey('clinic', ['write', 'read', 'webhooks']);
  const client = service.as(key);
  await configureSources(service.eventLog, service.workspaceId('clinic'), id);
  expect((await sendFhir(client, '/fhir/Patient', fhirPatient())).status).toBe(201);
  await createWebhook(client);
  for (let n = 0; n < 2; n += 1) {
    const encounter = await createEncounter(service);
    expect((await service.upload(documentsPath(encounter), documentForm())).status).toBe(200);
  }
  const gone = samples.payer();
  expect((await service.post('/integration/payers', gone)).status).toBe(200);
  const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
  const erase = [
    'records',
    'erase',
    'payer',
    gone.id,
    '--workspace',
    service.workspaceId('clinic'),
    '--reason',
    'asked for',
  ];
  await eventually(async () => expect(await runCli(erase, { env })).toMatchObject({ code: 0 }));
  const { eventLog, config } = service;
  source = {
    eventLog,
    stateStore: await openStateStoreHere(config.stateUrl),
    documentStore: await openDocumentStore(config.documentsUrl),
  };
}, LONG_MS);
afterAll(async () => {
  await source.stateStore.close();
  await source.documentStore.close();
  await service.stop();
});

/** New stores in a folder, and whether the service may still be started on its previous ones. */
class NewStores {
  readonly folder = temporaryFolder();
  isFenced = false;
  hasKeys = false;
  readonly log = `sqlite:${join(this.folder, 'events.db')}`;
  readonly state = `sqlite:${join(this.folder, 'state.db')}`;
  readonly documents = `file:${join(this.folder, 'documents')}`;

  /** Moves the service there, by way of what `through` makes of the stores. */
  async fill(through: <Store extends object>(store: Store) => Store = (store) => store): Promise<void> {
    const target: TargetStores = {
      log: await openLogCopy(this.log, await source.eventLog.identity()),
      stateStore: await openStateStoreHere(this.state),
      documentStore: await openDocumentStore(this.documents),
    };
    const { log, stateStore, documentStore } = target;
    const task = through({
      isStopped: async () => true,
      fence: () => {
        this.isFenced = true;
      },
      unfence: () => {
        this.isFenced = false;
      },
      writeKeys: async () => {
        this.hasKeys = true;
      },
    });
    try {
      const done = await moveStores(
        source,
        { log: through(log), stateStore: through(stateStore), documentStore: through(documentStore) },
        {
          ...{ tables: backedUpTables, principal: { type: 'operator', id: 'test' } },
          isStopped: () => task.isStopped(),
          fence: () => task.fence(),
          unfence: () => task.unfence(),
          writeKeys: () => task.writeKeys(),
          ...{ isFenced: () => this.isFenced, onProgress: () => undefined },
        },
      );
      expect(done).toMatchObject({ isComplete: true, problems: [] });
    } finally {
      for (const store of [log, stateStore, documentStore]) await store.close();
    }
  }

  /** Whether a service can be started on them. */
  async isComplete(): Promise<boolean> {
    const log = await openLogCopy(this.log, await source.eventLog.identity());
    const isComplete = await log.isComplete();
    await log.close();
    return isComplete;
  }

  async contents() {
    const eventLog = await openEventLog(this.log);
    const stateStore = await openStateStoreHere(this.state);
    const documentStore = await openDocumentStore(this.documents);
    const found = await contentsOf({ eventLog, stateStore, documentStore });
    for (const store of [eventLog, stateStore, documentStore]) await store.close();
    expect(readdirSync(join(this.folder, 'documents', 'uploads'))).toEqual([]);
    return found;
  }
}

async function rowsOf(stateStore: StateStore) {
  const rows: unknown[] = [];
  for (const table of backedUpTables) rows.push(await stateStore.scan(table, { limit: 1_000 }));
  return rows;
}

async function placesOf(eventLog: EventLog) {
  const batches = await followToEnd(eventLog, { after: 0, erased: true });
  return batches.flatMap(inLogOrder).filter(({ stream }) => stream !== 'log-restores');
}

async function contentsOf({ eventLog, stateStore, documentStore }: SourceStores) {
  const places = await placesOf(eventLog);
  const objects = places.flatMap((place) =>
    'data' in place && place.type === 'DocumentUploaded' ? [String(place.data.object_id)] : [],
  );
  const bytes = await Promise.all(
    objects.map(async (id) => (await buffer(await documentStore.get(id))).toString()),
  );
  return { log: await documentStore.log(), places, rows: await rowsOf(stateStore), bytes };
}

/** Has the call with a number fail, before or after it is done, as one does when the process is killed there; counts calls. */
function cutAt(number: number, when: 'before' | 'after') {
  let calls = 0;
  const through = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function' || name === 'then') return own;
        return (...args: unknown[]) => {
          calls += 1;
          const isCut = calls === number;
          if (isCut && when === 'before') {
            for (const arg of args) if (arg instanceof Readable) arg.destroy();
            throw new Error('cut');
          }
          const result = own.apply(target, args);
          if (!isCut) return result;
          if (!(result instanceof Promise)) throw new Error('cut');
          return result.then(() => Promise.reject(new Error('cut')));
        };
      },
    });
  return { through, calls: () => calls };
}

test(
  'a move that is cut off at any call is completed by the next run, and holds everything once',
  async () => {
    const whole = new NewStores();
    const counted = cutAt(0, 'before');
    await whole.fill(counted.through);
    const expected = await contentsOf(source);
    expect(expected.places.filter((place) => 'leaf' in place)).toHaveLength(1);
    expect(expected.bytes).toHaveLength(2);
    expect(await whole.contents()).toEqual(expected);
    expect(counted.calls()).toBeGreaterThan(30);
    for (let number = 1; number <= counted.calls(); number += 1) {
      for (const when of ['before', 'after'] as const) {
        const stores = new NewStores();
        await expect(stores.fill(cutAt(number, when).through)).rejects.toThrow('cut');
        expect(stores.isFenced || !(await stores.isComplete())).toBe(true);
        await stores.fill();
        expect([stores.isFenced, stores.hasKeys]).toEqual([true, true]);
        expect(await stores.contents()).toEqual(expected);
      }
    }
  },
  LONG_MS,
);
