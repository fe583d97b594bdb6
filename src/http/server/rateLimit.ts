import { ServiceError } from '../../errors.ts';
import type { Count, RateLimiters } from '../../ports/rateLimiters.ts';
import type { Exchange } from './exchange.ts';

/**
 * Counts a request of a client IP address, and says in the answer's headers what is left: at once, where that is counted in
 * this process.
 */
export type RateLimit = (exchange: Exchange) => void | Promise<void>;

/** Length of the window over which requests are counted. */
const RATE_WINDOW_SECONDS = 60;

/**
 * The limit on requests a minute from one client IP address (spec section 8); 0 limits nothing. Beyond it rejects
 * with `rate_limited` and the seconds to wait. Headers: draft-ietf-httpapi-ratelimit-headers-10.
 */
export function rateLimit(limiters: RateLimiters, perMinute: number): RateLimit {
  if (perMinute === 0) return () => undefined;
  const limiter = limiters.limiter({ name: 'requests', points: perMinute, seconds: RATE_WINDOW_SECONDS });
  const policy = `"default";q=${perMinute};w=${RATE_WINDOW_SECONDS}`;
  const note = ({ headers }: Exchange, count: Count) => {
    const rest = `"default";r=${count.remaining};t=${secondsUntilReset(count)}`;
    headers.push('RateLimit-Policy', policy, 'RateLimit', rest);
    requireWithin(count);
  };
  return (exchange) => {
    const count = limiter.consume(exchange.clientIp);
    return count instanceof Promise
      ? count.then((counted) => note(exchange, counted))
      : note(exchange, count);
  };
}

/** Throws `rate_limited`, with the seconds to wait, where a limit on requests was passed. */
export function requireWithin(count: Count): void {
  if (!count.refused) return;
  throw rateLimited(secondsUntilReset(count));
}

/** The refusal of a request beyond the limit, and the seconds to wait. */
export function rateLimited(seconds: number): ServiceError {
  return new ServiceError('rate_limited', `Too many requests. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}

function secondsUntilReset({ msBeforeReset }: Count): number {
  return Math.max(1, Math.ceil(msBeforeReset / 1000));
}
