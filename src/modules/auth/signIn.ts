import type { Principal } from '../../domain/events/eventMetadata.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { INSTALLATION } from '../../domain/events/streamNames.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type Count, secondsUntilReset } from '../../storage/rateLimiters.ts';
import { recordAccess, type SignInRefusal } from '../audit/recordAccess.ts';
import { verifyPassword } from './password.ts';
import type { SecondFactor } from './SecondFactor.ts';
import { type Budget, browserBudget, type SignInLimits, signInBudgets } from './signInLimits.ts';
import type { UserDirectory } from './UserDirectory.ts';
import type { User } from './user.ts';

/** Where a sign-in comes from, and in which request. */
export type Origin = Omit<Caller, 'workspace' | 'principal'>;

export interface SignInPorts {
  eventLog: EventLog;
  users: UserDirectory;
  signInLimits: SignInLimits;
  secondFactor: SecondFactor;
}

/** Browser ids, by the ids of users who have signed in with that browser before. */
export type KnownBrowsers = ReadonlyMap<string, string>;

/** Someone trying a name that no user has. */
const NOBODY: Principal = { type: 'service', id: 'dashboard' };

/**
 * Returns the user with this name and password, who may still have to prove a second factor (`totpSetAt`). A refusal is in the
 * audit trail when it rejects: with `unauthorized` and one message for every reason, with `rate_limited` after too many attempts;
 * and with `unavailable` when it cannot be recorded.
 */
export async function provePassword(
  ports: SignInPorts,
  { name, password, browsers }: { name: string; password: string; browsers: KnownBrowsers },
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
  if (user.totpSetAt === undefined) await giveBack(budgets);
  return user;
}

/**
 * Resolves when a user whose password was correct has also entered a valid code, which is used up by this. Refuses as
 * `provePassword` does.
 */
export async function proveCode(
  ports: SignInPorts,
  user: User,
  { code, browsers }: { code: string; browsers: KnownBrowsers },
  origin: Origin,
): Promise<void> {
  const budgets = budgetsOf(ports, user.name, user, browsers, origin);
  await spend(ports, budgets, user, origin);
  if (!(await ports.secondFactor.take(user, code, callerOf(user, origin)))) {
    await refuse(ports, user, 'wrong_code', origin, wrongCode());
  }
  await giveBack(budgets);
}

/**
 * Signs in an authenticated user; the sign-in is in the audit trail when it resolves. Rejects with `unauthorized` for a disabled
 * user, and with `unavailable`.
 */
export async function admit(ports: SignInPorts, user: User, origin: Origin): Promise<void> {
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
export type Proof = { session: string } & ({ password: string } | { code: string });

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
      : await ports.secondFactor.take(user, proof.code, callerOf(user, origin));
  if (isRight) await giveBack(budgets);
  else await recordRefusal(ports, user, 'password' in proof ? 'wrong_password' : 'wrong_code', origin);
  return isRight;
}

function budgetsOf(
  { signInLimits }: SignInPorts,
  name: string,
  user: User | undefined,
  browsers: KnownBrowsers,
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
async function giveBack(budgets: readonly Budget[]): Promise<void> {
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
