import { setMaxListeners } from 'node:events';
import { ServiceError } from '../../errors.ts';
import { TIMEOUT_MS } from './attempt.ts';
import { ClosableClient } from './drivers/ClosableClient.ts';
import type { Driver } from './drivers/Driver.ts';
import type { OpenDriver } from './drivers/loadDriver.ts';

/** gRPC's number of the state in which a channel is connected. */
const READY = 2;

interface Connected {
  client: Driver;
  /** When the connection was made, by the clock. */
  since: number;
}

/**
 * A client of the driver that is replaced when it stays broken: where it found no node the driver gives up for good,
 * and it stays with a node that no longer answers, or that is cut off from its cluster, while the others elect a leader.
 *
 * Calls wait here until there is a connection, not within the driver: it would hold any number of them, for ever, and
 * send what nobody waits for any more.
 */
export class DriverClient {
  readonly #open: OpenDriver;
  readonly #url: string;
  #client: ClosableClient | undefined;
  #connected: Promise<Connected> | undefined;
  #replaced = manyListen(new AbortController());
  #closing: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** When the first of the calls began that were not answered; on the monotonic clock. */
  #waitingSince: number | undefined;

  /** Throws when the URL is not a connection string. Connects when it is first used. */
  constructor(open: OpenDriver, url: string) {
    this.#open = open;
    this.#url = url;
    this.#client = new ClosableClient(open(url));
  }

  /** A client of the same driver for another connection string. */
  at(url: string): DriverClient {
    return new DriverClient(this.#open, url);
  }

  /** Makes a call once there is a connection; a `ServiceError` counts as an answer. Nothing is sent that was aborted. */
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
      this.#waitingSince = undefined;
      return result;
    } catch (error) {
      if (error instanceof ServiceError) this.#waitingSince = undefined;
      throw error;
    }
  }

  /** Is aborted when the present client is given up: the driver ends its subscriptions without a word. */
  get replaced(): AbortSignal {
    return this.#replaced.signal;
  }

  /** Ends its calls; those that come later are refused. */
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
      // The driver connects again by itself, perhaps to another node: that is another connection.
      channel.watchConnectivityState(READY, Number.POSITIVE_INFINITY, () => {
        if (client === this.#client) this.#connected = undefined;
      });
      this.#waitingSince = undefined;
      return { client: client.driver, since: Date.now() };
    } catch (error) {
      if (client === this.#client) this.#replace();
      throw error;
    }
  }

  /** A call begins: after calls that were not answered for as long as one is waited for, on a new client. */
  #expectAnswers(): void {
    const now = performance.now();
    this.#waitingSince ??= now;
    if (this.#client?.found && now - this.#waitingSince > TIMEOUT_MS) this.#replace();
  }

  #replace(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#waitingSince = undefined;
    this.#connected = undefined;
    this.#replaced.abort();
    this.#replaced = manyListen(new AbortController());
    // The table of appends is one for all clients: the next one is used when this one no longer clears it.
    if (client) this.#closing = Promise.all([this.#closing, client.close()]);
  }
}

/** Every subscription listens. */
function manyListen(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal);
  return controller;
}
