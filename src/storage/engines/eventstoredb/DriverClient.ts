import { setMaxListeners } from 'node:events';
import { ServiceError } from '../../../platform/errors.ts';
import { TIMEOUT_MS } from './drivers/attempt.ts';
import { ClosableClient } from './drivers/ClosableClient.ts';
import { type Driver, WrongStreamEnd } from './drivers/Driver.ts';
import { driverUrl, optionOf } from './driverUrl.ts';
import type { OpenDriver } from './loadDriver.ts';

/** gRPC's number for the connected state of a channel. */
const READY = 2;

/** How long a caller waits for a server that answered a moment ago, and for one that has been silent for longer than that. */
const PATIENCE_MS = 5_000;
const LEAST_PATIENCE_MS = 500;

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
    this.#patienceMs = Number(optionOf(url, 'defaultDeadline') ?? PATIENCE_MS);
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
    return Math.max(LEAST_PATIENCE_MS, this.#patienceMs - silent);
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
