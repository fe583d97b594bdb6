import { csrfSync } from 'csrf-sync';
import type { Request, RequestHandler } from 'express';
import session from 'express-session';
import { ServiceError } from '../../errors.ts';
import type { StateStore } from '../../ports/stateStore.ts';
import type { UserDirectory } from '../../users/UserDirectory.ts';
import type { User } from '../../users/user.ts';
import { type Html, html } from './html.ts';
import { SessionStore } from './SessionStore.ts';

/** A session ends when it was not used for so long. */
const IDLE_MS = 15 * 60_000;
/** However much it is used, it ends then. */
const LONGEST_MS = 12 * 3_600_000;
const CSRF_FIELD = 'csrf_token';

declare module 'express-session' {
  interface SessionData {
    userId?: string;
    /** Milliseconds since 1970. */
    signedInAt?: number;
    /** The password's, at the sign-in: a new password ends the sessions of the one before. */
    passwordSetAt?: string | undefined;
    /** The workspace that was looked at last. */
    workspace?: string;
    /** Texts to be shown on the next page. */
    notices?: string[];
  }
}

/** The session of each request, in `req.session`. The cookie is for the dashboard alone and no script reads it. */
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

/** Begins a session of a user who has just proved who he is: under a new id, so that nobody knew it before. */
export function beginSession(req: Request, user: User): Promise<void> {
  return new Promise((resolve, reject) => {
    req.session.regenerate((error: unknown) => {
      if (error) {
        reject(error);
        return;
      }
      req.session.userId = user.id;
      req.session.signedInAt = Date.now();
      req.session.passwordSetAt = user.passwordSetAt;
      resolve();
    });
  });
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

/** The user who is signed in, as the log has him now; undefined when nobody is, or the session may no longer be used. */
export function signedInUser({ session }: Request, users: UserDirectory): User | undefined {
  const { userId, signedInAt = 0, passwordSetAt } = session;
  if (userId === undefined || Date.now() - signedInAt > LONGEST_MS) return undefined;
  const user = users.find(userId);
  return user?.state === 'active' && user.passwordSetAt === passwordSetAt ? user : undefined;
}

const { generateToken, isRequestValid } = csrfSync({
  getTokenFromRequest: (req) => req.body?.[CSRF_FIELD],
});

/** The hidden field that shows that a form is one of ours. */
export function csrfField(req: Request): Html {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${generateToken(req)}">`;
}

/** Refuses a form that does not hold the session's token. */
export function requireCsrfToken(req: Request): void {
  if (isRequestValid(req)) return;
  throw new ServiceError(
    'permission_denied',
    'This form is too old, or was not sent from the dashboard. Go back, load the page again and send it once more.',
  );
}
