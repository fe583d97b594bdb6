import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import cookieParser from 'cookie-parser';
import type { Request, RequestHandler, Response } from 'express';
import session, { type Session, type SessionData, Store } from 'express-session';
import { z } from 'zod';
import { clientMetadata } from '../../api/server/requestContext.ts';
import type { Origin } from '../../modules/auth/signIn.ts';
import type { User, UserDirectory } from '../../modules/auth/users.ts';
import { decrypt, encrypt, SEALING_KEY_BYTES } from '../../platform/encryption.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import type { DashboardRoute, Reply, Visit } from '../components/page.ts';

interface StoredSession {
  cookie: SessionData['cookie'];
  /** Everything else; undefined: stored by a version that did not seal it. */
  sealed?: string | undefined;
}

/** A row's revision is when the session was last used, in microseconds since 1970. */
export const sessionsTable: StateTable<StoredSession> = {
  name: 'sessions_v1',
  body: z.object({ cookie: z.custom<SessionData['cookie']>(isObject), sealed: z.string().optional() }),
};

const PARTITION = 'sessions';
/** How precisely the store knows when a session was last used: not every use causes a write. */
const TOUCH_EVERY_MS = 60_000;
const PRUNE_EVERY_MS = 60_000;
/** Above every revision: a session ends even if a clock that is ahead saved it last. */
const ANY = Number.MAX_SAFE_INTEGER;

type Callback<Result> = (error?: unknown, result?: Result) => void;

/** Calls a callback with the result of a promise. */
function answer<Result>(promise: Promise<Result>, callback: Callback<Result> | undefined): void {
  promise.then(
    (result) => callback?.(null, result),
    (error: unknown) => callback?.(error),
  );
}

/**
 * Keeps sessions in the state store, so that every instance knows them: where they are lost, people sign in again.
 * Stored under a hash of the session's id and sealed under a key derived from that id, so that nobody who reads the
 * store can take a session over, or read what it holds: secrets shown once, searches, forms (docs/decisions/061).
 */
export class SessionStore extends Store {
  readonly #state: StateStore;
  readonly #idleMs: number;
  /** Sessions that were already stored when their request came. */
  readonly #loaded = new WeakSet<SessionData>();
  #lastRevision = 0;
  #prunedAt = 0;

  /** `idleMs`: a session ends when it has not been used for this long. */
  constructor(state: StateStore, idleMs: number) {
    super();
    this.#state = state;
    this.#idleMs = idleMs;
  }

  override get(sessionId: string, callback: Callback<SessionData | null>): void {
    answer(this.#load(sessionId), callback);
  }

  override createSession(...[req, data]: Parameters<Store['createSession']>): Session & SessionData {
    const session = super.createSession(req, data);
    this.#loaded.add(session);
    return session;
  }

  override set(sessionId: string, session: SessionData, callback?: Callback<void>): void {
    answer(this.#save(sessionId, session), callback);
    this.#pruneNowAndThen();
  }

  override touch(sessionId: string, session: SessionData, callback?: Callback<void>): void {
    answer(this.#touch(sessionId, session), callback);
  }

  override destroy(sessionId: string, callback?: Callback<void>): void {
    answer(this.#state.remove(sessionsTable, [hashed(sessionId)], ANY), callback);
  }

  async #load(sessionId: string): Promise<SessionData | null> {
    const [row] = await this.#state.load(sessionsTable, [hashed(sessionId)]);
    if (row === undefined || isBefore(row.revision, this.#idleMs)) return null;
    return opened(sessionId, row.body);
  }

  /** Another request may have ended a session while it was in use here: then it stays ended. */
  async #save(sessionId: string, session: SessionData): Promise<void> {
    const row = this.#rowOf(sessionId, session);
    if (!this.#loaded.has(session)) {
      await this.#state.save(sessionsTable, [row]);
      return;
    }
    for (;;) {
      const [before] = await this.#state.load(sessionsTable, [row.id]);
      if (before === undefined) return;
      // Who saved it last may have a clock that is ahead.
      const revision = Math.max(row.revision, before.revision + 1);
      if (await this.#state.swap(sessionsTable, { ...row, revision }, before.revision)) return;
    }
  }

  async #touch(sessionId: string, session: SessionData): Promise<void> {
    const [row] = await this.#state.load(sessionsTable, [hashed(sessionId)]);
    if (row === undefined || !isBefore(row.revision, TOUCH_EVERY_MS)) return;
    // Where that fails, another request has just used or ended it.
    await this.#state.swap(sessionsTable, this.#rowOf(sessionId, session), row.revision);
  }

  #rowOf(sessionId: string, session: SessionData): StateRow<StoredSession> {
    const id = hashed(sessionId);
    const order = Number.parseInt(id.slice(0, 12), 16);
    return { id, partition: PARTITION, order, revision: this.#revision(), body: sealed(sessionId, session) };
  }

  /** Removes the sessions that have ended; any that cannot be removed now are removed the next time. */
  #pruneNowAndThen(): void {
    const now = Date.now();
    if (now - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = now;
    this.#state.prune(sessionsTable, (now - this.#idleMs) * 1000).catch(() => undefined);
  }

  /** Returns a place in the order of this store's writes: microseconds since 1970, each used once. */
  #revision(): number {
    this.#lastRevision = Math.max(this.#lastRevision + 1, Date.now() * 1000);
    return this.#lastRevision;
  }
}

function sealed(sessionId: string, { cookie, ...data }: SessionData): StoredSession {
  return { cookie, sealed: encrypt(keyOf(sessionId), hashed(sessionId), JSON.stringify(data)) };
}

function opened(sessionId: string, { cookie, sealed }: StoredSession): SessionData | null {
  if (sealed === undefined) return null;
  return { cookie, ...JSON.parse(decrypt(keyOf(sessionId), hashed(sessionId), sealed)) };
}

function keyOf(sessionId: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', sessionId, '', 'session', SEALING_KEY_BYTES));
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

const hashed = (sessionId: string) => createHash('sha256').update(sessionId).digest('hex');

const isBefore = (revision: number, ms: number) => revision / 1000 < Date.now() - ms;

/** All of the dashboard's pages, and no others of the service, are below it. */
const PATH = '/dashboard';
const KEY_BYTES = 32;

/**
 * Reads the cookies of each request. The key differs from that of sessions, so that no cookie passes for a session.
 */
export function cookies(sessionSecret: Buffer): RequestHandler {
  const key = Buffer.from(hkdfSync('sha256', sessionSecret, '', 'cookies', KEY_BYTES));
  return cookieParser(key.toString('base64'));
}

/** Returns the value of a cookie that this service signed; undefined where there is none. */
export function signedCookie(req: Request, name: string): string | undefined {
  const value: unknown = req.signedCookies[name];
  return typeof value === 'string' ? value : undefined;
}

/** Has the browser keep a signed cookie, only for the dashboard and inaccessible to scripts. */
export function setSignedCookie(req: Request, res: Response, name: string, value: string, ms: number): void {
  res.cookie(name, value, { ...attributesFor(req), signed: true, maxAge: ms });
}

export function clearCookie(req: Request, res: Response, name: string): void {
  res.clearCookie(name, attributesFor(req));
}

/** Returns what every cookie of the dashboard has; `Secure` where browsers reach the service over https. */
export function attributesFor(req: Request) {
  return { path: PATH, httpOnly: true, sameSite: 'lax', secure: req.secure } as const;
}

const COOKIE = 'chartledger_browser';
const COOKIE_MAX_AGE_MS = 180 * 24 * 3_600_000;
const ID_BYTES = 16;
/** Maximum number of users remembered per browser: those who signed in last. */
const MOST_USERS = 10;

/** Returns the ids of the request's browser, by the ids of the users who have signed in with it before. */
export function browsersOf(req: Request): Map<string, string> {
  const pairs = (signedCookie(req, COOKIE) ?? '').split(' ').filter(Boolean);
  return new Map(pairs.map((pair) => pair.split(':') as [string, string]));
}

/** Has the browser remember that a user has signed in with it. */
export function saveDevice(req: Request, res: Response, userId: string): void {
  const browsers = browsersOf(req);
  const id = browsers.get(userId) ?? randomBytes(ID_BYTES).toString('base64url');
  browsers.delete(userId);
  const pairs = [...browsers, [userId, id]].slice(-MOST_USERS).map((pair) => pair.join(':'));
  setSignedCookie(req, res, COOKIE, pairs.join(' '), COOKIE_MAX_AGE_MS);
}

/** Returns where a request came from, whoever sent it. */
export function originOf({ req, requestId, clientIp }: Visit): Origin {
  return { requestId, clientIp, ...clientMetadata(req) };
}

/** Whether a browser says that another site led to the request, and not this one or the user. Only over https do they say. */
export function isFromOtherSite(req: Request): boolean {
  return ['cross-site', 'same-site'].includes(req.get('Sec-Fetch-Site') ?? '');
}

/**
 * Returns the address of the page from which a request was sent, including `/dashboard`, as its browser tells it. A
 * page that was the response to a form has the form's address, at which there may be none: then it is the one on
 * which the form is otherwise.
 */
export function referrer(req: Request, { page }: DashboardRoute): string | undefined {
  const shown = URL.parse(req.get('HX-Current-URL') ?? req.get('Referer') ?? '');
  if (shown === null) return undefined;
  const isOwn = shown.pathname === req.originalUrl.split('?')[0];
  if (page === undefined || !isOwn) return shown.pathname + shown.search;
  return req.baseUrl + page.replace(/:(\w+)/g, (_, name) => encodeURIComponent(String(req.params[name])));
}

/**
 * Returns the address of the page that a request asks for, including `/dashboard`; of a part of a page, or of a form, that of the
 * page on which it is.
 */
export function shownPage(req: Request, route: DashboardRoute): string | undefined {
  const isPage = route.isOnEveryPage || (route.method === 'get' && !req.get('HX-Request'));
  return isPage ? req.originalUrl : referrer(req, route);
}

/**
 * Returns where a form leads, below `/dashboard`: to the page that it names, otherwise to `start`. An address on another site is not accepted.
 */
export function pathAfter(next: unknown, start = '/'): string {
  const base = 'http://dashboard.invalid';
  const target = typeof next === 'string' && URL.canParse(next, base) ? new URL(next, base) : undefined;
  if (target?.origin !== base) return start;
  const [, path] = /^\/dashboard(\/.*)$/.exec(target.pathname) ?? [];
  return path === undefined ? start : path + target.search;
}

type Form = Visit['form'];

/** A form that was sent after its session had ended: only for the user who last signed in with that browser. */
interface RestoredForm {
  userId: string;
  /** Of the page with the form, including `/dashboard`. */
  path: string;
  /** Undefined: too long to be kept. */
  fields: Form | undefined;
}

declare module 'express-session' {
  interface SessionData {
    typedForm?: RestoredForm | undefined;
  }
}

/** How much a visitor without a session may leave, in characters of JSON. */
const MOST_KEPT = 8_000;

/** What proves somebody's identity, or admits somebody: never kept. */
const secrets = [
  'csrf_token',
  'password',
  'again',
  'present',
  'confirm_password',
  'code',
  'confirm_code',
  'token',
];

/**
 * Keeps what was typed into a form until its user has signed in again. Only a browser with the signed cookie of a
 * sign-in can leave anything (docs/decisions/061).
 */
export function saveForm(req: Request, path: string): void {
  const userId = [...browsersOf(req).keys()].at(-1);
  if (userId === undefined || !req.session) return;
  const fields = Object.fromEntries(
    Object.entries(req.body ?? {}).filter(([name]) => !secrets.includes(name)),
  );
  const isShort = JSON.stringify(fields).length <= MOST_KEPT;
  req.session.typedForm = { userId, path, fields: isShort ? (fields as Form) : undefined };
}

/** Returns the same in the session that begins with a sign-in; what somebody else typed is forgotten. */
function restoredFormOf({ session }: Request, { id }: User): RestoredForm | undefined {
  return session.typedForm?.userId === id ? session.typedForm : undefined;
}

/**
 * Returns what its user typed into a form of the requested page, once, with a notice; undefined where there is
 * nothing.
 */
export function popRestoredForm({ req, notice }: Visit): Form | undefined {
  // Parts of a page leave the session alone.
  const typedForm = (req.session as Request['session'] | undefined)?.typedForm;
  if (typedForm === undefined || req.method !== 'GET') return undefined;
  if (pathnameOf(typedForm.path) !== pathnameOf(req.originalUrl)) return undefined;
  req.session.typedForm = undefined;
  notice(
    typedForm.fields === undefined
      ? 'Your session had ended, so nothing was changed. Your entries were too long to keep.'
      : 'Your session had ended, so nothing was changed. Your entries are back in the form, except for passwords and codes. Check them and send the form again.',
  );
  return typedForm.fields;
}

function pathnameOf(path: string): string {
  return path.split('?')[0] as string;
}

/** A session ends when it has not been used for this long. */
const IDLE_MS = 15 * 60_000;
/** It ends after this time, however much it is used. */
const LONGEST_MS = 12 * 3_600_000;
/** Within this time users, roles and keys can be changed without another proof. */
const FRESH_MS = 10 * 60_000;
const SECOND_STEP_MS = 10 * 60_000;

/** What a session keeps of its user: where it changes, the session ends. */
type SessionUser = Pick<User, 'passwordSetAt' | 'disabledAt'> & { userId: string };

declare module 'express-session' {
  interface SessionData extends Partial<SessionUser> {
    /** Milliseconds since 1970. */
    signedInAt?: number;
    /** When the user last proved their identity; milliseconds since 1970. */
    provedAt?: number;
    /** A sign-in with the right password that awaits its code. */
    secondStep?: SessionUser & { begunAt: number; next: string };
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
  Object.assign(req.session, { ...sessionUser(user), signedInAt: Date.now(), provedAt });
}

/** Continues the session of a user whose password has just changed, under a new id; those elsewhere end. */
export async function continueSession(req: Request, user: User): Promise<void> {
  const { signedInAt, provedAt } = req.session;
  await regenerate(req, user);
  Object.assign(req.session, { ...sessionUser(user), signedInAt, provedAt });
}

/** Begins the wait for the code of a user whose password was right; `next` is where the sign-in leads to. */
export async function beginSecondStep(req: Request, user: User, next: string): Promise<void> {
  await regenerate(req, user);
  req.session.secondStep = { ...sessionUser(user), begunAt: Date.now(), next };
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

function sessionUser({ id: userId, passwordSetAt, disabledAt }: User): SessionUser {
  return { userId, passwordSetAt, disabledAt };
}

/** Returns the user, if active, with the same password as then, and not disabled in between. */
function unchangedUser(kept: Partial<SessionUser>, users: UserDirectory): User | undefined {
  const user = kept.userId === undefined ? undefined : users.find(kept.userId);
  const isUnchanged = user?.passwordSetAt === kept.passwordSetAt && user?.disabledAt === kept.disabledAt;
  return user?.state === 'active' && isUnchanged ? user : undefined;
}

/** Begins a new session under a new id, in place of the previous one, of which it keeps what the user typed. */
async function regenerate(req: Request, user: User): Promise<void> {
  const typedForm = restoredFormOf(req, user);
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
export function detachSession(req: Request): void {
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

declare module 'express-session' {
  interface SessionData {
    /** Why the user reads, by workspace. */
    reasons?: Record<string, string>;
  }
}

/** Returns why the user reads in the workspace of the path, as stated in the session. */
export function statedReason({ session, params }: Request): string | undefined {
  const { reasons = {} } = (session as Request['session'] | undefined) ?? {};
  const workspace = String(params.workspace);
  // A workspace may be called what every object has, such as `constructor`.
  return Object.hasOwn(reasons, workspace) ? reasons[workspace] : undefined;
}

/** Notes for the rest of the session why the user reads in the workspace of the path: the audit trail has it with each read. */
export function stateReason(visit: Visit, reason: string): void {
  const { session } = visit.req;
  session.reasons = { ...session.reasons, [visit.workspace]: reason };
  visit.reason = reason;
}

/**
 * Returns what identifies a session where its id must not be seen; undefined where nothing is kept for the request's
 * visitor.
 */
export function sessionIdOf({ session, sessionID }: Request): string | undefined {
  if (session?.userId === undefined && session?.secondStep === undefined) return undefined;
  return createHash('sha256').update(sessionID).digest('hex');
}

declare module 'express-session' {
  interface SessionData {
    /** What the page with that path shows once. */
    shownOnce?: { path: string; secret: object } | undefined;
  }
}

/**
 * Leads to a page, `path` below `/dashboard`, that shows a secret once, so that reloading it does not create a second
 * one. Until then the session holds it.
 */
export function showOnce({ req }: Visit, path: string, secret: object): Reply {
  req.session.shownOnce = { path, secret };
  return { redirect: path };
}

/**
 * Returns what the page with that path is to show, in the shape passed to `showOnce`; undefined from the second time
 * on.
 */
export function popFlash<Secret extends object>({ req }: Visit, path: string): Secret | undefined {
  const { shownOnce } = req.session;
  if (shownOnce?.path !== path) return undefined;
  req.session.shownOnce = undefined;
  return shownOnce.secret as Secret;
}
