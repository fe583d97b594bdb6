import { measurements } from '../platform/metrics/Measurements.ts';
import type { Count, Limit, RateLimiter, RateLimiters } from '../storage/rateLimiters.ts';

/** Returns limiters that count their refusals. */
export function measuredLimiters(limiters: RateLimiters): RateLimiters {
  return {
    limiter: (limit) => new MeasuredLimiter(limiters.limiter(limit)),
    close: () => limiters.close(),
  };
}

class MeasuredLimiter implements RateLimiter {
  readonly limit: Limit;
  readonly #limiter: RateLimiter;
  readonly #rejections;

  constructor(limiter: RateLimiter) {
    this.limit = limiter.limit;
    this.#limiter = limiter;
    this.#rejections = measurements.counter('chartledger.rate_limit.rejections', {
      'chartledger.limit': limiter.limit.name,
    });
  }

  consume(key: string, times?: number): Count | Promise<Count> {
    const count = this.#limiter.consume(key, times);
    if (count instanceof Promise) return count.then((counted) => this.#measure(counted));
    return this.#measure(count);
  }

  reset(key: string): Promise<void> {
    return this.#limiter.reset(key);
  }

  #measure(count: Count): Count {
    if (count.refused) this.#rejections.add();
    return count;
  }
}
