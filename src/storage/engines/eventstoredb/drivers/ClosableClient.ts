import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Channel, Driver } from './Driver.ts';

/** Cancelled streams end within milliseconds. */
const DISPOSE_MS = 1_000;

/**
 * A driver client that can be closed. The drivers offer no way to: they continue calls that nobody waits for, on a new channel if
 * the old one broke, and their streams would keep the thread alive.
 */
export class ClosableClient {
  readonly driver: Driver;
  #channel: Channel | undefined;
  #closed = false;

  constructor(driver: Driver) {
    this.driver = driver;
    driver.watchChannels((channel) => {
      if (this.#closed) channel.close();
      // The driver closes the previous one when it opens another.
      else this.#channel = channel;
    });
  }

  /** Whether it has found a node at least once. */
  get found(): boolean {
    return this.#channel !== undefined;
  }

  /** Returns a channel to a node that has answered. Rejects when there is none, and when the client is closed in the meantime. */
  async connect(): Promise<Channel> {
    const channel = await this.driver.connect();
    if (this.#closed) throw new Error('closed');
    return channel;
  }

  /** Ends its calls; later ones fail. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#channel?.close();
    // A stream being created is only registered for disposal a turn later.
    await nextTurn();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, DISPOSE_MS);
    await Promise.race([this.driver.dispose(), late.promise]);
    clearTimeout(timer);
  }
}
