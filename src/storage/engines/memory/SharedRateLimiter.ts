import type { Count, Limit, RateLimiter } from '../../rateLimiters.ts';
import type { SharedCounts } from './SharedCounts.ts';

/** Counts in memory shared by the threads of this process, synchronously: every request of all threads is counted. */
export class SharedRateLimiter implements RateLimiter {
  readonly limit: Limit;
  readonly #counts: SharedCounts;

  constructor(limit: Limit, counts: SharedCounts) {
    this.limit = limit;
    this.#counts = counts;
  }

  consume(key: string, times?: number): Count {
    return this.#counts.consume(this.limit, key, times);
  }

  async reset(key: string): Promise<void> {
    this.#counts.reset(this.limit, key);
  }
}
