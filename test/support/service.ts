import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { destination } from 'pino';
import { expect } from 'vitest';
import {
  Chartledger,
  type ChartledgerError,
  type ChartledgerOptions,
} from '../../clients/typescript/src/index.ts';
import { type Batches, openBatches } from '../../src/api/routes/batchRunner.ts';
import { fhirRoutes } from '../../src/api/routes/fhirResources.ts';
import { tokenRoutes } from '../../src/api/routes/fhirToken.ts';
import { apiRoutes, healthRoutes } from '../../src/api/routes/index.ts';
import type { readinessDetails } from '../../src/api/routes/service.ts';
import { createApp } from '../../src/api/server/app.ts';
import { dashboardApp } from '../../src/dashboard/app.ts';
import { requestLimit } from '../../src/dashboard/http/visit.ts';
import type { JsonObject, Position, RecordedEvent } from '../../src/domain/events/event.ts';
import { INSTALLATION, isBookkeeping } from '../../src/domain/events/streams.ts';
import { UnknownKeyTally } from '../../src/modules/audit/requestLog.ts';
import { AccessTokens } from '../../src/modules/auth/accessTokens.ts';
import { ClientAssertions } from '../../src/modules/auth/clientAssertions.ts';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { type CreatedKey, KeyManager } from '../../src/modules/auth/keyManager.ts';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import { openSignInLimits } from '../../src/modules/auth/signIn.ts';
import { SecondFactor } from '../../src/modules/auth/twoFactor.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { Consumers } from '../../src/modules/eventStream/consumers.ts';
import { EventStream } from '../../src/modules/eventStream/eventStream.ts';
import { StoreWatch } from '../../src/modules/health.ts';
import { Reservations } from '../../src/modules/idempotency/reservations.ts';
import { MessageClaims } from '../../src/modules/integrations/messages/claims.ts';
import { MessageStore } from '../../src/modules/integrations/messages/store.ts';
import { UnusedMessages } from '../../src/modules/integrations/messages/unused.ts';
import { SourceCache } from '../../src/modules/integrations/sources.ts';
import { Keyring } from '../../src/modules/keyring.ts';
import { openAnalyses } from '../../src/modules/readiness/jobs.ts';
import { openWriteWarnings } from '../../src/modules/readiness/warnings.ts';
import { RecordExistence, ReferenceWaits } from '../../src/modules/records/commands/references.ts';
import { RecordReturns } from '../../src/modules/records/commands/returns.ts';
import { PrincipalNames } from '../../src/modules/records/queries/principalNames.ts';
import { WebhookManager } from '../../src/modules/webhooks/manager.ts';
import { createEgressPolicy } from '../../src/modules/webhooks/settings.ts';
import { WebhookDirectory } from '../../src/modules/webhooks/webhook.ts';
import { type Config, loadConfig } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { feedThread } from '../../src/server/eventStream.ts';
import { analyseInThread, openEvidence } from '../../src/server/integrity.ts';
import { loadSessionSecret, managedKeys } from '../../src/server/keys.ts';
import {
  openDocumentStore,
  openEventLog,
  openRateLimiters,
  openReadModels,
  openStateStore,
} from '../../src/server/openStorage.ts';
import { type Service, type ServiceOptions, startService } from '../../src/server/service.ts';
import type { DocumentStore } from '../../src/storage/documentStore.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { systemClock } from '../../src/storage/rateLimiters.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { outputFolder } from './output.ts';

export interface Faults {
  eventLog?: Partial<EventLog>;
  readModels?: Partial<ReadModels>;
  stateStore?: Partial<StateStore>;
  documentStore?: Partial<DocumentStore>;
}

/** A port whose methods in `faults` stand in for its own. */
export function withFaults<Port extends object>(port: Port, faults: Partial<Port> = {}): Port {
  return new Proxy(port, {
    get(target, name) {
      const own = Reflect.get(target, name);
      return Reflect.get(faults, name) ?? (typeof own === 'function' ? own.bind(target) : own);
    },
  });
}

/**
 * A second HTTP interface and dashboard over a service's stores, whose ports have faults. Keys, users and webhooks are
 * looked up without faults; keys and webhooks are changed with those of `append`. Sessions of the service go on in it.
 */
export async function startFaultyApp(
  service: TestService,
  faults: Faults,
): Promise<Client & { batches: Batches; stop(): Promise<void> }> {
  const realReadModels = await openReadModels(service.config.readModelUrl);
  const realStateStore = await openStateStore(service.config.stateUrl);
  const realDocumentStore = await openDocumentStore(service.config.documentsUrl);
  const { append = service.eventLog.append.bind(service.eventLog) } = faults.eventLog ?? {};
  const directory = await KeyDirectory.open(withFaults(service.eventLog, { append }));
  const eventLog = withFaults(service.eventLog, faults.eventLog);
  const readModels = withFaults(realReadModels, faults.readModels);
  const stateStore = withFaults(realStateStore, faults.stateStore);
  const documentStore = withFaults(realDocumentStore, faults.documentStore);
  const existence = new RecordExistence(eventLog, readModels);
  const log = destination({ dest: `${outputFolder}/logs/${process.pid}.log`, sync: true, mkdir: true });
  const logger = createLogger('trace', log);
  const feed = new EventStream(feedThread(service.config.eventLogUrl), async () => ({
    key: randomBytes(32),
    epoch: 1,
  }));
  const webhookDirectory = await WebhookDirectory.open(withFaults(service.eventLog, { append }));
  const users = await UserDirectory.open(service.eventLog);
  const names = new PrincipalNames({ api_key: directory, user: users });
  const knownKeys = new Keyring(eventLog, managedKeys(service.config));
  const secrets = () => knownKeys.all('webhookSecrets');
  const webhooks = new WebhookManager({
    eventLog,
    readModels,
    stateStore,
    directory: webhookDirectory,
    keys: directory,
    names,
    addresses: createEgressPolicy([]),
    secretsKeys: secrets,
  });
  const limiters = await openRateLimiters(service.config.stateUrl);
  const messages = new MessageStore({ stateStore, documentStore });
  const ports = {
    eventLog,
    readModels,
    stateStore,
    documentStore,
    existence,
    referenceWaits: new ReferenceWaits(existence),
    returns: new RecordReturns(eventLog, (workspace) => directory.returnsOf(workspace)),
    warnings: openWriteWarnings(eventLog),
    sources: new SourceCache(eventLog),
    messages,
    claims: new MessageClaims({ stateStore, clock: systemClock, messages, secrets }),
    unused: new UnusedMessages(stateStore),
    reservations: new Reservations({ stateStore, clock: systemClock, secrets }),
    batches: openBatches(service.config, limiters, logger),
    directory,
    names,
    feed,
    consumers: new Consumers({ stateStore, clock: systemClock }),
    webhooks,
    webhookDirectory,
    webhooksOf: (workspace: string) => webhookDirectory.idsOf(workspace),
    publicUrl: undefined,
  };
  const evidence = openEvidence(service.config, logger, { eventLog, stateStore, knownKeys });
  const analyses = openAnalyses({
    stateStore,
    run: analyseInThread(service.config),
    onFailure: (error) => logger.error({ error }),
  });
  const draining = new AbortController().signal;
  const around = { logger, draining, clientIp: () => '127.0.0.1' };
  const sessionSecret = await loadSessionSecret(service.config);
  const tokens = new AccessTokens(sessionSecret, { directory, clock: systemClock });
  const assertions = new ClientAssertions({ directory, stateStore, clock: systemClock });
  const gate = {
    directory,
    limit: async () => undefined,
    unknownKeys: new UnknownKeyTally(eventLog),
    tokens,
  };
  const dashboard = dashboardApp({
    ...around,
    sessionSecret,
    trustProxy: service.config.trustProxy,
    ports: {
      ...ports,
      users,
      signInLimits: openSignInLimits(limiters),
      secondFactor: new SecondFactor({ eventLog, users, totpSecretsKey: async () => randomBytes(32) }),
      requireTotp: [],
      requestLimit: requestLimit(limiters, 0),
      identityProvider: undefined,
      openapiPublic: false,
      retentionYears: undefined,
      notifications: { canMail: false, addresses: createEgressPolicy([]), secretsKeys: secrets },
      evidence,
      analyses,
    },
  });
  const storeWatch = new StoreWatch(ports, around.logger);
  const health = {
    eventLog,
    readModels,
    roles: service.config.roles,
    processState: async () => ({
      stores: await storeWatch.states(),
      failingRoles: new Set<never>(),
      findings: [],
    }),
  };
  const routes = [
    ...apiRoutes(ports, false),
    ...tokenRoutes({ ...ports, gate, assertions, tokens }),
    ...fhirRoutes(ports),
    ...healthRoutes(health),
  ];
  const app = createApp(routes, { ...around, gate, eventLog }, async () => dashboard);
  const server = createServer(app);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, service.key);
  return Object.assign(client, {
    batches: ports.batches,
    async stop() {
      storeWatch.close();
      server.close();
      server.closeAllConnections();
      directory.close();
      webhookDirectory.close();
      users.close();
      await Promise.all([evidence.close(), analyses.close()]);
      await limiters.close();
      await feed.close();
      await Promise.all([realReadModels.close(), realStateStore.close(), realDocumentStore.close()]);
    },
  });
}

/** The TypeScript client with the key of a service's tests; `options` override where and how. */
export function chartledgerOf(
  { url, key = '' }: Pick<TestService, 'url' | 'key'>,
  options: Partial<ChartledgerOptions> = {},
): Chartledger {
  return new Chartledger({ url, apiKey: key, ...options });
}

/** All that an iterable gives. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The error that a call of the client rejects with. */
export function errorOf(call: Promise<unknown>): Promise<ChartledgerError> {
  return call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error) => error,
  );
}

/** A connection of its own, for what clients of HTTP do not let through. */
interface Connection {
  socket: Socket;
  /** What came back so far. */
  received(): string;
  /** Resolves with what came back, when the service has closed the connection. */
  closed(): Promise<string>;
}

/** Opens a connection and writes these bytes to it. */
export function openConnection(url: string, ...bytes: (string | Buffer)[]): Connection {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  for (const part of bytes) socket.write(part);
  return {
    socket,
    received: () => text,
    async closed() {
      await closed;
      return text;
    },
  };
}

/** A request's head and body, as they stand on the wire. */
export function rawRequest(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const lines = Object.entries({ host: 'localhost', ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n${body}`;
}

/** The statuses of the answers on a connection, in order. */
export function statusesOf(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

/** The JSON body of the last answer on a connection. */
export function lastBodyOf(received: string): Record<string, unknown> {
  return JSON.parse(received.slice(received.lastIndexOf('\r\n\r\n') + 4));
}

/** All events of a log after a position. */
export async function readAll(eventLog: EventLog, after: Position = 0): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  const stop = new AbortController();
  for await (const batch of eventLog.follow({ after, signal: stop.signal })) {
    events.push(...batch.events);
    if (batch.caughtUp) break;
  }
  return events;
}

/** The events that `work` had appended about users and sign-ins: what concerns no single workspace, nor the service itself. */
export async function installationEvents(
  { eventLog }: TestService,
  work: () => Promise<unknown>,
): Promise<RecordedEvent[]> {
  const before = await eventLog.head();
  await work();
  const events = await readAll(eventLog, before);
  return events.filter(
    ({ stream, metadata }) => metadata.workspace === INSTALLATION && !isBookkeeping(stream),
  );
}

/** Such events in short: the type, of an `AccessRecorded` its action, and why it was refused. */
export function inShort(events: RecordedEvent[]): string[] {
  return events.map(({ type, data }) =>
    type === 'AccessRecorded' ? [data.action, data.code].filter(Boolean).join(' ') : type,
  );
}

/** All items of the list of a kind, page by page; waits for the projector where a page is not there yet. */
export async function listAll(service: Pick<TestService, 'get'>, plural: string, withinMs: number) {
  const items = [];
  for (let token = ''; ; ) {
    const { body } = await eventually(async () => {
      const answer = await service.get(`/integration/${plural}?limit=200${token && `&page_token=${token}`}`);
      expect(answer.status).toBe(200);
      return answer;
    }, withinMs);
    items.push(...body.items);
    if (body.next_page_token === null) return items;
    token = body.next_page_token;
  }
}

/** How long a statement waits for the service, which writes beside it. */
const BUSY_MS = 10_000;

/** The file of a service's embedded event log, for what the service would never do to it. */
export function openLogFile({ config }: TestService): DatabaseSync {
  return new DatabaseSync(config.eventLogUrl.slice('sqlite:'.length), { timeout: BUSY_MS });
}

interface LogLine {
  level: number;
  msg: string;
  code?: string;
}

/** What the services of this process logged so far, or what of it holds a text. */
export function logLines(holding = ''): LogLine[] {
  const path = `${outputFolder}/logs/${process.pid}.log`;
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '' && line.includes(holding)).map((line) => JSON.parse(line));
}

const logger = createLogger(
  'trace',
  destination({ dest: `${outputFolder}/logs/${process.pid}.log`, sync: true, mkdir: true }),
);

/** What `/readyz` at the port of the metrics answers. */
type ReadinessDetails = Awaited<ReturnType<typeof readinessDetails>> &
  Required<Pick<Awaited<ReturnType<typeof readinessDetails>>, 'projections'>>;

/** Resolves with what operators are told at the port of these metrics. */
export async function readinessAt(metricsUrl: string): Promise<ReadinessDetails> {
  const answer = await fetch(new URL('/readyz', metricsUrl));
  return (await answer.json()) as ReadinessDetails;
}

/** A running service over fresh stores, with what a test needs to talk to it and to look at its event log. */
export interface TestService extends Client {
  config: Config;
  /** The link that makes the dashboard's first administrator; undefined where the log holds users. */
  setupUrl: string | undefined;
  /** Where its metrics are, if they are served. */
  metricsUrl: string | undefined;
  /** What `/readyz` tells operators, with `METRICS_PORT`. */
  readiness(): Promise<ReadinessDetails>;
  /** Where it takes messages over MLLP, with the role for it. */
  mllpPorts: readonly number[];
  /** Its own connection to the log. */
  eventLog: EventLog;
  /** The full id of a workspace that this service's tests call by its label: other suites may share its log. */
  workspaceId(label: string): string;
  /** Makes another key, in the workspace of that label; workspaces are made when missing. */
  createKey(label: string, permissions?: Permission[]): Promise<CreatedKey>;
  keys: KeyManager;
  /** The same service with another key. */
  as(key: string | undefined): Client;
  /** Starts one more process's worth of service on the same stores; `env` overrides settings. */
  another(
    env: Record<string, string>,
    timing?: ServiceOptions,
  ): Promise<Client & Pick<TestService, 'mllpPorts' | 'stop'>>;
  /** Stops the service and starts it again on the same stores, at another address; `meanwhile` runs between. */
  restart(meanwhile?: () => unknown): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a service with its rate limit off. `env` overrides settings. The client's key may write and read in the
 * workspace `clinic`.
 */
export async function startTestService(
  env: Record<string, string> = {},
  timing: ServiceOptions = {},
): Promise<TestService> {
  const running = await run(env, timing);
  return Object.assign(await suiteOn(running), { stop: () => stopAll(running) });
}

let shared: Promise<RunningService> | undefined;

/**
 * A service that suites of this process share, each with workspaces of its own: for suites that change nothing else. The first one
 * starts it, with these settings, and it ends with the process.
 */
export async function sharedService(
  settings: () => Promise<Record<string, string>> = async () => ({}),
): Promise<TestService> {
  shared ??= settings().then((env) => run(env, {}));
  return Object.assign(await suiteOn(await shared), { stop: async () => undefined });
}

/** A service, with what it was started with. */
interface RunningService {
  folder: string;
  settings: Record<string, string>;
  config: Config;
  timing: ServiceOptions;
  eventLog: EventLog;
  directory: KeyDirectory;
  service: Service;
}

async function run(env: Record<string, string>, timing: ServiceOptions): Promise<RunningService> {
  const folder = mkdtempSync(join(tmpdir(), 'chartledger-test-'));
  const settings = {
    DATA_DIR: folder,
    PORT: '0',
    REQUEST_THREADS: '1',
    RATE_LIMIT_PER_MINUTE: '0',
    DASHBOARD_RATE_LIMIT_PER_MINUTE: '0',
    NODE_ENV: 'production',
    LOG_LEVEL: 'trace',
    ...env,
  };
  const config = loadConfig(settings);
  const eventLog = await openEventLog(config.eventLogUrl);
  const directory = await KeyDirectory.open(eventLog);
  const service = await startService(config, logger, timing);
  return { folder, settings, config, timing, eventLog, directory, service };
}

async function stopAll({ service, directory, eventLog, folder }: RunningService): Promise<void> {
  await service.stop();
  directory.close();
  await eventLog.close();
  await rm(folder, { recursive: true, force: true });
}

/** What one suite sees of a service. */
async function suiteOn(running: RunningService): Promise<Omit<TestService, 'stop'>> {
  const { settings, config, timing, eventLog, directory } = running;
  const keys = new KeyManager(directory, { principal: { type: 'operator', id: 'test' } });
  const suffix = `_${randomBytes(4).toString('hex')}`;
  const workspaceId = (label: string) => label + suffix;
  const createKey = (label: string, permissions: Permission[] = ['write', 'read']) =>
    keys.createKey(workspaceId(label), 'Test key', permissions);
  const { key } = await createKey('clinic');
  return Object.assign(new Client(running.service.url, key), {
    config,
    setupUrl: running.service.setupUrl,
    metricsUrl: running.service.metricsUrl,
    readiness(this: TestService) {
      return readinessAt(String(this.metricsUrl));
    },
    mllpPorts: running.service.mllpPorts,
    eventLog,
    workspaceId,
    createKey,
    keys,
    as: (other: string | undefined) => new Client(running.service.url, other),
    async another(more: Record<string, string>, otherTiming: ServiceOptions = {}) {
      const other = await startService(
        // A clock of the test's own is that of one thread.
        loadConfig({ ...settings, ...(otherTiming.clock && { REQUEST_THREADS: '1' }), ...more }),
        logger,
        otherTiming,
      );
      const { mllpPorts } = other;
      return Object.assign(new Client(other.url, key), { mllpPorts, stop: () => other.stop() });
    },
    async restart(this: TestService, meanwhile: () => unknown = () => undefined) {
      await running.service.stop();
      await meanwhile();
      running.service = await startService(config, logger, timing);
      this.url = running.service.url;
      this.metricsUrl = running.service.metricsUrl;
      this.mllpPorts = running.service.mllpPorts;
    },
  });
}

/**
 * The events that `work` had appended, as `stream: type` lines in log order, workspaces by their labels. Every API
 * test states them: none, for a request that is refused. What was read or refused is not among them: see `accessesBy`
 * and `refusalsBy`.
 */
export async function appendedBy(service: TestService, work: () => Promise<unknown>): Promise<string[]> {
  const events = await changesBy(service, work);
  const suffix = service.workspaceId('');
  return events.map(({ stream, type }) => `${stream.replace(`${suffix}.`, '.')}: ${type}`);
}

/** The data of what `work` read, as the audit trail tells. */
export async function accessesBy(service: TestService, work: () => Promise<unknown>): Promise<JsonObject[]> {
  return recordedBy(service, work, ({ action }) => action !== 'request.refused');
}

/** The data of the requests of known keys that `work` sent and that were refused, as the audit trail tells. */
export async function refusalsBy(service: TestService, work: () => Promise<unknown>): Promise<JsonObject[]> {
  return recordedBy(service, work, ({ action }) => action === 'request.refused');
}

async function recordedBy(
  service: TestService,
  work: () => Promise<unknown>,
  wanted: (data: JsonObject) => boolean,
): Promise<JsonObject[]> {
  const events = await newEvents(service, work);
  return events.filter(({ type, data }) => type === 'AccessRecorded' && wanted(data)).map(({ data }) => data);
}

const byItself = ['AccessRecorded', 'EncounterReadinessChanged', 'ReadinessRulesApplied', 'ReadinessCounted'];

/**
 * The events, whole, by which `work` changed this service's workspaces: without what was read or refused, and without what the service
 * makes of changes by itself, some time later.
 */
export async function changesBy(
  service: TestService,
  work: () => Promise<unknown>,
): Promise<RecordedEvent[]> {
  const events = await newEvents(service, work);
  return events.filter(({ type }) => !byItself.includes(type));
}

/** The events that `work` had appended to this service's workspaces, whole; without how far webhooks have got, which is noted from time to time. */
export async function newEvents(
  service: TestService,
  work: () => Promise<unknown>,
): Promise<RecordedEvent[]> {
  const before = await service.eventLog.head();
  await work();
  const events = await readAll(service.eventLog, before);
  const suffix = service.workspaceId('');
  return events.filter(
    ({ stream, metadata }) => metadata?.workspace?.endsWith(suffix) && !isBookkeeping(stream),
  );
}
