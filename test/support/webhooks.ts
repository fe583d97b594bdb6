import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import type { CreatedKey } from '../../src/modules/auth/keyManager.ts';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import { messageId } from '../../src/modules/webhooks/messages.ts';
import { decryptSecret } from '../../src/modules/webhooks/secrets.ts';
import {
  type ResolveName,
  WebhookSender,
  type WebhookSenderOptions,
} from '../../src/modules/webhooks/sender.ts';
import {
  DeliveryState,
  type DeliveryStatePorts,
  type Waiting,
} from '../../src/modules/webhooks/sessionState.ts';
import { createEgressPolicy } from '../../src/modules/webhooks/settings.ts';
import type { Webhook } from '../../src/modules/webhooks/webhook.ts';
import { managedKeys } from '../../src/server/keys.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import { openWebhooks, type WebhooksTiming } from '../../src/server/openWebhooks.ts';
import { type Clock, systemClock } from '../../src/storage/rateLimiters.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import type { Client, TestResponse } from './client.ts';
import { eventually } from './eventually.ts';
import { fastRetrySchedule } from './fastRetrySchedule.ts';
import { notePhi, phi } from './output.ts';
import { samples } from './samples.ts';
import { freePort, type StartService } from './servers.ts';
import { readAll, type TestService } from './service.ts';

/** What a suite about the settings of webhooks works with: a service that sends nothing, and a key for its webhooks. */
export class WebhookSuite {
  service!: TestService;
  maker!: CreatedKey;
  /** Has the permissions `webhooks` and those that the suite asks for. */
  client!: Client;

  constructor(start: StartService, ...permissions: Permission[]) {
    beforeAll(async () => {
      this.service = await start({ ROLES: 'api,projector' });
      this.maker = await this.service.createKey('clinic', ['webhooks', ...permissions]);
      this.client = this.service.as(this.maker.key);
    });
    afterAll(() => this.service.stop());
  }

  /** A client with a key of the suite's workspace. */
  async clientWith(...permissions: Permission[]): Promise<Client> {
    return this.service.as((await this.service.createKey('clinic', permissions)).key);
  }
}

export const webhooksPath = '/integration/webhooks';

/** The path of one webhook. */
export const memberOf = ({ id }: { id: string }) => `${webhooksPath}/${id}`;

/** A URL that leads nowhere; no log may hold it. */
export function hookUrl(): string {
  return `https://billing.invalid/${phi('hook')}`;
}

export function patch(
  client: Client,
  path: string,
  value: unknown,
  more: Record<string, string> = {},
): Promise<TestResponse> {
  const headers = { 'content-type': 'application/json', ...more };
  return client.send(path, { method: 'PATCH', headers, body: JSON.stringify(value) });
}

/** Makes a webhook and gives the answer, which holds its id and secret. */
export async function createWebhook(client: Client, settings: object = {}) {
  const { status, body } = await client.post(webhooksPath, { url: hookUrl(), ...settings });
  expect([status, body.error]).toEqual([200, undefined]);
  notePhi(body.secret);
  return body;
}

/** The secret that an event of a service holds. */
export async function secretIn({ config }: TestService, event: RecordedEvent | undefined): Promise<string> {
  if (event === undefined) throw new Error('there is no such event');
  const { metadata, data } = event;
  const owner = { workspace: metadata.workspace, id: String(data.webhook_id) };
  return decryptSecret(await managedKeys(config).webhookSecrets.load(), owner, String(data.sealed_secret));
}

/** Settings with which messages go to endpoints of the test's own. */
export const openLoopback = { WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' };

/** A clock that runs as the system's does; time can pass faster, and somebody may set it. */
export class OffsetClock implements Clock {
  #passed = 0;
  #set = 0;

  now(): number {
    return Date.now() + this.#passed + this.#set;
  }

  elapsed(): number {
    return performance.now() + this.#passed;
  }

  /** So much time passes. */
  pass(ms: number): void {
    this.#passed += ms;
  }

  /** It is set forward, or back, by so much. */
  set(ms: number): void {
    this.#set += ms;
  }
}

/** An instance that delivers webhooks, beside the service. */
export class Delivery {
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(deliver: (signal: AbortSignal) => Promise<void>) {
    this.#ended = deliver(this.#stop.signal);
  }

  static async start({ config }: TestService, timing: WebhooksTiming = {}): Promise<Delivery> {
    return new Delivery(
      await openWebhooks(config, () => undefined, { schedule: fastRetrySchedule, ...timing }),
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

/** A webhook as the API shows it. */
export async function showWebhook(client: Client, id: string) {
  const { status, body } = await client.get(`${webhooksPath}/${id}`);
  expect(status).toBe(200);
  return body;
}

/** Waits until everything on the log was delivered to a webhook, and nothing waits. */
export function delivered(client: Client, id: string, timeoutMs?: number): Promise<void> {
  return eventually(async () => {
    const { delivery } = await showWebhook(client, id);
    expect(delivery).toMatchObject({ pending: 0, blocked: 0 });
  }, timeoutMs);
}

/** The ids of the messages that a webhook is to get of a workspace's records, and how many versions each record has. */
export async function expectedMessages(service: TestService, webhookId: string, label = 'clinic') {
  const workspace = service.workspaceId(label);
  const events = (await readAll(service.eventLog)).filter(
    ({ stream, type }) => stream.startsWith(`${workspace}.`) && /^(Document|[A-Z][a-z]+Upserted$)/.test(type),
  );
  const ids = new Set(events.map(({ id }) => messageId(webhookId, id)));
  const versions = new Map<string, number>();
  for (const { stream, revision } of events) versions.set(stream, revision + 1);
  return { ids, versions };
}

/** Runs something with a connection to the state store of a service. */
export async function withStateStore<Result>(
  service: TestService,
  work: (stateStore: StateStore) => Promise<Result>,
): Promise<Result> {
  const stateStore = await openStateStore(service.config.stateUrl);
  try {
    return await work(stateStore);
  } finally {
    await stateStore.close();
  }
}

/** A log from which nothing is erased. */
export const nothingErased = { refresh: async () => undefined, has: async () => false };

/** The ports of a delivery over a log that knows every position and holds no notes; `more` overrides them. */
function statePorts(stateStore: StateStore, more: Partial<DeliveryStatePorts> = {}): DeliveryStatePorts {
  return {
    stateStore,
    clock: systemClock,
    eventLog: {
      identity: async () => 'log',
      hasPosition: async () => true,
      readStream: async () => [],
    },
    readModels: { load: async () => [], page: async () => [] },
    onStateLost: () => undefined,
    erased: nothingErased,
    ...more,
  };
}

/** Takes the state of a webhook over, as its only owner can. */
export async function openState(
  stateStore: StateStore,
  webhook: Webhook,
  more: Partial<DeliveryStatePorts> = {},
): Promise<DeliveryState> {
  const state = await DeliveryState.open(statePorts(stateStore, more), webhook);
  if (state === undefined) throw new Error('somebody else took it');
  return state;
}

/** A record that waits, and is due. */
export function waitingRecord(
  stream: string,
  more: Partial<Waiting> = {},
  clock: Clock = systemClock,
): Waiting {
  const now = clock.elapsed();
  return {
    ...{ stream, next: 2, last: 2, position: 10, before: 9, since: 1_000, tries: 1, step: 1, woken: false },
    ...{ tried: now, due: now, delayMs: 0, triedVersion: 1 },
    ...more,
  };
}

/** A message as it arrived. */
interface Received {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}

/** An endpoint of the test's own. */
export class Receiver {
  readonly port: number;
  /** Connections that were made to it so far. */
  connections = 0;
  readonly received: Received[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', () => {
      this.connections += 1;
    });
  }

  /** Listens on a port of an address; `answer` is called when the whole message is there. */
  static async listen(
    answer: RequestListener,
    { host = '127.0.0.1', port = 0, tls }: { host?: string; port?: number; tls?: ServerOptions } = {},
  ): Promise<Receiver> {
    const server = tls ? createTlsServer(tls) : createServer();
    server.listen(port, host);
    await once(server, 'listening');
    const receiver = new Receiver(server);
    server.on('request', async (req, res) => {
      let body = '';
      try {
        for await (const chunk of req.setEncoding('utf8')) body += chunk;
      } catch {
        return;
      }
      receiver.received.push({ method: req.method, path: req.url, headers: req.headers, body });
      answer(req, res);
    });
    return receiver;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** A message that an endpoint got. */
export interface HookMessage {
  /** `webhook-id`. */
  id: string;
  /** The record, `{kind}/{id}`; undefined for a ping. */
  subject: string | undefined;
  version: number;
  type: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** A status, perhaps with headers; 200 after a while; or no answer at all: the connection is left open, or torn. */
type HookAnswer = number | { status: number; headers: Record<string, string> } | 'slow' | 'hang' | 'tear';

const SLOW_MS = 250;

/** A webhook's endpoint of the test's own, which answers as it is told to and may be away. */
export class HookEndpoint {
  /** All that came, also what was not accepted. */
  readonly received: HookMessage[] = [];
  /** What was answered with 200. */
  readonly accepted: HookMessage[] = [];
  answer: (message: HookMessage) => HookAnswer = () => 200;
  #receiver: Receiver | undefined;
  #port = 0;

  static async open(): Promise<HookEndpoint> {
    const endpoint = new HookEndpoint();
    await endpoint.up();
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  /** Listens, always on the same port. */
  async up(): Promise<void> {
    this.#port ||= await freePort();
    this.#receiver = await Receiver.listen((_req, res) => this.#take(res), { port: this.#port });
  }

  /** Tears all connections and takes no more. */
  async down(): Promise<void> {
    await this.#receiver?.close();
    this.#receiver = undefined;
  }

  /** The versions of each record in the order in which they were accepted for the first time. */
  versions(): Map<string, number[]> {
    const versions = new Map<string, number[]>();
    const seen = new Set<string>();
    for (const { id, subject = '', version } of this.accepted) {
      if (seen.has(id)) continue;
      seen.add(id);
      versions.set(subject, [...(versions.get(subject) ?? []), version]);
    }
    return versions;
  }

  #take(res: ServerResponse): void {
    const received = this.#receiver?.received.pop();
    if (received === undefined) throw new Error('nothing came');
    const { headers, body } = received;
    const { subject, type, data } = JSON.parse(body);
    const message = {
      id: String(headers['webhook-id']),
      subject,
      version: data?.version,
      type,
      headers,
      body,
    };
    this.received.push(message);
    const answer = this.answer(message);
    if (answer === 'hang') return;
    if (answer === 'tear') {
      res.destroy();
      return;
    }
    const { status, headers: more = {} } =
      typeof answer === 'object' ? answer : { status: Number(answer) || 200 };
    if (status === 200) this.accepted.push(message);
    const end = () => res.writeHead(status, more).end(`answered ${status}`);
    if (answer === 'slow') setTimeout(end, SLOW_MS);
    else end();
  }
}

export const LONG_MS = 60_000;

export type Payer = ReturnType<typeof samples.payer>;

/** A webhook and its endpoint. */
export interface Hook {
  endpoint: HookEndpoint;
  id: string;
  secret: string;
}

/** What a suite about the delivery of webhooks works with; each of its tests has a workspace of its own. */
export class HookSuite {
  readonly clock = new OffsetClock();
  service!: TestService;
  /** The instance that delivers. */
  delivery!: Delivery;
  /** Has all permissions in the test's workspace. */
  client!: Client;
  #tests = 0;
  #endpoints: HookEndpoint[] = [];
  #made: string[] = [];

  constructor(start: StartService) {
    beforeAll(async () => {
      this.service = await start({ ROLES: 'api,projector', ...openLoopback });
      this.delivery = await Delivery.start(this.service, { clock: this.clock });
    });
    afterAll(async () => {
      await this.delivery.stop();
      await this.service.stop();
    });
    beforeEach(async () => {
      this.#tests += 1;
      const { key } = await this.service.createKey(this.label, ['write', 'read', 'events', 'webhooks']);
      this.client = this.service.as(key);
    });
    afterEach(async () => {
      // The log of the production engines is shared: nobody else is to deliver these.
      for (const id of this.#made.splice(0)) await this.client.delete(`${webhooksPath}/${id}`);
      for (const endpoint of this.#endpoints.splice(0)) await endpoint.down();
    });
  }

  /** Label of the test's workspace. */
  get label(): string {
    return `hooks${this.#tests}`;
  }

  /** An endpoint, with a webhook that sends it everything from the beginning on. */
  async open(settings: object = {}): Promise<Hook> {
    const endpoint = await HookEndpoint.open();
    this.#endpoints.push(endpoint);
    const { id, secret } = await createWebhook(this.client, {
      url: endpoint.url,
      start: 'beginning',
      ...settings,
    });
    this.#made.push(id);
    return { endpoint, id, secret };
  }

  /** Writes versions of payers by turns. */
  async write(payers: Payer[], versions: number): Promise<void> {
    for (let version = 0; version < versions; version += 1) {
      const writing = payers.map((payer) => this.client.post('/integration/payers', payer));
      expect((await Promise.all(writing)).map(({ status }) => status)).toEqual(payers.map(() => 200));
    }
  }

  /** A webhook's attempts, newest first. */
  async attempts(id: string) {
    const { body } = await this.client.get(`${webhooksPath}/${id}/attempts`);
    return body.items;
  }

  async replay(id: string, what: object): Promise<void> {
    expect((await this.client.post(`${webhooksPath}/${id}/replay`, what)).status).toBe(200);
  }

  /** Waits until every event of the workspace was accepted, those of each record in order. */
  async expectAll({ endpoint, id }: Pick<Hook, 'endpoint' | 'id'>): Promise<void> {
    const { ids, versions } = await expectedMessages(this.service, id, this.label);
    await eventually(
      () => expect(new Set(endpoint.accepted.map((message) => message.id))).toEqual(ids),
      LONG_MS,
    );
    const accepted = [...endpoint.versions().values()];
    expect(accepted).toHaveLength(versions.size);
    expect(accepted.filter((seen) => seen.some((version, index) => version !== index + 1))).toEqual([]);
    await delivered(this.client, id, LONG_MS);
  }
}

export const payersOf = (count: number): Payer[] => Array.from({ length: count }, samples.payer);

/** What messages call a payer. */
export const subjectOf = ({ id }: { id: string }): string => `payer/${encodeURIComponent(id)}`;

/** A webhook that wants everything from the beginning of the log on. */
export function sampleWebhook(overrides: Partial<Webhook> = {}): Webhook {
  const at = '2026-11-21T10:00:00.000Z';
  return {
    id: 'wh_0123456789abcdef',
    order: 0,
    workspace: 'clinic',
    url: 'https://billing.example/hook',
    description: undefined,
    kinds: undefined,
    types: undefined,
    payload: 'reference',
    startAfter: 0,
    secrets: [],
    state: 'enabled',
    disabledReason: undefined,
    createdAt: at,
    createdBy: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC' },
    updatedAt: at,
    enabledAt: at,
    version: 1,
    requests: [],
    ...overrides,
  };
}

/** The body of every message that is sent. */
export const BODY = '{"note":"Zoë"}';

/** What every attempt holds. */
export const times = { at: expect.stringMatching(/^\d{4}-.*Z$/), durationMs: expect.any(Number) };

export const noName: ResolveName = () => Promise.reject(new Error('no such name'));

const never = new AbortController().signal;

/** Sends a message to a URL; the networks in `open` are opened: loopback, unless said otherwise. */
export function senderWith({
  open = ['127.0.0.0/8'],
  ...options
}: { open?: string[] } & Omit<WebhookSenderOptions, 'addresses'> = {}) {
  const sender = new WebhookSender({
    addresses: createEgressPolicy(open),
    resolve: noName,
    timeoutMs: 10_000,
    ...options,
  });
  onTestFinished(() => sender.close());
  return (url: string, signal = never) => sender.send(url, { 'webhook-id': 'msg_1' }, BODY, signal);
}

/** A receiver for the length of the test. */
export async function listen(answer: RequestListener, options?: Parameters<typeof Receiver.listen>[1]) {
  const receiver = await Receiver.listen(answer, options);
  onTestFinished(() => receiver.close());
  return receiver;
}

export const ok: RequestListener = (_req, res) => void res.end('ok');
