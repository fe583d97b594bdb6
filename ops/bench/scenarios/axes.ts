import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newActorEvent } from '../../../src/domain/events/newEvent.ts';
import { sourcesStream } from '../../../src/domain/events/streams.ts';
import { catalogEntry } from '../../../src/domain/records/catalog.ts';
import { recordAccess } from '../../../src/modules/audit/recordAccess.ts';
import { KeyDirectory } from '../../../src/modules/auth/keyDirectory.ts';
import { KeyManager } from '../../../src/modules/auth/keyManager.ts';
import { UserManager } from '../../../src/modules/auth/userManager.ts';
import { UserDirectory } from '../../../src/modules/auth/users.ts';
import { eraseRecord } from '../../../src/modules/erasure/erase.ts';
import { MessageStore } from '../../../src/modules/integrations/messages/store.ts';
import {
  openDocumentStore,
  openEventLog,
  openReadModels,
  openStateStoreHere,
} from '../../../src/server/openStorage.ts';
import type { EventLog } from '../../../src/storage/eventLog.ts';
import { freePort } from '../../../test/support/servers.ts';
import type { Bench, Report, Scenario } from '../scenario.ts';
import {
  type Chartledger,
  caughtUp,
  makeStores,
  type Stores,
  startChartledger,
} from '../support/chartledger.ts';
import { commandCost } from '../support/commandCost.ts';
import { loadAuditPage, makeUser, signIn } from '../support/dashboardReader.ts';
import { growLog } from '../support/growLog.ts';
import { growRecord } from '../support/growRecord.ts';
import { bodyOf, turnText } from '../support/load/bodies.ts';
import { messagesOfVisits, sendEachOverMllp } from '../support/load/hl7.ts';
import { firstTurn } from '../support/load/requests.ts';
import { cpuMicroseconds } from '../support/processUsage.ts';
import { readerKey } from '../support/readerKey.ts';
import { number } from '../support/report.ts';
import { median } from '../support/statistics.ts';
import { ask, textOf } from '../support/timedReads.ts';

const SIZES = [100, 1_000, 10_000];
const PAGE = 50;
const TOGETHER = 500;
/** Calls whose processor time is measured together, and how often. */
const CALLS = 20;
const PARTS = 5;

/** What is called of a service, by name. */
type Calls = Record<string, () => Promise<unknown>>;

/** Something of which there may be more and more. */
interface Axis {
  name: string;
  sizes: readonly number[];
  grow(bench: Bench, stores: Stores, size: number): Promise<unknown>;
  calls(service: Api, size: number): Promise<Calls> | Calls;
  /** What is done once at the end, beside the service; each resolves with the milliseconds of processor time that it took there. */
  commands?(stores: Stores): Record<string, () => Promise<number>>;
}

/** Requests to a service. */
class Api {
  readonly #url: string;
  readonly #workspace: string;
  readonly #keys: { writer: string; reader: string };
  #turn = firstTurn();

  readonly stores: Stores;

  constructor({ url, stores }: Chartledger, reader: string) {
    this.#url = url;
    this.stores = stores;
    this.#workspace = stores.key.workspace;
    this.#keys = { writer: stores.key.key, reader };
  }

  get(path: string): Promise<string> {
    return ask(`${this.#url}/integration/${path}`, this.#keys.reader);
  }

  search(q: string): Promise<string> {
    return ask(`${this.#url}/integration/search`, this.#keys.reader, { q });
  }

  /** Sends a record, with a text that was never sent before; `isSame`: always the same. */
  put(kind: 'patients' | 'encounters' | 'payers', index: number, fields: object = {}, isSame = false) {
    const text = isSame ? turnText(1) : turnText(this.#turn++);
    const body = JSON.stringify({ ...JSON.parse(bodyOf(kind, index, text)), ...fields });
    const headers = { 'x-api-key': this.#keys.writer, 'content-type': 'application/json' };
    return textOf(`${this.#url}/integration/${kind}`, { method: 'POST', headers, body });
  }

  /** Adds a small document to an encounter. */
  async upload(encounter: string, id: string) {
    const form = new FormData();
    form.append('document_id', id);
    form.append('category', 'lab_results');
    form.append('file', new Blob([`%PDF-1.7\n${id}\n%%EOF`], { type: 'application/pdf' }), 'results.pdf');
    const path = `${this.#url}/integration/encounters/${encounter}/documents`;
    const { headers, body } = await encoded(form);
    return textOf(path, { method: 'POST', headers: { ...headers, 'x-api-key': this.#keys.writer }, body });
  }

  /** Resolves with what loads the first page of the audit trail in the dashboard. */
  async auditTrail(): Promise<() => Promise<void>> {
    const cookie = await signIn(this.#url);
    return () => loadAuditPage(`${this.#url}/dashboard/workspaces/${this.#workspace}/audit`, cookie);
  }

  /** Resolves with the path of the last page of a list. */
  async lastPage(path: string): Promise<string> {
    const at = (token: string, limit: number) =>
      `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${token && `&page_token=${token}`}`;
    let found = '';
    for (let token = ''; ; ) {
      const page = JSON.parse(await this.get(at(token, PAGE)));
      found = at(token, PAGE);
      if (page.next_page_token === null) return found;
      token = page.next_page_token;
    }
  }
}

/** The type of a form's text has the boundary that divides its parts. */
async function encoded(form: FormData): Promise<{ headers: { 'content-type': string }; body: Buffer }> {
  const response = new Response(form);
  const type = response.headers.get('content-type') as string;
  return { headers: { 'content-type': type }, body: Buffer.from(await response.arrayBuffer()) };
}

const growPayer = (bench: Bench, stores: Stores) =>
  growLog(bench, stores, { kind: 'payer', records: 1, events: 1 }, () => bodyOf('payers', 0, turnText(0)));
const growPatients = (bench: Bench, stores: Stores, records: number) =>
  growLog(bench, stores, { records, events: records }, (index, turn) =>
    JSON.stringify({
      ...JSON.parse(bodyOf('patients', index, turnText(turn))),
      primary_insurance: { payer_id: 'payer-0' },
    }),
  );

async function withLog(stores: Stores, work: (eventLog: EventLog) => Promise<void>): Promise<void> {
  const eventLog = await openEventLog(stores.config.eventLogUrl);
  try {
    await work(eventLog);
  } finally {
    await eventLog.close();
  }
}

/** Adds reads of a patient to the audit trail. */
const growAuditTrail = (stores: Stores, entries: number) =>
  withLog(stores, async (eventLog) => {
    const { workspace, id } = stores.key;
    const read = { action: 'record.read', kind: 'patient', id: 'patient-0' } as const;
    for (let left = entries; left > 0; left -= TOGETHER) {
      await Promise.all(
        Array.from({ length: Math.min(left, TOGETHER) }, () => {
          const caller = { workspace, principal: { type: 'api_key' as const, id }, requestId: randomUUID() };
          return recordAccess(eventLog, caller, read);
        }),
      );
    }
  });

/** Adds workspaces, each with a key. */
const growWorkspaces = (stores: Stores, workspaces: number) =>
  withLog(stores, async (eventLog) => {
    const directory = await KeyDirectory.open(eventLog);
    const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'bench' } });
    for (let made = 0; made < workspaces; made += 1)
      await manager.createKey(`other_${made}`, 'Bench', ['write']);
    directory.close();
  });

/** Adds users who sign in through an identity provider: they have no password whose hash takes time. */
const growUsers = (stores: Stores, users: number) =>
  withLog(stores, async (eventLog) => {
    const directory = await UserDirectory.open(eventLog);
    const manager = new UserManager(directory, { principal: { type: 'operator', id: 'bench' } });
    for (let made = 0; made < users; made += 1) {
      const identity = { issuer: 'https://id.example', subject: `person-${made}` };
      await manager.createForIdentity(`person-${made}`, { '*': 'viewer' }, identity);
    }
    directory.close();
  });

/** Adds workspaces, each with a source that is bound to a network, and one that is bound to this machine. */
const growSources = (stores: Stores, sources: number) =>
  withLog(stores, async (eventLog) => {
    const directory = await KeyDirectory.open(eventLog);
    const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'bench' } });
    // Without the look at all other sources that configuring one takes.
    const bind = (workspace: string, network: string) => {
      const caller = {
        workspace,
        principal: { type: 'operator' as const, id: 'bench' },
        requestId: randomUUID(),
      };
      const source = { id: 'adt', format: 'hl7v2', mllp: { networks: [network] } };
      const event = newActorEvent(caller, workspace, 'SourceConfigured', { source });
      return eventLog.append(sourcesStream(workspace), event, 'any');
    };
    await bind(stores.key.workspace, '127.0.0.0/8');
    for (let made = 1; made < sources; made += 1) {
      const { workspace } = await manager.createKey(`other_${made}`, 'Bench', ['write']);
      await bind(workspace, `10.${made >> 8}.${made & 255}.0/24`);
    }
    directory.close();
  });

/** Adds HL7 v2 messages that were refused and wait. */
async function growParked({ config, key }: Stores, messages: number): Promise<void> {
  const stateStore = await openStateStoreHere(config.stateUrl);
  const documentStore = await openDocumentStore(config.documentsUrl);
  const store = new MessageStore({ stateStore, documentStore });
  for (let made = 0; made < messages; made += 1) {
    const about = [{ kind: 'patient', id: `patient-${made}` }];
    const message = await store.receive(
      { workspace: key.workspace, principal: { type: 'api_key', id: key.id }, requestId: randomUUID() },
      {
        ...{ id: randomUUID(), source: 'default', format: 'hl7v2', media_type: 'x-application/hl7-v2+er7' },
        ...{ bytes: [messagesOfVisits().next().value], retentionDays: 30, about },
      },
    );
    await store.processed(message, { state: 'rejected', about, problems: [] });
  }
  await Promise.all([stateStore.close(), documentStore.close()]);
}

/** Erases patients while the service runs. */
async function eraseSome({ config, key }: Stores, patients: number): Promise<void> {
  const [eventLog, readModels, stateStore, documentStore] = await Promise.all([
    openEventLog(config.eventLogUrl),
    openReadModels(config.readModelUrl),
    openStateStoreHere(config.stateUrl),
    openDocumentStore(config.documentsUrl),
  ]);
  const ports = { eventLog, readModels, stateStore, documentStore, webhooksOf: () => [] };
  const caller = {
    ...{ workspace: key.workspace, principal: { type: 'operator' as const, id: 'bench' } },
    requestId: randomUUID(),
  };
  for (let index = 1; index <= patients; index += 1)
    await eraseRecord(ports, caller, catalogEntry('patient'), `patient-${index}`, { reason: 'benchmark' });
  await Promise.all([eventLog, readModels, stateStore, documentStore].map((store) => store.close()));
}

const erasing = ({ env, key }: Stores, patient: string) =>
  commandCost(
    env,
    ...['records', 'erase', 'patient', patient, '--workspace', key.workspace, '--reason', 'benchmark'],
    '--with-encounters',
  );

/** The erasure comes last. */
const wholeLog = (stores: Stores, patient: string) => {
  const passphrase = join(stores.folder, 'passphrase');
  writeFileSync(passphrase, 'correct horse battery staple');
  const { env, folder } = stores;
  const backUp = () => commandCost(env, 'backup', join(folder, 'backup'), '--passphrase-file', passphrase);
  return {
    verify: () => commandCost(env, 'verify', '--workspace', stores.key.workspace),
    backup: backUp,
    'next backup': backUp,
    'erasure of a patient': () => erasing(stores, patient),
  };
};

const usualCalls = (api: Api): Calls => ({
  'next write': () => api.put('patients', 0, ofPayer),
  record: () => api.get('patients/patient-0'),
  'list, first page': () => api.get(`patients?limit=${PAGE}`),
});
const ofPayer = { primary_insurance: { payer_id: 'payer-0' } };
const ofPatient = {
  patient_id: 'patient-0',
  provider_id: null,
  rendering_provider_id: null,
  facility_id: null,
};

const axes: Axis[] = [
  {
    name: 'versions of a record',
    sizes: SIZES,
    async grow(bench, stores, size) {
      await growPayer(bench, stores);
      await growRecord(stores, 'patient-0', size);
    },
    async calls(api, size) {
      const middle = JSON.parse(await api.get(`patients/patient-0?version=${size / 2}`)).updated_at;
      const history = 'patients/patient-0/history';
      const last = await api.lastPage(history);
      return {
        'next write': () => api.put('patients', 0, ofPayer),
        record: () => api.get('patients/patient-0'),
        'version 1': () => api.get('patients/patient-0?version=1'),
        'as of its middle': () => api.get(`patients/patient-0?as_of=${middle}`),
        'history, first page': () => api.get(`${history}?limit=${PAGE}`),
        'history, last page': () => api.get(last),
      };
    },
    commands: (stores) => ({ erasure: () => erasing(stores, 'patient-0') }),
  },
  {
    name: 'encounters of a patient',
    sizes: SIZES,
    async grow(bench, stores, size) {
      await growPayer(bench, stores);
      await growPatients(bench, stores, 1);
      await growLog(bench, stores, { kind: 'encounter', records: size, events: size }, (index, turn) =>
        JSON.stringify({ ...JSON.parse(bodyOf('encounters', index, turnText(turn))), ...ofPatient }),
      );
    },
    async calls(api, size) {
      const list = 'encounters?patient_id=patient-0';
      const last = await api.lastPage(list);
      let next = size;
      return {
        'next encounter': () => api.put('encounters', next++, ofPatient),
        'patient, unchanged': () => api.put('patients', 0, ofPayer, true),
        patient: () => api.get('patients/patient-0'),
        'list, first page': () => api.get(`${list}&limit=${PAGE}`),
        'list, last page': () => api.get(last),
      };
    },
    commands: (stores) => ({ 'erasure of all': () => erasing(stores, 'patient-0') }),
  },
  {
    name: 'patients that name one payer',
    sizes: [1_000, 10_000, 100_000],
    async grow(bench, stores, size) {
      await growPayer(bench, stores);
      await growPatients(bench, stores, size);
    },
    async calls(api, size) {
      const last = await api.lastPage('patients?sort=-updated_at');
      let next = size;
      return {
        'next patient': () => api.put('patients', next++, ofPayer),
        'payer, changed': () => api.put('payers', 0),
        payer: () => api.get('payers/payer-0'),
        'list, first page': () => api.get(`patients?limit=${PAGE}`),
        'list, last page': () => api.get(last),
        'search, one result': () => api.search('lopez-77'),
        'search, a name that all have': () => api.search('maria'),
      };
    },
  },
  {
    name: 'documents of an encounter',
    sizes: [10, 100, 1_000],
    async grow(bench, stores) {
      await growPayer(bench, stores);
      await growPatients(bench, stores, 1);
      await growLog(bench, stores, { kind: 'encounter', records: 1, events: 1 }, (index, turn) =>
        JSON.stringify({ ...JSON.parse(bodyOf('encounters', index, turnText(turn))), ...ofPatient }),
      );
    },
    async calls(api, size) {
      for (let index = 0; index < size; index += 1) await api.upload('encounter-0', `document-${index}`);
      const list = 'encounters/encounter-0/documents';
      const last = await api.lastPage(list);
      let next = size;
      return {
        'next document': () => api.upload('encounter-0', `document-${next++}`),
        document: () => api.get(`${list}/document-0`),
        'list, first page': () => api.get(`${list}?limit=${PAGE}`),
        'list, last page': () => api.get(last),
        encounter: () => api.get('encounters/encounter-0'),
      };
    },
  },
  {
    name: 'events of the log',
    sizes: [1_000, 10_000, 100_000],
    async grow(bench, stores, size) {
      await growPayer(bench, stores);
      await growLog(bench, stores, { records: size / 10, events: size });
    },
    calls: usualCalls,
    commands: (stores) => wholeLog(stores, 'patient-1'),
  },
  {
    name: 'entries of the audit trail',
    sizes: [1_000, 10_000, 100_000],
    async grow(bench, stores, size) {
      await makeUser(stores);
      await growPayer(bench, stores);
      await growPatients(bench, stores, 1);
      await growAuditTrail(stores, size);
    },
    async calls(api) {
      return { ...usualCalls(api), 'audit trail, first page': await api.auditTrail() };
    },
  },
  {
    name: 'workspaces with a key',
    sizes: [10, 100, 1_000],
    async grow(bench, stores, size) {
      await growPayer(bench, stores);
      await growPatients(bench, stores, 1);
      await growWorkspaces(stores, size);
    },
    calls: usualCalls,
  },
  {
    name: 'users',
    sizes: [10, 100, 1_000],
    async grow(bench, stores, size) {
      await makeUser(stores);
      await growUsers(stores, size);
      await growPayer(bench, stores);
      await growPatients(bench, stores, 1);
    },
    async calls(api) {
      return { ...usualCalls(api), 'audit trail, first page': await api.auditTrail() };
    },
  },
  {
    name: 'sources, each in a workspace',
    sizes: [10, 100, 1_000],
    async grow(bench, stores, size) {
      await growPayer(bench, stores);
      await growPatients(bench, stores, 1);
      await growSources(stores, size);
    },
    async calls(api) {
      const send = await sendEachOverMllp(Number(api.stores.env.MLLP_PORT));
      return { ...usualCalls(api), 'HL7 message over MLLP': send };
    },
  },
  {
    name: 'erased patients',
    sizes: [10, 100, 1_000],
    async grow(bench, stores, size) {
      await growPayer(bench, stores);
      await growPatients(bench, stores, size + 2);
    },
    async calls(api, size) {
      await eraseSome(api.stores, size);
      return usualCalls(api);
    },
    commands: (stores) => wholeLog(stores, 'patient-0'),
  },
  {
    name: 'messages that wait',
    sizes: [100, 1_000, 10_000],
    async grow(bench, stores, size) {
      await growPayer(bench, stores);
      await growPatients(bench, stores, 1);
      await growParked(stores, size);
    },
    async calls(api) {
      const send = await sendEachOverMllp(Number(api.stores.env.MLLP_PORT));
      return { ...usualCalls(api), 'HL7 message over MLLP': send };
    },
  },
];

/** Resolves with milliseconds of processor time of all threads a call. */
async function costs({ url, pid }: Chartledger, calls: Calls): Promise<Map<string, number>> {
  const found = new Map<string, number[]>(Object.keys(calls).map((name) => [name, []]));
  // The first part is not counted.
  for (let part = 0; part <= PARTS; part += 1) {
    for (const [name, call] of Object.entries(calls)) {
      await caughtUp(url);
      const before = cpuMicroseconds(pid);
      for (let turn = 0; turn < CALLS; turn += 1) await call();
      await caughtUp(url);
      if (part > 0) found.get(name)?.push((cpuMicroseconds(pid) - before) / 1_000 / CALLS);
    }
  }
  return new Map([...found].map(([name, parts]) => [name, median(parts)]));
}

async function measure(bench: Bench, axis: Axis, size: number): Promise<Map<string, number>> {
  bench.progress(`${axis.name}: ${number(size)}`);
  const stores = await makeStores(bench, {
    ROLES: 'api,projector,webhooks,heads,mllp',
    MLLP_PORT: `${await freePort()}`,
  });
  await axis.grow(bench, stores, size);
  const reader = await readerKey(stores);
  const first = await startChartledger(bench, stores);
  const built = await caughtUp(first.url);
  const found = await costs(first, await axis.calls(new Api(first, reader), size));
  found.set('read models built, s', built);
  await first.stop();
  const service = await startChartledger(bench, stores);
  found.set('start', cpuMicroseconds(service.pid) / 1_000);
  for (const [name, command] of Object.entries(axis.commands?.(stores) ?? {})) {
    await caughtUp(service.url);
    const before = cpuMicroseconds(service.pid);
    const used = await command();
    await caughtUp(service.url);
    found.set(name, used + (cpuMicroseconds(service.pid) - before) / 1_000);
  }
  await service.stop();
  return found;
}

async function run(bench: Bench): Promise<Report> {
  const rows: string[][] = [];
  for (const axis of axes) {
    const sizes = bench.quick ? axis.sizes.slice(0, 2) : axis.sizes;
    const bySize: Map<string, number>[] = [];
    for (const size of sizes) bySize.push(await measure(bench, axis, size));
    const [first, last] = [sizes[0] as number, sizes.at(-1) as number];
    for (const name of bySize[0]?.keys() ?? []) {
      const figures = bySize.map((found) => found.get(name) as number);
      const exponent = Math.log((figures.at(-1) as number) / (figures[0] as number)) / Math.log(last / first);
      rows.push([
        axis.name,
        sizes.map(number).join(' / '),
        name,
        figures.map(number).join(' / '),
        exponent.toFixed(2),
      ]);
    }
  }
  return { figures: [{ columns: ['of what', 'how many', 'call', 'CPU ms', 'exponent'], rows }], checks: [] };
}

export const axesScenario: Scenario = {
  name: 'axes',
  description:
    'What a call costs the more there is of something: milliseconds of processor time of all threads, with what the read models and the ' +
    'audit trail take, and the exponent of its growth from the first to the last size.',
  isOnlyByName: true,
  run,
};
