import { setMaxListeners } from 'node:events';
import { EventStoreDBClient } from '@eventstore/db-client';
import { ServiceError } from '../../errors.ts';
import { TIMEOUT_MS } from './attempt.ts';

/** gRPC's number of the state in which a channel is connected. */
const READY = 2;
/** Streams that are cancelled end within milliseconds. */
const DISPOSE_MS = 1_000;

/** What the driver keeps for its subclasses. */
class OpenClient extends EventStoreDBClient {
  /** Resolves when a node is found; all who ask share it. */
  static channel(client: EventStoreDBClient) {
    return (client as OpenClient).getChannel();
  }

  /** Resolves when the node that was found has answered. */
  static capabilities(client: EventStoreDBClient) {
    return (client as OpenClient).capabilities;
  }
}

interface Connected {
  client: EventStoreDBClient;
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
  readonly #url: string;
  #client: EventStoreDBClient | undefined;
  #channel: Awaited<ReturnType<typeof OpenClient.channel>> | undefined;
  #connected: Promise<Connected> | undefined;
  #replaced = manyListen(new AbortController());
  #closing: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** When the first of the calls began that were not answered; on the monotonic clock. */
  #waitingSince: number | undefined;

  /** Throws when the URL is not a connection string. Connects when it is first used. */
  constructor(url: string) {
    this.#url = url;
    this.#client = EventStoreDBClient.connectionString(url);
  }

  /** Makes a call once there is a connection; a `ServiceError` counts as an answer. Nothing is sent that was aborted. */
  async call<Result>(
    waiting: { readonly aborted: boolean },
    make: (client: EventStoreDBClient, since: number) => Result | Promise<Result>,
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
    this.#client ??= EventStoreDBClient.connectionString(this.#url);
    const client = this.#client;
    try {
      const channel = await OpenClient.channel(client);
      if (client !== this.#client) {
        channel.close();
        throw new Error('replaced');
      }
      this.#channel = channel;
      await OpenClient.capabilities(client);
      // The driver connects again by itself, perhaps to another node: that is another connection.
      channel.watchConnectivityState(READY, Number.POSITIVE_INFINITY, () => {
        if (client === this.#client) this.#connected = undefined;
      });
      this.#waitingSince = undefined;
      return { client, since: Date.now() };
    } catch (error) {
      if (client === this.#client) this.#replace();
      throw error;
    }
  }

  /** A call begins: after calls that were not answered for as long as one is waited for, on a new client. */
  #expectAnswers(): void {
    const now = performance.now();
    this.#waitingSince ??= now;
    const discovering = this.#channel === undefined;
    if (!discovering && now - this.#waitingSince > TIMEOUT_MS) this.#replace();
  }

  #replace(): void {
    const [client, channel] = [this.#client, this.#channel];
    this.#client = undefined;
    this.#channel = undefined;
    this.#waitingSince = undefined;
    this.#connected = undefined;
    this.#replaced.abort();
    this.#replaced = manyListen(new AbortController());
    // The table of appends is one for all clients: the next one is used when this one no longer clears it.
    if (client) this.#closing = Promise.all([this.#closing, dispose(client)]).then(() => channel?.close());
  }
}

async function dispose(client: EventStoreDBClient): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, DISPOSE_MS);
  await Promise.race([client.dispose(), late.promise]);
  clearTimeout(timer);
}

/** Every subscription listens. */
function manyListen(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal);
  return controller;
}
