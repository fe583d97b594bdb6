import { createHash } from 'node:crypto';
import type { RateLimiter, RateLimiters } from '../../storage/rateLimiters.ts';
import { networkOf } from './networkOf.ts';
import { nameKey, type User } from './user.ts';

/** Limits for attempts to authenticate. */
export interface SignInLimits {
  /** From one network, by unknown browsers: 10 times a minute. */
  byNetwork: RateLimiter;
  /** For one name, whether or not there is such a user, by unknown browsers: 5 times in 15 minutes without success. */
  byName: RateLimiter;
  /** For one user in one known browser, or in one session: 5 times in 15 minutes without success. */
  byBrowser: RateLimiter;
}

/** One of the counts that an attempt goes into. */
export interface Budget {
  limiter: RateLimiter;
  key: string;
}

export function openSignInLimits(limiters: RateLimiters): SignInLimits {
  const seconds = 15 * 60;
  return {
    byNetwork: limiters.limiter({ name: 'sign-in-network', points: 10, seconds: 60 }),
    byName: limiters.limiter({ name: 'sign-in-name', points: 5, seconds }),
    byBrowser: limiters.limiter({ name: 'sign-in-browser', points: 5, seconds }),
  };
}

/**
 * Returns the counts for an attempt to sign in by a name. A browser in which the user has signed in before has its own count,
 * which nobody else can use up; all others share those of the network and of the name.
 */
export function signInBudgets(
  limits: SignInLimits,
  attempt: {
    name: string;
    /** The user with that name, if any. */
    user: User | undefined;
    /** The browser's id, if the user has signed in with it before. */
    browser: string | undefined;
    clientIp: string | undefined;
  },
): Budget[] {
  const { name, user, browser, clientIp = '' } = attempt;
  if (user && browser !== undefined) return [browserBudget(limits, user, browser)];
  return [
    { limiter: limits.byNetwork, key: networkOf(clientIp) },
    // Unlocking a name, or setting its password, restarts its count in every process.
    { limiter: limits.byName, key: hashed(nameKey(name), user?.passwordSetAt, user?.unlockedAt) },
  ];
}

/** Returns the count for a user's attempts in one browser or session, by its id. */
export function browserBudget({ byBrowser }: SignInLimits, user: User, id: string): Budget {
  return { limiter: byBrowser, key: hashed(user.id, id, user.unlockedAt) };
}

/** What is typed as a name may be a password, and a session's id gives access to it: neither is stored. */
function hashed(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
