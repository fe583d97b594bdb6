import type { ApiKey } from '../../modules/auth/keyState.ts';
import { networkOf } from '../../modules/auth/networkOf.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type Count, type RateLimiters, secondsUntilReset } from '../../storage/rateLimiters.ts';
import type { Exchange } from './exchange.ts';

/**
 * Counts a request, and sets what is left in the response's headers: synchronously, where that is counted in this
 * process. `key`: the one by whose sender it is counted, which has a limit of its own; without one it is counted by
 * the client's IP address, in IPv6 by its /64.
 */
export type RateLimit = (exchange: Exchange, key?: ApiKey) => void | Promise<void>;

/** Length of the window over which requests are counted. */
const RATE_WINDOW_SECONDS = 60;

/** Counts a request of a sender. */
type Counting = (exchange: Exchange, sender: string) => void | Promise<void>;

/**
 * Returns the limit on requests per minute from one client IP address, in IPv6 from one /64 (spec section 8), where 0 means no limit, and
 * those of keys that have one of their own. Beyond it, the returned function rejects with `rate_limited` and the
 * seconds to wait.
 */
export function rateLimit(limiters: RateLimiters, perMinute: number): RateLimit {
  const byAddress = perMinute === 0 ? undefined : counting(limiters, 'requests', 'default', perMinute);
  const byKey = new Map<number, Counting>();
  return (exchange, key) => {
    if (key?.rateLimit === undefined) return byAddress?.(exchange, networkOf(exchange.clientIp));
    let count = byKey.get(key.rateLimit);
    if (count === undefined) {
      count = counting(limiters, 'requests_of_keys', 'key', key.rateLimit);
      byKey.set(key.rateLimit, count);
    }
    return count(exchange, key.sender);
  };
}

/** Headers: draft-ietf-httpapi-ratelimit-headers-10. */
function counting(limiters: RateLimiters, name: string, policyName: string, points: number): Counting {
  const limiter = limiters.limiter({ name, points, seconds: RATE_WINDOW_SECONDS });
  const policy = `"${policyName}";q=${points};w=${RATE_WINDOW_SECONDS}`;
  const note = ({ headers }: Exchange, count: Count) => {
    const rest = `"${policyName}";r=${count.remaining};t=${secondsUntilReset(count)}`;
    headers.push('RateLimit-Policy', policy, 'RateLimit', rest);
    requireWithin(count);
  };
  return (exchange, sender) => {
    const count = limiter.consume(sender);
    return count instanceof Promise
      ? count.then((counted) => note(exchange, counted))
      : note(exchange, count);
  };
}

/** Throws `rate_limited`, with the seconds to wait, where a limit on requests was exceeded. */
export function requireWithin(count: Count): void {
  if (!count.refused) return;
  throw rateLimited(secondsUntilReset(count));
}

/** Returns the refusal of a request beyond the limit, with the seconds to wait. */
export function rateLimited(seconds: number): ServiceError {
  return new ServiceError('rate_limited', `Too many requests. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}
