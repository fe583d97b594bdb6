import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { ServiceError, unavailable } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/** Counts a request of a client IP address, and says in the answer's headers what is left. */
export type RateLimit = (exchange: Exchange) => Promise<void>;

/** Length of the window over which requests are counted. */
const RATE_WINDOW_SECONDS = 60;

/**
 * The limit on requests from one client IP address (spec section 8); `undefined` limits nothing. Beyond it rejects
 * with `rate_limited` and the seconds to wait. Headers: draft-ietf-httpapi-ratelimit-headers-10.
 */
export function rateLimit(limiter: RateLimiterAbstract | undefined): RateLimit {
  if (limiter === undefined) return async () => undefined;
  const policy = `"default";q=${limiter.points};w=${RATE_WINDOW_SECONDS}`;
  return async ({ clientIp, headers }) => {
    const state = await consume(limiter, clientIp);
    const seconds = Math.max(1, Math.ceil(state.msBeforeNext / 1000));
    headers.push(
      'RateLimit-Policy',
      policy,
      'RateLimit',
      `"default";r=${state.remainingPoints};t=${seconds}`,
    );
    if (state.refused) {
      throw new ServiceError('rate_limited', `Too many requests. Try again in ${seconds} seconds.`, {
        retryAfterSeconds: seconds,
      });
    }
  };
}

async function consume(limiter: RateLimiterAbstract, clientIp: string) {
  try {
    const { msBeforeNext, remainingPoints } = await limiter.consume(clientIp);
    return { msBeforeNext, remainingPoints, refused: false };
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw unavailable('rate limit store', error);
    return { msBeforeNext: error.msBeforeNext, remainingPoints: 0, refused: true };
  }
}
