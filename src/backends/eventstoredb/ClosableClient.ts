import { setImmediate as nextTurn } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';

/** Streams that are cancelled end within milliseconds. */
const DISPOSE_MS = 1_000;

/** What the driver keeps for its subclasses. */
class OpenClient extends EventStoreDBClient {
  /** Resolves when a node is found; all who ask share it. */
  static channel(client: EventStoreDBClient): ReturnType<OpenClient['getChannel']> {
    return (client as OpenClient).getChannel();
  }

  /** Resolves when the node that was found has answered. */
  static capabilities(client: EventStoreDBClient): OpenClient['capabilities'] {
    return (client as OpenClient).capabilities;
  }

  /** Tells of the channel of every call, before the call is made. */
  static watchChannels(client: EventStoreDBClient, opened: (channel: Channel) => void): void {
    const { getChannel } = client as OpenClient;
    (client as OpenClient).getChannel = async () => {
      const channel = await getChannel();
      opened(channel);
      return channel;
    };
  }
}

type Channel = Awaited<ReturnType<OpenClient['getChannel']>>;

/**
 * A client of the driver that can be closed. The driver has no such end: it goes on with calls that nobody waits for, on a new
 * channel where the old one broke, and the streams of these would keep the thread.
 */
export class ClosableClient {
  readonly driver: EventStoreDBClient;
  #channel: Channel | undefined;
  #closed = false;

  /** Throws when the URL is not a connection string. */
  constructor(url: string) {
    this.driver = EventStoreDBClient.connectionString(url);
    OpenClient.watchChannels(this.driver, (channel) => {
      if (this.#closed) channel.close();
      // The driver closes the one before when it opens another one.
      else this.#channel = channel;
    });
  }

  /** Whether it has found a node, once. */
  get found(): boolean {
    return this.#channel !== undefined;
  }

  /** Gives a channel to a node that has answered. Rejects when there is none, and when it is closed meanwhile. */
  async connect(): Promise<Channel> {
    const channel = await OpenClient.channel(this.driver);
    await OpenClient.capabilities(this.driver);
    if (this.#closed) throw new Error('closed');
    return channel;
  }

  /** Ends its calls; those that come later fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#channel?.close();
    // A stream that is being made is among those to be disposed of a turn later.
    await nextTurn();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, DISPOSE_MS);
    await Promise.race([this.driver.dispose(), late.promise]);
    clearTimeout(timer);
  }
}
