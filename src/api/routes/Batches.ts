import type { Logger } from 'pino';
import { type BudgetShare, FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/FairBudget.ts';
import type { RateLimiter, RateLimiters } from '../../storage/rateLimiters.ts';
import { overloaded, ownersOf } from '../server/BodyBudget.ts';
import type { Exchange } from '../server/exchange.ts';
import { MAX_BATCH_BYTES } from './LineSplitter.ts';

/** How long a batch that has arrived waits for a place. */
const WAIT_MS = 5_000;

interface BatchLimits {
  /** The number of batches at once. */
  concurrency: number;
  /** Counts the lines of workspaces; undefined where they are not limited. */
  lines: RateLimiter | undefined;
}

/** A batch that has arrived, and that waits for a place. */
interface Waiting {
  key: string;
  place: BudgetShare;
  begin(): void;
}

/** The batches under way. */
export class Batches {
  /**
   * For the bodies of batches, in bytes, until their response has left. Places come to those that have arrived, so that slow senders
   * take none.
   */
  readonly bodies: FairBudget;
  readonly lines: RateLimiter | undefined;
  readonly logger: Logger;
  /** A workspace has half of the places, rounded down, or one. */
  readonly #places: FairBudget;
  #waiting: Waiting[] = [];
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor({ concurrency, lines }: BatchLimits, logger: Logger) {
    this.bodies = new FairBudget((concurrency + 2) * MAX_BATCH_BYTES, WORKSPACE_AND_KEY);
    this.#places = new FairBudget(concurrency, [1]);
    this.lines = lines;
    this.logger = logger;
  }

  /** Aborts when whatever is under way has to finish. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * Resolves when a batch that has arrived may begin; it calls the returned function when it is over. Rejects with `overloaded` when
   * others take too long.
   */
  async enter(exchange: Pick<Exchange, 'found'>): Promise<() => void> {
    const owners = ownersOf(exchange);
    const place = this.#places.share(owners);
    if (!place.take(1)) await this.#turn(owners[1] as string, place);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay.add(promise);
    return () => {
      place.giveAll();
      this.#underWay.delete(promise);
      resolve();
      this.#beginNext();
    };
  }

  /** Resolves when a waiting batch has its place. */
  async #turn(key: string, place: BudgetShare): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { key, place, begin: resolve };
    this.#waiting.push(waiting);
    const late = setTimeout(() => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      reject(overloaded('batches'));
    }, WAIT_MS);
    await promise.finally(() => clearTimeout(late));
  }

  /** Gives free places to those that wait; keys take turns. */
  #beginNext(): void {
    for (;;) {
      const next = this.#waiting.find(({ place }) => place.take(1));
      if (next === undefined) return;
      const others = this.#waiting.filter((one) => one !== next);
      const { false: first = [], true: last = [] } = Object.groupBy(
        others,
        ({ key }) => `${key === next.key}`,
      );
      this.#waiting = [...first, ...last];
      next.begin();
    }
  }

  /** Ends the batches under way; resolves when they are over. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#underWay);
  }
}

/** Creates `Batches` with these limits; a `batchLinesPerMinute` of 0 means no limit. */
export function openBatches(
  { batchConcurrency, batchLinesPerMinute }: { batchConcurrency: number; batchLinesPerMinute: number },
  limiters: RateLimiters,
  logger: Logger,
): Batches {
  const limit = { name: 'batch_lines', points: batchLinesPerMinute, seconds: 60 };
  const lines = batchLinesPerMinute === 0 ? undefined : limiters.limiter(limit);
  return new Batches({ concurrency: batchConcurrency, lines }, logger);
}
