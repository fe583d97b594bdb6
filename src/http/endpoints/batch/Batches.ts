import type { Logger } from 'pino';
import type { RateLimiter, RateLimiters } from '../../../ports/rateLimiters.ts';
import { overloaded } from '../../server/BodyBudget.ts';

interface BatchLimits {
  /** The number of batches at once. */
  concurrency: number;
  /** Counts the lines of workspaces; undefined where they are not limited. */
  lines: RateLimiter | undefined;
}

/** The batches under way. */
export class Batches {
  readonly lines: RateLimiter | undefined;
  readonly logger: Logger;
  readonly #concurrency: number;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor({ concurrency, lines }: BatchLimits, logger: Logger) {
    this.#concurrency = concurrency;
    this.lines = lines;
    this.logger = logger;
  }

  /** Aborts when whatever is under way has to finish. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * Admits one more batch, which calls the returned function when it is over. Throws `overloaded` at the maximum
   * number.
   */
  enter(): () => void {
    if (this.#underWay.size >= this.#concurrency) throw overloaded();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay.add(promise);
    return () => {
      this.#underWay.delete(promise);
      resolve();
    };
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
