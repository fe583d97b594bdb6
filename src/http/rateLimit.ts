import { ServiceError } from '../errors.ts';
import type { RateLimiters } from '../ports/rateLimiters.ts';
import type { Exchange } from './exchange.ts';

/** Counts a request of a client IP address, and says in the answer's headers what is left. */
export type RateLimit = (exchange: Exchange) => Promise<void>;

/** Length of the window over which requests are counted. */
const RATE_WINDOW_SECONDS = 60;

/**
 * The limit on requests a minute from one client IP address (spec section 8); 0 limits nothing. Beyond it rejects
 * with `rate_limited` and the seconds to wait. Headers: draft-ietf-httpapi-ratelimit-headers-10.
 */
export function rateLimit(limiters: RateLimiters, perMinute: number): RateLimit {
  if (perMinute === 0) return async () => undefined;
  const limiter = limiters.limiter({ name: 'requests', points: perMinute, seconds: RATE_WINDOW_SECONDS });
  const policy = `"default";q=${perMinute};w=${RATE_WINDOW_SECONDS}`;
  return async ({ clientIp, headers }) => {
    const count = await limiter.consume(clientIp);
    const seconds = Math.max(1, Math.ceil(count.msBeforeReset / 1000));
    headers.push('RateLimit-Policy', policy, 'RateLimit', `"default";r=${count.remaining};t=${seconds}`);
    if (count.refused) {
      throw new ServiceError('rate_limited', `Too many requests. Try again in ${seconds} seconds.`, {
        retryAfterSeconds: seconds,
      });
    }
  };
}
