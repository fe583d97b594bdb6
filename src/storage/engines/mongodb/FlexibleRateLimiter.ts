import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { unavailable } from '../../../platform/errors.ts';
import type { Count, Limit, RateLimiter } from '../../rateLimiters.ts';

/** Adapts a limiter of rate-limiter-flexible to `RateLimiter`. */
export class FlexibleRateLimiter implements RateLimiter {
  readonly limit: Limit;
  readonly #limiter: RateLimiterAbstract;

  constructor(limit: Limit, limiter: RateLimiterAbstract) {
    this.limit = limit;
    this.#limiter = limiter;
  }

  async consume(key: string, times = 1): Promise<Count> {
    const count = await this.#consume(key, times);
    const windowMs = this.limit.seconds * 1_000;
    // The library stores the ends of windows by the wall clock. One this far ahead was set before the clock went back.
    if (count.msBeforeReset > 2 * windowMs) {
      await this.reset(key);
      return this.#consume(key, times);
    }
    return { ...count, msBeforeReset: Math.min(count.msBeforeReset, windowMs) };
  }

  async reset(key: string): Promise<void> {
    await this.#limiter.delete(key);
  }
  async #consume(key: string, times: number): Promise<Count> {
    try {
      const { msBeforeNext, remainingPoints } = await this.#limiter.consume(key, times);
      return { refused: false, refusals: 0, remaining: remainingPoints, msBeforeReset: msBeforeNext };
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw unavailable('rate limit store', error);
      const refusals = Math.max(0, error.consumedPoints - this.limit.points);
      return { refused: true, refusals, remaining: 0, msBeforeReset: error.msBeforeNext };
    }
  }
}
