import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Kind } from './bodies.ts';

/** What to send, to whom and for how long. */
export interface Order {
  /** Base address of the server. */
  url: string;
  key: string;
  kind: Kind;
  /** Upserts, or reads by id. */
  method?: 'POST' | 'GET';
  /** Ids are drawn from this many; with `once`, each of them is sent once and that ends the load. */
  among: number;
  once?: boolean;
  connections: number;
  seconds: number;
}

/** The responses, as seen by the client; times in milliseconds, processor time in microseconds per request. */
export interface Load {
  requests: number;
  /** Requests that were sent, including those for which the load ended before the response. */
  sent: number;
  /** When the last request was sent, in milliseconds since 1970. */
  endedAt: number;
  perSecond: number;
  p50: number;
  p99: number;
  clientCpu: number;
  /** Share of one processor that the client used: near 1 it is the client that is measured. */
  clientBusy: number;
}

export type Reply = { load: Load } | { failure: string };

/**
 * A separate process that carries out orders one after the other; it persists, so that it is warm for all of them.
 */
export class MeasuringProcess {
  readonly #child: ChildProcess;

  /** `script`: a module next to this one that calls `carryOutOrders`. */
  constructor(script: string) {
    this.#child = fork(new URL(script, import.meta.url), {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  }

  /** Rejects when any request was not answered with 2xx. */
  async run(order: Order): Promise<Load> {
    const answered = new AbortController();
    const { signal } = answered;
    this.#child.send(order);
    const [reply] = (await Promise.race([
      once(this.#child, 'message', { signal }),
      once(this.#child, 'exit', { signal }).then(() => [{ failure: 'the measuring process ended' }]),
    ])) as [Reply];
    answered.abort();
    if ('failure' in reply) throw new Error(`${order.kind} to ${order.url}: ${reply.failure}`);
    return reply.load;
  }

  stop(): void {
    this.#child.kill();
  }
}

/** The other side: in the measuring process, answers every order. */
export function carryOutOrders(carryOut: (order: Order) => Promise<Load>): void {
  process.on('disconnect', () => process.exit());
  process.on('SIGTERM', () => process.exit());
  process.on('message', async (order: Order) => {
    let reply: Reply;
    try {
      reply = { load: await carryOut(order) };
    } catch (error) {
      reply = { failure: (error as Error).message };
    }
    process.send?.(reply);
  });
}
