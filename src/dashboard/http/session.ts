import { createHash } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import session from 'express-session';
import type { UserDirectory } from '../../modules/auth/UserDirectory.ts';
import type { User } from '../../modules/auth/user.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { SessionStore, TOUCH_EVERY_MS } from './SessionStore.ts';
import { typedFormOf } from './typedForm.ts';

/** A session ends when it has not been used for this long. */
const IDLE_MS = 15 * 60_000;
/** It ends after this time, however much it is used. */
const LONGEST_MS = 12 * 3_600_000;
/** Within this time users, roles and keys can be changed without another proof. */
const FRESH_MS = 10 * 60_000;
const SECOND_STEP_MS = 10 * 60_000;

/** What a session keeps of its user: where it changes, the session ends. */
type KeptUser = Pick<User, 'passwordSetAt' | 'disabledAt'> & { userId: string };

declare module 'express-session' {
  interface SessionData extends Partial<KeptUser> {
    /** Milliseconds since 1970. */
    signedInAt?: number;
    /** When the user last proved their identity; milliseconds since 1970. */
    provedAt?: number;
    /** A sign-in with the right password that awaits its code. */
    secondStep?: KeptUser & { begunAt: number; next: string };
    /** The workspace viewed last. */
    workspace?: string;
    /** Texts to be shown on the next page. */
    notices?: string[];
  }
}

/**
 * Provides the session of each request, in `req.session`. The cookie is only for the dashboard, and no script can
 * read it.
 */
export function sessions(state: StateStore, secret: Buffer): RequestHandler {
  const store = new SessionStore(state, IDLE_MS);
  return session({
    name: 'chartledger_session',
    secret: secret.toString('base64'),
    store,
    resave: false,
    saveUninitialized: false,
    rolling: true,
    cookie: { path: '/dashboard', httpOnly: true, sameSite: 'lax', secure: 'auto', maxAge: IDLE_MS },
  });
}

/** Begins a session for a user who proved their identity at `provedAt`: under a new id that nobody knew before. */
export async function beginSession(req: Request, user: User, provedAt: number): Promise<void> {
  await regenerate(req, user);
  Object.assign(req.session, { ...keptUser(user), signedInAt: Date.now(), provedAt });
}

/** Continues the session of a user whose password has just changed, under a new id; those elsewhere end. */
export async function continueSession(req: Request, user: User): Promise<void> {
  const { signedInAt, provedAt } = req.session;
  await regenerate(req, user);
  Object.assign(req.session, { ...keptUser(user), signedInAt, provedAt });
}

/** Begins the wait for the code of a user whose password was right; `next` is where the sign-in leads to. */
export async function beginSecondStep(req: Request, user: User, next: string): Promise<void> {
  await regenerate(req, user);
  req.session.secondStep = { ...keptUser(user), begunAt: Date.now(), next };
}

/** Returns the user whose code is awaited; undefined when there is none, or it took too long. */
export function secondStepOf(
  { session }: Request,
  users: UserDirectory,
): { user: User; next: string } | undefined {
  const { secondStep } = session;
  if (secondStep === undefined || Date.now() - secondStep.begunAt > SECOND_STEP_MS) return undefined;
  const user = unchangedUser(secondStep, users);
  return user && { user, next: secondStep.next };
}

/** Whether the user has proved their identity within the last ten minutes. */
export function isProofFresh({ session: { provedAt = 0 } }: Request): boolean {
  return Date.now() - provedAt < FRESH_MS;
}

/** Notes that the user has just proved their identity once more. */
export function renewProof({ session }: Request): void {
  session.provedAt = Date.now();
}

function keptUser({ id: userId, passwordSetAt, disabledAt }: User): KeptUser {
  return { userId, passwordSetAt, disabledAt };
}

/** Returns the user, if active, with the same password as then, and not disabled in between. */
function unchangedUser(kept: Partial<KeptUser>, users: UserDirectory): User | undefined {
  const user = kept.userId === undefined ? undefined : users.find(kept.userId);
  const isUnchanged = user?.passwordSetAt === kept.passwordSetAt && user?.disabledAt === kept.disabledAt;
  return user?.state === 'active' && isUnchanged ? user : undefined;
}

/** Begins a new session under a new id, in place of the previous one, of which it keeps what the user typed. */
async function regenerate(req: Request, user: User): Promise<void> {
  const typedForm = typedFormOf(req, user);
  await new Promise<void>((resolve, reject) => {
    req.session.regenerate((error: unknown) => (error ? reject(error) : resolve()));
  });
  if (typedForm) req.session.typedForm = typedForm;
}

/**
 * Returns the seconds for which the session lasts after this request, if it is not used again, or a little longer.
 */
export function sessionSeconds({ session: { signedInAt = 0 } }: Request): number {
  const ms = Math.min(IDLE_MS - TOUCH_EVERY_MS, signedInAt + LONGEST_MS - Date.now());
  return Math.max(0, Math.floor(ms / 1000));
}

/** Leaves the session as it is: the request neither changes nor prolongs it. */
export function leaveSession(req: Request): void {
  Reflect.deleteProperty(req, 'session');
}

/** Ends the session. */
export function endSession(req: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    req.session.destroy((error: unknown) => (error ? reject(error) : resolve()));
  });
}

/**
 * Returns the signed-in user, as the log has them now; undefined when nobody is signed in, or the session may no
 * longer be used.
 */
export function signedInUser({ session }: Request, users: UserDirectory): User | undefined {
  const { signedInAt = 0 } = session;
  return Date.now() - signedInAt > LONGEST_MS ? undefined : unchangedUser(session, users);
}

/** The same; an unknown user is first looked for in the log: another thread or process may just have created them. */
export async function currentUser(req: Request, users: UserDirectory): Promise<User | undefined> {
  const user = signedInUser(req, users);
  if (user || req.session.userId === undefined) return user;
  await users.refresh().catch(() => undefined);
  return signedInUser(req, users);
}

/**
 * Returns what identifies a session where its id must not be seen; undefined where nothing is kept for the request's
 * visitor.
 */
export function sessionIdOf({ session, sessionID }: Request): string | undefined {
  if (session?.userId === undefined && session?.secondStep === undefined) return undefined;
  return createHash('sha256').update(sessionID).digest('hex');
}
