import { createHash } from 'node:crypto';
import type { Caller } from '../commands/caller.ts';
import { recordAccess, type SignInRefusal } from '../commands/recordAccess.ts';
import { ServiceError } from '../errors.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { Count, RateLimiter, RateLimiters } from '../ports/rateLimiters.ts';
import type { Principal } from '../records/eventMetadata.ts';
import { INSTALLATION } from '../records/streamNames.ts';
import { verifyPassword } from './password.ts';
import type { UserDirectory } from './UserDirectory.ts';
import { nameKey, type User } from './user.ts';

/** From where somebody signs in, in which request. */
export type Origin = Omit<Caller, 'workspace' | 'principal'>;

/** How often passwords may be tried. */
export interface SignInLimits {
  /** From one client IP address: 10 times a minute. */
  byIp: RateLimiter;
  /** For one name, whether there is such a user or not: 5 times in 15 minutes without success. */
  byName: RateLimiter;
}

export interface SignInPorts {
  eventLog: EventLog;
  users: UserDirectory;
  signInLimits: SignInLimits;
}

/** Whoever tries a name that no user has. */
const NOBODY: Principal = { type: 'service', id: 'dashboard' };

export function openSignInLimits(limiters: RateLimiters): SignInLimits {
  return {
    byIp: limiters.limiter({ name: 'sign-in-ip', points: 10, seconds: 60 }),
    byName: limiters.limiter({ name: 'sign-in-name', points: 5, seconds: 15 * 60 }),
  };
}

/**
 * The user of this name and password; the sign-in is in the audit trail when it resolves, and so is a refusal when it
 * rejects. Rejects with `unauthorized` and one message for every reason, with `rate_limited` when it was tried too
 * often, and with `unavailable` when it cannot be recorded.
 */
export async function signIn(
  ports: SignInPorts,
  name: string,
  password: string,
  origin: Origin,
): Promise<User> {
  await ports.users.refresh();
  const user = ports.users.findByName(name);
  await limit(ports, ports.signInLimits.byIp, origin.clientIp ?? '', user, origin);
  if (!(await isRightPassword(ports, name, password, user, origin))) {
    await recordRefusal(ports, user, user ? 'wrong_password' : 'unknown_user', origin);
    throw wrong();
  }
  // Who knows the password is told no more than others: that the user is disabled is for administrators.
  return admit(ports, user as User, origin, wrong());
}

/**
 * Takes in a user who proved who he is without a password: by an identity provider, or with the setup link. Recorded as
 * `signIn` is. Rejects with `unauthorized` for a disabled user, and with `unavailable`.
 */
export function signInWithoutPassword(ports: SignInPorts, user: User, origin: Origin): Promise<User> {
  const refusal = new ServiceError(
    'unauthorized',
    'This user is disabled here. Ask an administrator of Chartledger.',
  );
  return admit(ports, user, origin, refusal);
}

/**
 * Records that the identity provider knows somebody who has no role here, be it a user or nobody, and rejects with
 * `unauthorized`, or `unavailable`.
 */
export async function refuseWithoutRole(
  ports: SignInPorts,
  user: User | undefined,
  origin: Origin,
): Promise<never> {
  await recordRefusal(ports, user, 'no_role', origin);
  throw new ServiceError(
    'unauthorized',
    'The identity provider knows you, but gives you no role in Chartledger. Ask its administrators for one.',
  );
}

/** Records that a user signed out. Rejects with `unavailable`. */
export async function recordSignOut({ eventLog }: SignInPorts, user: User, origin: Origin): Promise<void> {
  await recordAccess(eventLog, callerOf(user, origin), { action: 'sign_out' });
}

/**
 * Whether a user who is signed in knows the present password; tried and recorded as a sign-in is. Rejects with
 * `rate_limited` and `unavailable`.
 */
export async function confirmPassword(
  ports: SignInPorts,
  user: User,
  password: string,
  origin: Origin,
): Promise<boolean> {
  const isRight = await isRightPassword(ports, user.name, password, user, origin);
  if (!isRight) await recordRefusal(ports, user, 'wrong_password', origin);
  return isRight;
}

async function isRightPassword(
  ports: SignInPorts,
  name: string,
  password: string,
  user: User | undefined,
  origin: Origin,
): Promise<boolean> {
  const { byName } = ports.signInLimits;
  // What is typed as a name may be a password.
  const key = createHash('sha256').update(nameKey(name)).digest('hex');
  await limit(ports, byName, key, user, origin);
  const isRight = await verifyPassword(password, user && ports.users.passwordOf(user.id));
  if (isRight) await byName.reset(key);
  return isRight;
}

async function admit(ports: SignInPorts, user: User, origin: Origin, refusal: ServiceError): Promise<User> {
  if (user.state === 'disabled') {
    await recordRefusal(ports, user, 'user_disabled', origin);
    throw refusal;
  }
  await recordAccess(ports.eventLog, callerOf(user, origin), { action: 'sign_in' });
  return user;
}

/** Counts; beyond the limit only the first refusal is recorded, so that nobody can fill the log by trying. */
async function limit(
  ports: SignInPorts,
  limiter: RateLimiter,
  key: string,
  user: User | undefined,
  origin: Origin,
): Promise<void> {
  const count = await limiter.consume(key);
  if (!count.refused) return;
  if (count.refusals === 1) await recordRefusal(ports, user, 'rate_limited', origin);
  throw tooOften(count);
}

function tooOften({ msBeforeReset }: Count): ServiceError {
  const seconds = Math.max(1, Math.ceil(msBeforeReset / 1000));
  const wait = seconds > 90 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} seconds`;
  return new ServiceError('rate_limited', `Too many attempts to sign in. Try again in ${wait}.`, {
    retryAfterSeconds: seconds,
  });
}

function wrong(): ServiceError {
  return new ServiceError('unauthorized', 'The name or the password is not right.');
}

async function recordRefusal(
  { eventLog }: SignInPorts,
  user: User | undefined,
  code: SignInRefusal,
  origin: Origin,
): Promise<void> {
  await recordAccess(eventLog, callerOf(user, origin), {
    action: 'sign_in.refused',
    outcome: 'refused',
    code,
  });
}

function callerOf(user: User | undefined, origin: Origin): Caller {
  const principal: Principal = user ? { type: 'user', id: user.id } : NOBODY;
  return { ...origin, workspace: INSTALLATION, principal };
}
