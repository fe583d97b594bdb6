import { createHash } from 'node:crypto';
import type { RateLimiter, RateLimiters } from '../../ports/rateLimiters.ts';
import { networkOf } from './networkOf.ts';
import { nameKey, type User } from './user.ts';

/** How often it may be tried who somebody is. */
export interface SignInLimits {
  /** From one network, by browsers that are not known: 10 times a minute. */
  byNetwork: RateLimiter;
  /** For one name, whether there is such a user or not, by the same: 5 times in 15 minutes without success. */
  byName: RateLimiter;
  /** For one user in one known browser, or in one session: 5 times in 15 minutes without success. */
  byBrowser: RateLimiter;
}

/** One count that an attempt is counted in. */
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
 * What an attempt to sign in by a name is counted in. A browser in which the user has signed in before has a count of its
 * own, which nobody else can use up; all others share those of the network and of the name.
 */
export function signInBudgets(
  limits: SignInLimits,
  attempt: {
    name: string;
    /** Whose name it is, if anybody's. */
    user: User | undefined;
    /** The id of the browser, where the user has signed in in it before. */
    browser: string | undefined;
    clientIp: string | undefined;
  },
): Budget[] {
  const { name, user, browser, clientIp = '' } = attempt;
  if (user && browser !== undefined) return [browserBudget(limits, user, browser)];
  return [
    { limiter: limits.byNetwork, key: networkOf(clientIp) },
    // Whoever unlocks a name, or sets its password, has its attempts counted anew, in every process.
    { limiter: limits.byName, key: hashed(nameKey(name), user?.passwordSetAt, user?.unlockedAt) },
  ];
}

/** What the attempts of a user in one browser or session are counted in, by its id. */
export function browserBudget({ byBrowser }: SignInLimits, user: User, id: string): Budget {
  return { limiter: byBrowser, key: hashed(user.id, id, user.unlockedAt) };
}

/** What is typed as a name may be a password, and the id of a session opens it: neither is stored. */
function hashed(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
