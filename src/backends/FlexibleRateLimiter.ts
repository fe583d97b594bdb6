import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { unavailable } from '../errors.ts';
import type { Count, Limit, RateLimiter } from '../ports/rateLimiters.ts';

/** A limiter of rate-limiter-flexible, wherever it counts. */
export class FlexibleRateLimiter implements RateLimiter {
  readonly limit: Limit;
  readonly #limiter: RateLimiterAbstract;

  constructor(limit: Limit, limiter: RateLimiterAbstract) {
    this.limit = limit;
    this.#limiter = limiter;
  }

  async consume(key: string): Promise<Count> {
    try {
      const { msBeforeNext, remainingPoints } = await this.#limiter.consume(key);
      return { refused: false, refusals: 0, remaining: remainingPoints, msBeforeReset: msBeforeNext };
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw unavailable('rate limit store', error);
      const refusals = Math.max(0, error.consumedPoints - this.limit.points);
      return { refused: true, refusals, remaining: 0, msBeforeReset: error.msBeforeNext };
    }
  }

  async reset(key: string): Promise<void> {
    await this.#limiter.delete(key);
  }
}
