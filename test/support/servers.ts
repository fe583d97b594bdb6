import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { afterAll, describe } from 'vitest';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { ServiceOptions } from '../../src/server/service.ts';
import { eventually } from './eventually.ts';
import { outputFolder } from './output.ts';
import { sharedService, startTestService, type TestService } from './service.ts';

/** Below what Linux hands out by itself (ip_local_port_range), so that no outgoing connection takes one while its server is away. */
const PORTS = [20_000, 32_000] as const;

/** The first of so many ports in a row on 127.0.0.1 that nobody has, for a server that goes and comes back. */
export function freePort(count = 1): Promise<number> {
  return eventually(async () => {
    const first = randomInt(...PORTS);
    const servers = Array.from({ length: count }, (_, n) => createServer().listen(first + n, '127.0.0.1'));
    try {
      await Promise.all(servers.map((server) => once(server, 'listening')));
    } finally {
      await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
    }
    return first;
  });
}

/** The scheme of the tests' logs on servers: it says which driver this process loads, of the two that cannot share one. */
export const logScheme = process.env.TEST_LOG_SCHEME === 'kurrentdb' ? 'kurrentdb' : 'esdb';

/** A client of the driver itself, as another application would use it, with what makes its events. */
export async function foreignClient(url: string) {
  if (logScheme === 'esdb') {
    const { EventStoreDBClient, binaryEvent, jsonEvent } = await import('@eventstore/db-client');
    return { client: EventStoreDBClient.connectionString(url), binaryEvent, jsonEvent };
  }
  const { KurrentDBClient, binaryEvent, jsonEvent } = await import('@kurrent/kurrentdb-client');
  return { client: KurrentDBClient.connectionString(url), binaryEvent, jsonEvent };
}

/** Where a server for tests is, or why there is none. */
type ServerAtHand = { url: string; missing?: undefined } | { url?: undefined; missing: string };

/**
 * The server that an environment variable names; else one out of `start`, where Docker answers. A server that is
 * named is taken at its word: when it does not answer, tests fail.
 */
async function serverAtHand(variable: string, start: () => Promise<string>): Promise<ServerAtHand> {
  const url = process.env[variable];
  if (url) return { url };
  const { getContainerRuntimeClient } = await testcontainers();
  try {
    await getContainerRuntimeClient();
  } catch {
    const missing = `${variable} is not set and Docker does not answer`;
    process.stderr.write(`Skipped: ${missing}.\n`);
    return { missing };
  }
  return { url: await start() };
}

/** Loaded where a container is asked for: that takes longer than many a test. */
const testcontainers = () => import('testcontainers');

const logImages = {
  esdb: { image: 'eventstore/eventstore:23.10.8-bookworm-slim', prefix: 'EVENTSTORE' },
  kurrentdb: { image: 'kurrentplatform/kurrentdb:25.0.1', prefix: 'KURRENTDB' },
};

/** An EventStoreDB server; a KurrentDB server, or what speaks its protocol, for the tests of its driver. */
async function eventStoreDb(): Promise<ServerAtHand> {
  const variable =
    logScheme === 'kurrentdb' && process.env.TEST_KURRENTDB_URL ? 'TEST_KURRENTDB_URL' : 'TEST_ESDB_URL';
  const server = await serverAtHand(variable, async () => {
    const { GenericContainer, Wait } = await testcontainers();
    const { image, prefix } = logImages[logScheme];
    const container = await new GenericContainer(image)
      .withEnvironment({ [`${prefix}_INSECURE`]: 'true', [`${prefix}_MEM_DB`]: 'true' })
      .withExposedPorts(2113)
      .withWaitStrategy(Wait.forHttp('/health/live', 2113).forStatusCode(204))
      .start();
    return `${logScheme}://${container.getHost()}:${container.getMappedPort(2113)}?tls=false`;
  });
  return server.url === undefined ? server : { url: server.url.replace(/^\w+/, logScheme) };
}

/**
 * The command of the stand-in server that `TEST_ESDB_RESTART` starts (`node server.mjs HOST PORT FILE`), for tests
 * that kill and freeze a server of their own; undefined where there is none.
 */
export function testServerCommand(): string[] | undefined {
  const [node, script] = (process.env.TEST_ESDB_RESTART ?? '').split(' ');
  return node && script && existsSync(script) ? [node, script] : undefined;
}

/** The environment of that server: after a start or an election its reads show late what it holds, as those of a new leader do. */
const testServerEnv = { ...process.env, ESDB_LATE_INDEX_MS: '2500' };

const FREEZE_LOOK_MS = 2;

/** Stops a process; all of its threads have stopped when this returns: on a busy machine the signal takes a while to reach them. */
function freeze(server: ChildProcess | undefined): void {
  if (server?.pid === undefined) return;
  server.kill('SIGSTOP');
  const tasks = `/proc/${server.pid}/task`;
  const isStopped = (task: string) => /\) [tTZX] /.test(readFileSync(join(tasks, task, 'stat'), 'utf8'));
  while (!readdirSync(tasks).every(isStopped))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FREEZE_LOOK_MS);
}

/**
 * The command of the MongoDB server that `TEST_MONGODB_RESTART` starts (it ends with HOST PORT FILE); undefined where
 * there is none.
 */
export function mongoDbCommand(): string[] | undefined {
  const command = (process.env.TEST_MONGODB_RESTART ?? '').split(' ').slice(0, -3);
  return command.length > 0 ? command : undefined;
}

/** A MongoDB server. */
export function mongoDb(): Promise<ServerAtHand> {
  return serverAtHand('TEST_MONGODB_URL', async () => {
    const { GenericContainer, Wait } = await testcontainers();
    const container = await new GenericContainer('mongo:7')
      .withExposedPorts(27017)
      .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/))
      .start();
    return `mongodb://${container.getHost()}:${container.getMappedPort(27017)}/`;
  });
}

/** A Google Cloud Storage server; its bucket is `gcsBucket`. */
export function googleCloudStorage(): Promise<ServerAtHand> {
  return serverAtHand('TEST_GCS_URL', async () => {
    const { GenericContainer, Wait } = await testcontainers();
    const container = await new GenericContainer('fsouza/fake-gcs-server:1.52')
      .withCommand(['-scheme', 'http', '-backend', 'memory'])
      .withExposedPorts(4443)
      .withWaitStrategy(Wait.forHttp('/_internal/healthcheck', 4443))
      .start();
    const url = `http://${container.getHost()}:${container.getMappedPort(4443)}`;
    const send = (method: string, path: string, body: unknown) =>
      fetch(url + path, {
        method,
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    // It tells uploaders where to send their bytes, and cannot know where its port is seen from outside.
    await send('PUT', '/_internal/config', { externalUrl: url });
    await send('POST', '/storage/v1/b?project=test', { name: gcsBucket });
    return url;
  });
}

/** The bucket of the Google Cloud Storage server. */
export const gcsBucket = process.env.TEST_GCS_BUCKET ?? 'test';

/** A server of the test's own, EventStoreDB's stand-in unless said otherwise, to be killed and frozen; its data outlive it. */
export class TestServer {
  readonly #command: string[];
  readonly #end: NodeJS.Signals;
  readonly #urlOf: (port: number) => string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'chartledger-stand-in-'));
  #port = 0;
  #process: ChildProcess | undefined;
  #output: Interface | undefined;

  /** `command` is the beginning of a command line that goes on with HOST PORT FILE; `end` is the signal that ends it. */
  constructor(
    command: string[],
    urlOf = (port: number) => `${logScheme}://127.0.0.1:${port}?tls=false`,
    end: NodeJS.Signals = 'SIGKILL',
  ) {
    this.#command = command;
    this.#urlOf = urlOf;
    this.#end = end;
  }

  get url(): string {
    return this.#urlOf(this.#port);
  }

  /** Starts it, again on the same port and data; resolves when it listens. Its clock is so far behind ours. */
  async start(behindMs = 0): Promise<void> {
    this.#port ||= await freePort();
    const [program = '', ...rest] = this.#command;
    const place = ['127.0.0.1', String(this.#port), join(this.#folder, 'log')];
    const clock = `const { now } = Date; Date.now = () => now() - ${behindMs};`;
    const options = behindMs === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(clock)}`];
    const started = spawn(program, [...options, ...rest, ...place], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: testServerEnv,
    });
    this.#process = started;
    this.#output = createInterface({ input: started.stdout });
    await eventually(() => listening(this.#port));
  }

  /** How many calls EventStoreDB's stand-in got since its start. */
  async calls(): Promise<{ reads: number; subscriptions: number; appends: number }> {
    const line = once(this.#output as Interface, 'line');
    this.#process?.kill('SIGUSR2');
    return JSON.parse((await line)[0]);
  }

  async kill(): Promise<void> {
    if (this.#process === undefined) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill(this.#end);
    this.thaw();
    await exited;
    this.#process = undefined;
  }

  freeze(): void {
    freeze(this.#process);
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  /** What its file holds of events, as text: it holds data and metadata in base64. */
  stored(): string {
    const lines = readFileSync(join(this.#folder, 'log'), 'utf8').split('\n');
    const decoded = (value: string) => Buffer.from(value, 'base64').toString();
    return lines
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line, (name, value) => (isEncoded(name) ? decoded(value) : value)))
      .map((event) => JSON.stringify(event))
      .join('\n');
  }

  /** Kills it and deletes its data. */
  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const isEncoded = (name: string) => name === 'data' || name === 'metadata';

async function listening(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}

/** An event log and a MongoDB server that nobody else uses. */
export class OwnServers {
  readonly eventLog: TestServer;
  readonly database: TestServer;

  constructor(eventLog: string[], database: string[]) {
    this.eventLog = new TestServer(eventLog);
    // MongoDB's journal keeps what was acknowledged. Killed by SIGKILL, what stands in for it keeps parts of its last second.
    this.database = new TestServer(database, (port) => `mongodb://127.0.0.1:${port}/chartledger`, 'SIGTERM');
  }

  /** Starts both; the settings of a service on them. */
  async start(): Promise<Record<string, string>> {
    await Promise.all([this.eventLog.start(), this.database.start()]);
    return { EVENT_LOG_URL: this.eventLog.url, READ_MODEL_URL: this.database.url };
  }

  async remove(): Promise<void> {
    await Promise.all([this.eventLog.remove(), this.database.remove()]);
  }
}

const NODES = 3;

/** Three nodes of EventStoreDB's stand-in over one log, to be killed and started one by one; node 0 leads at first. */
export class TestServerCluster {
  readonly #command: string[];
  readonly folder = mkdtempSync(join(tmpdir(), 'chartledger-cluster-'));
  #port = 0;
  #process: ChildProcess | undefined;
  #answers: AsyncIterator<string> | undefined;

  /** `command` is the beginning of a command line that goes on with HOST PORT FILE NODES. */
  constructor(command: string[]) {
    this.#command = command;
  }

  /** The nodes as `host:port`, node 0 first. */
  get nodes(): string[] {
    return Array.from({ length: NODES }, (_, n) => `127.0.0.1:${this.#port + n}`);
  }

  /** The nodes as a list, node 0 first, with or without the word that one of them is to be asked for the others. */
  url(hosts: 'list' | 'discover'): string {
    return `${logScheme}${hosts === 'discover' ? '+discover' : ''}://${this.nodes.join()}?tls=false`;
  }

  /** Starts the nodes, with these settings in their environment. */
  async start(env: Record<string, string> = {}): Promise<void> {
    this.#port = await freePort(NODES);
    const [program = '', ...rest] = this.#command;
    const place = ['127.0.0.1', String(this.#port), join(this.folder, 'log'), String(NODES)];
    this.#process = spawn(program, [...rest, ...place], {
      env: { ...testServerEnv, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const { stdout } = this.#process;
    this.#answers = createInterface({ input: stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
    await this.startNode(0);
  }

  /** Kills a node: the others elect another leader, if it was one and they are two. */
  killNode(n: number): Promise<void> {
    return this.#tell(`kill ${n}`);
  }

  /** Starts a node, unless it runs. */
  startNode(n: number): Promise<void> {
    return this.#tell(`start ${n}`);
  }

  /** What its file holds. */
  stored(): Buffer {
    return readFileSync(join(this.folder, 'log'));
  }

  /** Ends it and deletes its data. */
  async remove(): Promise<void> {
    const exited = this.#process && once(this.#process, 'exit');
    this.#process?.kill('SIGKILL');
    await exited;
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #tell(line: string): Promise<void> {
    this.#process?.stdin?.write(`${line}\n`);
    const answer = await this.#answers?.next();
    if (answer?.value !== line) throw new Error(`the cluster did not answer ${line}`);
  }
}

/**
 * A log server of the suite's own, where one can be started: what others append, each of its services would have to read, and the stand-in's
 * subscriptions pass over events while others scavenge.
 */
async function startOwnLog(): Promise<TestServer | undefined> {
  const standIn = await runOwnLog();
  if (standIn) afterAll(() => standIn.remove());
  return standIn;
}

async function runOwnLog(): Promise<TestServer | undefined> {
  const command = testServerCommand();
  if (command === undefined) return undefined;
  const standIn = new TestServer(command);
  await standIn.start();
  return standIn;
}

/** The server for tests of a driver of the log: the suite's own, unless a KurrentDB server is named for tests of its driver. */
export async function logServer(): Promise<ServerAtHand> {
  const isNamed = logScheme === 'kurrentdb' && process.env.TEST_KURRENTDB_URL;
  const own = isNamed ? undefined : await startOwnLog();
  return own ? { url: own.url } : eventStoreDb();
}

/** Starts a service on one set of engines; `env` overrides settings. */
export type StartService = (env?: Record<string, string>, timing?: ServiceOptions) => Promise<TestService>;

/** The production engines have a phase of their own, which needs their servers. */
const isProductionPhase = process.env.TEST_PHASE === 'production';

/** A set of engines. */
interface Engines {
  /** Settings of a service on fresh stores, for a process of its own; the embedded engines are in its DATA_DIR. */
  settings(): Record<string, string>;
  /** The server that keeps the log, where it is one of the tests' own. */
  logServer: TestServer | undefined;
}

const embedded: Engines = { settings: () => ({}), logServer: undefined };

/**
 * Runs a suite on the embedded engines, and in its phase on the production engines where their servers are at hand: for what depends on
 * the engines.
 */
export function onEveryEngine(suite: (start: StartService, engines: Engines) => void): void {
  if (!isProductionPhase) {
    describe('embedded engines', () => suite(startTestService, embedded));
  } else if (missingServer !== undefined) {
    describe.skip(`production engines (${missingServer})`, () =>
      suite(startOnProduction, production(undefined)));
  } else {
    describe('production engines', async () => {
      const log = await startOwnLog();
      suite((env, timing) => startOnProduction({ ...placeOf(log), ...env }, timing), production(log));
    });
  }
}

/**
 * Runs a suite as `onEveryEngine` does, on a service with default settings that suites of this process share: for those that change
 * their own workspaces only.
 */
export function onSharedService(suite: (open: () => Promise<TestService>) => void): void {
  if (!isProductionPhase) {
    describe('embedded engines', () => suite(() => sharedService()));
  } else if (missingServer !== undefined) {
    describe.skip(`production engines (${missingServer})`, () => suite(() => sharedService()));
  } else {
    describe('production engines', () => suite(() => sharedService(settingsForShared)));
  }
}

/**
 * Settings for the service that suites share, on a log server of this process's own. Two threads answer its requests, so that what one
 * knows and the other does not shows in every suite that shares it.
 */
async function settingsForShared(): Promise<Record<string, string>> {
  const log = await runOwnLog();
  // The test runner ends the process.
  if (log) process.once('SIGTERM', () => log.kill().then(() => process.exit()));
  const settings = { ...productionSettings(), ...placeOf(log), REQUEST_THREADS: '2' };
  await skipHistory(settings);
  return settings;
}

/**
 * Runs a suite on the embedded engines alone, in the form of `onEveryEngine`, or as a part of one: for what is decided before a store is
 * asked, or after it has answered. In the run on the production engines, it is left out.
 */
export function onEmbeddedEngines(suite: (start: StartService) => void): void {
  if (isProductionPhase) return;
  describe('embedded engines', () => suite(startTestService));
}

const production = (log: TestServer | undefined): Engines => ({
  settings: () => ({ ...productionSettings(), ...placeOf(log) }),
  logServer: log,
});

const servers = isProductionPhase ? await Promise.all([eventStoreDb(), mongoDb(), googleCloudStorage()]) : [];

/** Why services cannot be started on the production engines, if so, in the phase that is for them. */
export const missingServer = servers.find(({ missing }) => missing !== undefined)?.missing;

const placeOf = (log: TestServer | undefined) => (log ? { EVENT_LOG_URL: log.url } : {});

/** Of an Ed25519 private key (PKCS#8, DER), before its 32 bytes. */
const SIGNING_KEY_BEGIN = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyNamed = (name: string) => createHash('sha256').update(name).digest();

/** The services of a log have one set of keys, though each has a data folder of its own. */
const sharedKeys = {
  ...Object.fromEntries(
    ['DEIDENTIFICATION_KEY', 'WEBHOOK_SECRETS_KEY', 'TOTP_SECRETS_KEY'].map((name) => [
      name,
      keyNamed(name).toString('base64'),
    ]),
  ),
  SIGNING_KEY: Buffer.concat([SIGNING_KEY_BEGIN, keyNamed('SIGNING_KEY')]).toString('base64'),
};

/** Settings for fresh read models and documents on the production engines; services share the log. */
function productionSettings(): Record<string, string> {
  const [log, database, storage] = servers.map(({ url }) => url ?? '');
  const name = `chartledger_test_${randomBytes(6).toString('hex')}`;
  const databaseUrl = new URL(database ?? '');
  databaseUrl.pathname = `/${name}`;
  return {
    EVENT_LOG_URL: log ?? '',
    READ_MODEL_URL: databaseUrl.href,
    DOCUMENTS_URL: `gs://${gcsBucket}/${name}?endpoint=${storage}`,
    ...sharedKeys,
  };
}

/** Starts a service on the production engines; `env` overrides settings. */
export async function startOnProduction(
  env: Record<string, string> = {},
  timing: ServiceOptions = {},
): Promise<TestService> {
  const settings = { ...productionSettings(), ...env };
  await skipHistory(settings);
  return startTestService(settings, timing);
}

/** What a shared log holds already is none of a test's business: its read models begin at the log's head. */
async function skipHistory({
  EVENT_LOG_URL = '',
  READ_MODEL_URL = '',
}: Record<string, string>): Promise<void> {
  const eventLog = await openEventLog(EVENT_LOG_URL);
  const readModels = await openReadModels(READ_MODEL_URL);
  const head = await eventLog.head();
  for (const model of projections.map(modelName)) {
    await eventually(async () => {
      await readModels.begin(model, await eventLog.identity());
      await readModels.write({ model, rows: [], checkpoint: head });
    });
  }
  await Promise.all([eventLog.close(), readModels.close()]);
}

const ownEventStoreDb = testServerCommand();
const ownMongoDb = mongoDbCommand();

/** Runs a suite that kills and freezes servers of its own, where TEST_ESDB_RESTART and TEST_MONGODB_RESTART start them. */
export function withOwnServers(name: string, suite: (servers: OwnServers) => void): void {
  if (ownEventStoreDb && ownMongoDb) {
    describe(name, () => suite(new OwnServers(ownEventStoreDb, ownMongoDb)));
    return;
  }
  const missing = 'TEST_ESDB_RESTART and TEST_MONGODB_RESTART do not start servers';
  process.stderr.write(`Skipped: ${name}: ${missing}.\n`);
  describe.skip(`${name} (${missing})`, () => suite(new OwnServers([], [])));
}

/**
 * The ids of the writes that a service answered, by status, as its log tells. A write's event bears the same id.
 */
export function answeredWrites(service: TestService): Map<number, string[]> {
  const text = readFileSync(`${outputFolder}/logs/${process.pid}.log`, 'utf8');
  const workspace = service.workspaceId('clinic');
  const answered = new Map<number, string[]>();
  for (const line of text.split('\n')) {
    if (!line.includes(workspace)) continue;
    const { msg, method, status, requestId } = JSON.parse(line);
    if (msg !== 'request' || method !== 'POST') continue;
    answered.set(status, [...(answered.get(status) ?? []), requestId]);
  }
  return answered;
}
