import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import {
  type Count,
  type RateLimiter,
  type RateLimiters,
  secondsUntilReset,
} from '../../storage/rateLimiters.ts';
import { recordAccess, type SignInRefusal } from '../audit/recordAccess.ts';
import { verifyPassword } from './passwords.ts';
import type { SecondFactor } from './twoFactor.ts';
import { nameKey, type User, type UserDirectory } from './users.ts';

/**
 * Returns what an IP address is counted under: for IPv6 the /64, which belongs to a single customer (RFC 6177);
 * for IPv4, and for what is not an address, the text itself.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address;
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const network = new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]);
  return `${network.toRFC5952String()}/64`;
}

/** Limits for attempts to authenticate. */
interface SignInLimits {
  /** From one network, by unknown browsers: 10 times a minute. */
  byNetwork: RateLimiter;
  /** For one name, whether or not there is such a user, by unknown browsers: 5 times in 15 minutes without success. */
  byName: RateLimiter;
  /** For one user in one known browser, or in one session: 5 times in 15 minutes without success. */
  byBrowser: RateLimiter;
}

/** One of the counts that an attempt goes into. */
interface Budget {
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
function signInBudgets(
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
function browserBudget({ byBrowser }: SignInLimits, user: User, id: string): Budget {
  return { limiter: byBrowser, key: hashed(user.id, id, user.unlockedAt) };
}

/** What is typed as a name may be a password, and a session's id gives access to it: neither is stored. */
function hashed(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Where a sign-in comes from, and in which request. */
export type Origin = Omit<Caller, 'workspace' | 'principal'>;

export interface SignInPorts {
  eventLog: EventLog;
  users: UserDirectory;
  signInLimits: SignInLimits;
  secondFactor: SecondFactor;
}

/** Browser ids, by the ids of users who have signed in with that browser before. */
type TrustedDevices = ReadonlyMap<string, string>;

/** Someone trying a name that no user has. */
const NOBODY: Principal = { type: 'service', id: 'dashboard' };

/**
 * Returns the user with this name and password, who may still have to prove a second factor (`totpSetAt`). A refusal is in the
 * audit trail when it rejects: with `unauthorized` and one message for every reason, with `rate_limited` after too many attempts;
 * and with `unavailable` when it cannot be recorded.
 */
export async function provePassword(
  ports: SignInPorts,
  { name, password, browsers }: { name: string; password: string; browsers: TrustedDevices },
  origin: Origin,
): Promise<User> {
  await ports.users.refresh();
  const user = ports.users.findByName(name);
  const budgets = budgetsOf(ports, name, user, browsers, origin);
  await spend(ports, budgets, user, origin);
  const isRight = await verifyPassword(password, user && ports.users.passwordOf(user.id));
  if (!isRight || user === undefined) {
    return refuse(ports, user, user ? 'wrong_password' : 'unknown_user', origin, wrongPassword());
  }
  // Knowing the password reveals no more than not knowing it: only administrators see that the user is disabled.
  if (user.state === 'disabled') return refuse(ports, user, 'user_disabled', origin, wrongPassword());
  // Otherwise someone who knows the password could guess codes forever.
  if (user.totpSetAt === undefined) await releaseBudget(budgets);
  return user;
}

/**
 * Resolves when a user whose password was correct has also entered a valid code, which is used up by this. Refuses as
 * `provePassword` does.
 */
export async function proveCode(
  ports: SignInPorts,
  user: User,
  { code, browsers }: { code: string; browsers: TrustedDevices },
  origin: Origin,
): Promise<void> {
  const budgets = budgetsOf(ports, user.name, user, browsers, origin);
  await spend(ports, budgets, user, origin);
  if (!(await ports.secondFactor.redeem(user, code, callerOf(user, origin)))) {
    await refuse(ports, user, 'wrong_code', origin, wrongCode());
  }
  await releaseBudget(budgets);
}

/**
 * Signs in an authenticated user; the sign-in is in the audit trail when it resolves. Rejects with `unauthorized` for a disabled
 * user, and with `unavailable`.
 */
export async function admitUser(ports: SignInPorts, user: User, origin: Origin): Promise<void> {
  if (user.state === 'disabled') {
    const message = 'This user is disabled here. Ask a Chartledger administrator.';
    await refuse(ports, user, 'user_disabled', origin, new ServiceError('unauthorized', message));
  }
  await recordAccess(ports.eventLog, callerOf(user, origin), { action: 'sign_in' });
}

/**
 * Records that the identity provider authenticated someone without a role here, whether a user or not, and rejects with
 * `unauthorized`, or `unavailable`.
 */
export function refuseWithoutRole(
  ports: SignInPorts,
  user: User | undefined,
  origin: Origin,
): Promise<never> {
  const message =
    'The identity provider recognized you, but did not assign you a role in Chartledger. Ask its administrators for one.';
  return refuse(ports, user, 'no_role', origin, new ServiceError('unauthorized', message));
}

/** Records that a user signed out. Rejects with `unavailable`. */
export async function recordSignOut({ eventLog }: SignInPorts, user: User, origin: Origin): Promise<void> {
  await recordAccess(eventLog, callerOf(user, origin), { action: 'sign_out' });
}

/** How a signed-in user authenticates again, and the session's id, which has its own count. */
type Proof = { session: string } & ({ password: string } | { code: string });

/**
 * Whether a signed-in user knows the current password, or a code, which is used up by this. Recorded like a sign-in, but counted
 * only for the session, so that users already signed in are not affected when others lock their name. Rejects with `rate_limited`
 * and `unavailable`.
 */
export async function proveAgain(
  ports: SignInPorts,
  user: User,
  proof: Proof,
  origin: Origin,
): Promise<boolean> {
  const budgets = [browserBudget(ports.signInLimits, user, proof.session)];
  await spend(ports, budgets, user, origin);
  const isRight =
    'password' in proof
      ? await verifyPassword(proof.password, ports.users.passwordOf(user.id))
      : await ports.secondFactor.redeem(user, proof.code, callerOf(user, origin));
  if (isRight) await releaseBudget(budgets);
  else await recordRefusal(ports, user, 'password' in proof ? 'wrong_password' : 'wrong_code', origin);
  return isRight;
}

function budgetsOf(
  { signInLimits }: SignInPorts,
  name: string,
  user: User | undefined,
  browsers: TrustedDevices,
  { clientIp }: Origin,
): Budget[] {
  return signInBudgets(signInLimits, { name, user, browser: user && browsers.get(user.id), clientIp });
}

/** Counts; beyond the limit only the first refusal is recorded, so that nobody can fill the log with attempts. */
async function spend(
  ports: SignInPorts,
  budgets: readonly Budget[],
  user: User | undefined,
  origin: Origin,
): Promise<void> {
  for (const { limiter, key } of budgets) {
    const count = await limiter.consume(key);
    if (!count.refused) continue;
    if (count.refusals === 1) await recordRefusal(ports, user, 'rate_limited', origin);
    throw tooOften(count);
  }
}

/** A success restarts the count of the name or browser; that of the network continues. */
async function releaseBudget(budgets: readonly Budget[]): Promise<void> {
  const last = budgets.at(-1);
  await last?.limiter.reset(last.key);
}

function tooOften(count: Count): ServiceError {
  const seconds = secondsUntilReset(count);
  const wait = seconds > 90 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} seconds`;
  return new ServiceError('rate_limited', `Too many sign-in attempts. Try again in ${wait}.`, {
    retryAfterSeconds: seconds,
  });
}

function wrongPassword(): ServiceError {
  return new ServiceError('unauthorized', 'Incorrect name or password.');
}

function wrongCode(): ServiceError {
  return new ServiceError('unauthorized', 'The code is incorrect, or was already used.');
}

async function refuse(
  ports: SignInPorts,
  user: User | undefined,
  code: SignInRefusal,
  origin: Origin,
  refusal: ServiceError,
): Promise<never> {
  await recordRefusal(ports, user, code, origin);
  throw refusal;
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
