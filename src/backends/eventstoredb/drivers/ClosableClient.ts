import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Channel, Driver } from './Driver.ts';

/** Streams that are cancelled end within milliseconds. */
const DISPOSE_MS = 1_000;

/**
 * A client of a driver that can be closed. The drivers have no such end: they go on with calls that nobody waits for, on a new
 * channel where the old one broke, and the streams of these would keep the thread.
 */
export class ClosableClient {
  readonly driver: Driver;
  #channel: Channel | undefined;
  #closed = false;

  constructor(driver: Driver) {
    this.driver = driver;
    driver.watchChannels((channel) => {
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
    const channel = await this.driver.connect();
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
