import { setTimeout as sleep } from 'node:timers/promises';
import { type FastAnswer, FastConnection } from './FastConnection.ts';

const TICK_MS = 5;
const OPENED_AT_ONCE = 50;

/** The result of requests that were sent at a fixed rate, whatever happened to earlier ones. */
export interface Offered {
  /** How many should have been sent. */
  offered: number;
  /** Of these, those for which no connection was free: the client's own limit. */
  unsent: number;
  answers: FastAnswer[];
  /** Requests that got no response. */
  unanswered: number;
}

/** Sends requests at a fixed rate, each on a connection that waits for nothing else. */
export class OpenLoop {
  readonly #url: string;
  readonly #mostConnections: number;
  readonly #free: FastConnection[] = [];
  readonly #open = new Set<FastConnection>();

  constructor(url: string, mostConnections: number) {
    this.#url = url;
    this.#mostConnections = mostConnections;
  }

  /**
   * Opens all connections, several at a time, as a load balancer keeps them open; a request warms up each of them.
   */
  async open(request: () => Buffer): Promise<void> {
    const openSome = async () => {
      for (let next = this.#connect(); next !== undefined; next = this.#connect()) {
        await next.send(request());
        this.#free.push(next);
      }
    };
    await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openSome));
  }

  /**
   * Sends `perSecond` requests per second; `request` returns the bytes of each. Resolves when all are answered, or
   * were given up.
   */
  async offer(perSecond: number, seconds: number, request: () => Buffer): Promise<Offered> {
    const told: Offered = { offered: 0, unsent: 0, answers: [], unanswered: 0 };
    const under = new Set<Promise<void>>();
    const startedAt = performance.now();
    const end = startedAt + seconds * 1_000;
    for (let now = startedAt; now < end; now = performance.now()) {
      const due = Math.floor(((now - startedAt) / 1_000) * perSecond);
      for (; told.offered < due; told.offered += 1) {
        const connection = this.#next();
        if (connection === undefined) {
          told.unsent += 1;
          continue;
        }
        const sending = this.#send(connection, request(), told).finally(() => under.delete(sending));
        under.add(sending);
      }
      await sleep(TICK_MS);
    }
    await Promise.all(under);
    return told;
  }

  close(): void {
    for (const connection of this.#open) connection.close();
  }

  /** Returns a free connection, or another one; the service closes those that are not used for a while. */
  #next(): FastConnection | undefined {
    for (let free = this.#free.pop(); free; free = this.#free.pop()) {
      if (free.isOpen) return free;
      this.#open.delete(free);
    }
    return this.#connect();
  }

  #connect(): FastConnection | undefined {
    if (this.#open.size >= this.#mostConnections) return undefined;
    const connection = new FastConnection(this.#url);
    this.#open.add(connection);
    return connection;
  }

  async #send(connection: FastConnection, bytes: Buffer, told: Offered): Promise<void> {
    const answer = await connection.send(bytes);
    if (answer) told.answers.push(answer);
    else told.unanswered += 1;
    if (connection.isOpen) this.#free.push(connection);
    else this.#open.delete(connection);
  }
}
