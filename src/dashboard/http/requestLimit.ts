import type { Request } from 'express';
import { requireWithin } from '../../api/server/rateLimit.ts';
import { networkOf } from '../../modules/auth/networkOf.ts';
import type { User } from '../../modules/auth/user.ts';
import type { RateLimiter, RateLimiters } from '../../storage/rateLimiters.ts';
import { sessionIdOf } from './session.ts';

/** Counts a request of a user, or of somebody at an address. Rejects with `rate_limited`, and with `unavailable`. */
export type RequestLimit = (req: Request, user: User | undefined, clientIp: string) => Promise<void>;

/**
 * Returns the dashboard's limit on requests per minute: for one session, and before the sign-in for one network; 0
 * means no limit. It is counted separately from that of the API (spec section 8).
 */
export function requestLimit(limiters: RateLimiters, perMinute: number): RequestLimit {
  if (perMinute === 0) return async () => undefined;
  const limiter = (name: string): RateLimiter => limiters.limiter({ name, points: perMinute, seconds: 60 });
  const [bySession, byNetwork] = [limiter('dashboard-session'), limiter('dashboard-network')];
  return async (req, user, clientIp) => {
    const session = user && sessionIdOf(req);
    requireWithin(
      await (session === undefined ? byNetwork.consume(networkOf(clientIp)) : bySession.consume(session)),
    );
  };
}
