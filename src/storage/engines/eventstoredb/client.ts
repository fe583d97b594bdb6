import { setMaxListeners } from 'node:events';
import { ServiceError } from '../../../platform/errors.ts';
import { ClosableClient, type Driver, TIMEOUT_MS, WrongStreamEnd } from './drivers/driver.ts';

/** Seconds that a node may take to name the leader; the driver's default of 5 is longer than an election. */
const GOSSIP_TIMEOUT_S = 2;
const DEFAULT_PORT = 2113;

const CONNECTION_STRING = /^(esdb|kurrentdb)(\+discover)?:\/\/((?:[^:]+:[^@]+@)?)([^?]*?)\/*(\?.*)?$/;

/**
 * Returns the driver's connection string for an event log's URL. For a list of hosts with `+discover` the driver would use only
 * the first: such a list is treated as nodes, as without it. If it is not a connection string, the driver refuses it.
 */
export function driverUrl(url: string): string {
  const parts = CONNECTION_STRING.exec(url.trim());
  if (parts === null) return url;
  const [, name = '', discover = '', credentials = '', hosts = '', query = ''] = parts;
  const scheme = hosts.includes(',') ? name : `${name}${discover}`;
  // The deadline is for all tries of a call, which the driver does not know.
  const options = query
    .split(/[?&]/)
    .filter((option) => option !== '' && !isNamed(option, 'defaultDeadline'));
  if (optionOf(url, 'gossipTimeout') === undefined) options.push(`gossipTimeout=${GOSSIP_TIMEOUT_S}`);
  return `${scheme}://${credentials}${hosts}?${options.join('&')}`;
}

/** Returns the driver's connection string for one node, `host:port`, of the cluster named by an event log's URL. */
export function nodeUrl(url: string, node: string): string {
  const [, name = '', , credentials = '', , query = ''] = CONNECTION_STRING.exec(url.trim()) ?? [];
  return driverUrl(`${name}://${credentials}${node}${query}`);
}

/** Returns the hosts in a URL, as `host:port`. */
export function hostsOf(url: string): string[] {
  const hosts = CONNECTION_STRING.exec(url.trim())?.[4]?.split(',') ?? [];
  return hosts.map((host) => (host.includes(':') ? host : `${host}:${DEFAULT_PORT}`));
}

/** Returns an option of a URL; the driver reads option names in any case and with `_` or `-` in them. */
export function optionOf(url: string, name: string): string | undefined {
  const query = new URLSearchParams(CONNECTION_STRING.exec(url.trim())?.[5]);
  return [...query].find(([key]) => isNamed(key, name))?.[1];
}

/** Whether an option, with or without a value, has this name. */
function isNamed(option: string, name: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[_-]/g, '');
  return plain(option.replace(/=.*/, '')) === plain(name);
}

/** gRPC's number for the connected state of a channel. */
const READY = 2;

/** How long a caller waits for a server that answered a moment ago, and for one that has been silent for longer than that. */
const MAX_WAIT_MS = 5_000;
const MIN_WAIT_MS = 500;

interface Connected {
  client: Driver;
  /** When the connection was made, by the wall clock. */
  since: number;
}

/**
 * A client of the driver that is replaced when it stays broken: if the driver found no node, it gives up for good, and it stays
 * with a node that no longer answers, or that is cut off from its cluster while the others elect a leader.
 *
 * Calls wait here until there is a connection, not within the driver: it would queue any number of them, forever, and send those
 * that nobody waits for any more.
 */
export class DriverClient {
  readonly #open: OpenDriver;
  readonly #url: string;
  #client: ClosableClient | undefined;
  #connected: Promise<Connected> | undefined;
  #replaced = manyListen(new AbortController());
  #closing: Promise<unknown> = Promise.resolve();
  #closed = false;
  readonly #patienceMs: number;
  /** When the first of the unanswered calls to the present client began, on the monotonic clock. */
  #waitingSince: number | undefined;
  /** When the server, over any client, first did not answer. */
  #silentSince: number | undefined;

  /** `url` is the event log's. Throws when it is not a connection string. Connects on first use. */
  constructor(open: OpenDriver, url: string) {
    this.#open = open;
    this.#url = driverUrl(url);
    this.#patienceMs = Number(optionOf(url, 'defaultDeadline') ?? MAX_WAIT_MS);
    this.#client = new ClosableClient(open(this.#url));
  }

  /** Returns a client of the same driver for another URL. */
  at(url: string): DriverClient {
    return new DriverClient(this.#open, url);
  }

  /**
   * How long a caller may wait for an answer in all: the `defaultDeadline` of the URL, also while the client is replaced. What the
   * server has been silent for is deducted, so that calls fail immediately once it has been away for that long.
   */
  get patienceMs(): number {
    const silent = this.#silentSince === undefined ? 0 : performance.now() - this.#silentSince;
    return Math.max(MIN_WAIT_MS, this.#patienceMs - silent);
  }

  /** Makes a call once there is a connection. Aborted calls are not sent. */
  async call<Result>(
    waiting: { readonly aborted: boolean },
    make: (client: Driver, since: number) => Result | Promise<Result>,
  ): Promise<Result> {
    this.#expectAnswers();
    this.#connected ??= this.#connect();
    const { client, since } = await this.#connected;
    if (waiting.aborted) throw new Error('aborted');
    try {
      const result = await make(client, since);
      // A read that is cancelled ends as if it were complete.
      if (!waiting.aborted) this.#answered();
      return result;
    } catch (error) {
      if (isAnswer(error)) this.#answered();
      throw error;
    }
  }

  #answered(): void {
    this.#waitingSince = undefined;
    this.#silentSince = undefined;
  }

  /** Aborted when the current client is abandoned: the driver ends its subscriptions silently. */
  get replaced(): AbortSignal {
    return this.#replaced.signal;
  }

  /** Ends its calls; later ones are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#replace();
    await this.#closing;
  }

  async #connect(): Promise<Connected> {
    await this.#closing;
    if (this.#closed) throw new Error('closed');
    this.#client ??= new ClosableClient(this.#open(this.#url));
    const client = this.#client;
    try {
      const channel = await client.connect();
      // The driver reconnects by itself, perhaps to another node: that is a different connection.
      channel.watchConnectivityState(READY, Number.POSITIVE_INFINITY, () => {
        if (client === this.#client) this.#connected = undefined;
      });
      this.#answered();
      return { client: client.driver, since: Date.now() };
    } catch (error) {
      if (client === this.#client) this.#replace();
      throw error;
    }
  }

  /** Called when a call begins: if earlier calls have been unanswered for the maximum waiting time, switches to a new client. */
  #expectAnswers(): void {
    const now = performance.now();
    this.#waitingSince ??= now;
    this.#silentSince ??= now;
    if (this.#client?.found && now - this.#waitingSince > TIMEOUT_MS) this.#replace();
  }

  #replace(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#waitingSince = undefined;
    this.#connected = undefined;
    this.#replaced.abort();
    this.#replaced = manyListen(new AbortController());
    // The table of appends is shared by all clients: the next one is used once this one no longer clears it.
    if (client) this.#closing = Promise.all([this.#closing, client.close()]);
  }
}

/** Whether a call failed although the server answered it. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ServiceError || error instanceof WrongStreamEnd;
}

/** Every subscription adds a listener. */
function manyListen(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Creates a client for a connection string; throws when it is not one. */
export type OpenDriver = (url: string) => Driver;

const drivers: Record<string, () => Promise<OpenDriver>> = {
  async esdb() {
    const { EventStoreDbDriver } = await import('./drivers/eventStoreDb.ts');
    return (url) => new EventStoreDbDriver(url);
  },
  async kurrentdb() {
    const { KurrentDbDriver } = await import('./drivers/kurrentDb.ts');
    return (url) => new KurrentDbDriver(url);
  },
};

let loaded: string | undefined;

/**
 * Returns the driver for an event log's URL, loaded when first needed. A process has only one: their generated code overwrites
 * each other's, so the other one is refused.
 */
export async function loadDriver(url: string): Promise<OpenDriver> {
  const [scheme = ''] = url.trim().split(/[+:]/, 1);
  const load = drivers[scheme];
  if (load === undefined) throw new Error('no scheme of a driver');
  loaded ??= scheme;
  if (scheme !== loaded)
    throw new Error('A process cannot load the drivers of EventStoreDB and KurrentDB both.');
  return load();
}
