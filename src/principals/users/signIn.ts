import { recordAccess, type SignInRefusal } from '../../audit/recordAccess.ts';
import { ServiceError } from '../../errors.ts';
import type { Principal } from '../../events/eventMetadata.ts';
import type { Caller } from '../../events/newEvent.ts';
import { INSTALLATION } from '../../events/streamNames.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { type Count, secondsUntilReset } from '../../ports/rateLimiters.ts';
import { verifyPassword } from './password.ts';
import type { SecondFactor } from './SecondFactor.ts';
import { type Budget, browserBudget, type SignInLimits, signInBudgets } from './signInLimits.ts';
import type { UserDirectory } from './UserDirectory.ts';
import type { User } from './user.ts';

/** From where somebody signs in, in which request. */
export type Origin = Omit<Caller, 'workspace' | 'principal'>;

export interface SignInPorts {
  eventLog: EventLog;
  users: UserDirectory;
  signInLimits: SignInLimits;
  secondFactor: SecondFactor;
}

/** The ids of a browser, by the ids of the users who have signed in in it before. */
export type KnownBrowsers = ReadonlyMap<string, string>;

/** Whoever tries a name that no user has. */
const NOBODY: Principal = { type: 'service', id: 'dashboard' };

/**
 * The user of this name and password, who may have a second factor to prove yet (`totpSetAt`). A refusal is in the audit
 * trail when it rejects: with `unauthorized` and one message for every reason, with `rate_limited` when it was tried too
 * often; and with `unavailable` when it cannot be recorded.
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
  // Who knows the password is told no more than others: that the user is disabled is for administrators.
  if (user.state === 'disabled') return refuse(ports, user, 'user_disabled', origin, wrongPassword());
  // Else whoever knows the password could guess codes for ever.
  if (user.totpSetAt === undefined) await giveBack(budgets);
  return user;
}

/**
 * Resolves when a user whose password was right has given a right code too, which is used with that. Refuses as
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
 * Takes in a user who has proved who he is; the sign-in is in the audit trail when it resolves. Rejects with
 * `unauthorized` for a disabled user, and with `unavailable`.
 */
export async function admit(ports: SignInPorts, user: User, origin: Origin): Promise<void> {
  if (user.state === 'disabled') {
    const message = 'This user is disabled here. Ask an administrator of Chartledger.';
    await refuse(ports, user, 'user_disabled', origin, new ServiceError('unauthorized', message));
  }
  await recordAccess(ports.eventLog, callerOf(user, origin), { action: 'sign_in' });
}

/**
 * Records that the identity provider knows somebody who has no role here, be it a user or nobody, and rejects with
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

/** What a user who is signed in proves with once more who he is, and the id of the session, which is counted by itself. */
export type Proof = { session: string } & ({ password: string } | { code: string });

/**
 * Whether a user who is signed in knows the present password, or a code that is used with that. Recorded as a sign-in is,
 * and counted for the session alone, so that a name that others have locked holds nobody up who is in. Rejects with
 * `rate_limited` and `unavailable`.
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

/** Counts; beyond the limit only the first refusal is recorded, so that nobody can fill the log by trying. */
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

/** A success lets the count of the name or browser begin again; that of the network goes on. */
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
  return new ServiceError('unauthorized', 'The name or password is incorrect.');
}

function wrongCode(): ServiceError {
  return new ServiceError('unauthorized', 'The code is incorrect or was already used.');
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
