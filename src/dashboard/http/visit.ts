import { setTimeout as sleep } from 'node:timers/promises';
import { doubleCsrf } from 'csrf-csrf';
import type { Request, Response } from 'express';
import { requireWithin } from '../../api/server/admission.ts';
import { statusOf } from '../../api/server/answer.ts';
import { clientMetadata } from '../../api/server/requestContext.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { Workspace } from '../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { admitUser, networkOf, proveAgain, type SignInPorts } from '../../modules/auth/signIn.ts';
import { type Role, roleIn, type User, type UserDirectory } from '../../modules/auth/users.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { RateLimiter, RateLimiters } from '../../storage/rateLimiters.ts';
import { codeField, formError, input } from '../components/forms.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  passwordOf,
  type Reply,
  scopeOf,
  textOf,
  type Visit,
  valuesOf,
} from '../components/page.ts';
import {
  attributesFor,
  beginSecondStep,
  beginSession,
  isProofFresh,
  originOf,
  referrer,
  renewProof,
  saveDevice,
  sessionIdOf,
  statedReason,
} from './session.ts';

/** The longest that a page waits: when the log is slow or cannot be reached, the last known state is used. */
const LONGEST_MS = 1_000;

interface Directories {
  directory: KeyDirectory;
  users: UserDirectory;
}

/**
 * Brings workspaces, keys and users up to date: a change just made through another thread or process is visible on
 * the next page. Never rejects.
 */
export async function catchUp({ directory, users }: Directories): Promise<void> {
  const over = new AbortController();
  const late = sleep(LONGEST_MS, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([Promise.allSettled([directory.refresh(), users.refresh()]), late]);
  over.abort();
}

const PASSWORD = 'confirm_password';
const CODE = 'confirm_code';

/**
 * Resolves with the page that asks users to prove their identity once more, where the last proof is more than ten
 * minutes old; its form repeats the one that was sent, with the proof. Undefined where the change may be made.
 */
export async function confirmIdentity(
  ports: SignInPorts,
  visit: Visit,
  route: DashboardRoute,
): Promise<Reply | undefined> {
  const { req, form, user } = visit;
  if (isProofFresh(req)) return undefined;
  const isTried = form[PASSWORD] !== undefined || form[CODE] !== undefined;
  if (!isTried) return confirmationPage(visit, route);
  const session = sessionIdOf(req) as string;
  const proof =
    user.totpSetAt === undefined
      ? { session, password: passwordOf(form, PASSWORD) }
      : { session, code: textOf(form, CODE) };
  if (!(await proveAgain(ports, user, proof, originOf(visit)))) {
    return confirmationPage(visit, route, 'That is not correct. Try again.');
  }
  renewProof(req);
  return undefined;
}

function confirmationPage(visit: Visit, route: DashboardRoute, error?: string): Reply {
  return {
    page: {
      title: `${error === undefined ? '' : 'Error: '}Confirm your identity`,
      status: 403,
      body: html`<h1>Confirm your identity</h1>
<p>To change users, keys, webhooks, sources, workspaces or holds, to erase records, to export a workspace or to open a record with a reason, you must have confirmed your identity within the last ten minutes. Nothing has been changed yet.</p>
${formError(error)}
${visit.user.origin === 'openid_connect' ? providerLink(visit, route) : proofForm(visit)}`,
    },
  };
}

function proofForm(visit: Visit): Html {
  const { req, user, csrf } = visit;
  return html`<form method="post" action="${req.originalUrl}">${csrf}
${repeatedFields(visit)}
${proofField(user)}
<div class="actions"><button type="submit">Confirm and continue</button>
<a role="button" class="outline secondary" href="/dashboard">Cancel</a></div>
</form>`;
}

/** Returns the fields of a form that was sent, hidden, so that it is sent once more with what was missing. */
export function repeatedFields({ form }: Visit, ...missing: string[]): Html[] {
  const sent = Object.keys(form).filter((name) => ![PASSWORD, CODE, FIELD, ...missing].includes(name));
  return sent.flatMap((name) =>
    valuesOf(form, name).map((value) => html`<input type="hidden" name="${name}" value="${value}">`),
  );
}

function proofField({ totpSetAt }: User): Html {
  if (totpSetAt !== undefined) {
    return codeField({ name: CODE, hint: 'The six-digit code from your authenticator app.' });
  }
  return input({
    name: PASSWORD,
    label: 'Your password',
    type: 'password',
    isRequired: true,
    autocomplete: 'current-password',
  });
}

/** The provider asks, and leads back to the page from which the form was sent: it has to be sent again. */
function providerLink({ req }: Visit, route: DashboardRoute): Html {
  const from = referrer(req, route) ?? '/dashboard';
  return html`<div class="actions">
<a role="button" href="/dashboard/sign-in/openid-connect?confirm=1&next=${encodeURIComponent(from)}">Confirm with the identity provider</a>
<a role="button" class="outline secondary" href="/dashboard">Cancel</a></div>`;
}

const COOKIE = 'chartledger_csrf';
const FIELD = 'csrf_token';

/**
 * Tokens are in a signed cookie, and bound to the session once there is one: forms before the sign-in need no
 * session.
 */
const { generateCsrfToken, validateRequest } = doubleCsrf({
  // Put there by cookie-parser, which runs before.
  getSecret: (req) => req?.secret as string,
  getSessionIdentifier: (req) => sessionIdOf(req) ?? '',
  cookieName: COOKIE,
  getCsrfTokenFromRequest: (req) => req.body?.[FIELD],
});

/** Returns the hidden field that shows that a form is one of ours. */
export function csrfField(req: Request, res: Response): Html {
  // cookie-parser parses what begins with `j:` as JSON; a token is text.
  if (typeof req.cookies[COOKIE] !== 'string') delete req.cookies[COOKIE];
  res.locals.csrfToken ??= generateCsrfToken(req, res, { cookieOptions: attributesFor(req) });
  return html`<input type="hidden" name="${FIELD}" value="${res.locals.csrfToken}">`;
}

/** Refuses a form that does not contain the token. */
export function requireCsrfToken(req: Request): void {
  if (validateRequest(req)) return;
  throw new ServiceError(
    'permission_denied',
    'This form has expired, or was not sent from the dashboard. Go back, reload the page and send it again.',
  );
}

interface Entry {
  /** Where it leads to, below `/dashboard`. */
  next: string;
  /** When the user last proved their identity, in milliseconds since 1970; default: now. */
  provedAt?: number | undefined;
}

/**
 * Admits a user whose password was right, or who needs none: at once, or by way of the code of an authenticator app.
 */
export async function signInSession(
  ports: SignInPorts,
  visit: Visit,
  user: User,
  entry: Entry,
): Promise<Reply> {
  if (user.totpSetAt === undefined) return completeSignIn(ports, visit, user, entry);
  await beginSecondStep(visit.req, user, entry.next);
  return { redirect: '/sign-in/code' };
}

/** Admits a user who has nothing more to prove. Rejects as `admit` does. */
export async function completeSignIn(
  ports: SignInPorts,
  visit: Visit,
  user: User,
  { next, provedAt = Date.now() }: Entry,
): Promise<Reply> {
  const { req, res } = visit;
  await admitUser(ports, user, originOf(visit));
  await beginSession(req, user, provedAt);
  saveDevice(req, res, user.id);
  return { redirect: next };
}

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

interface VisitFacts {
  requestId: string;
  clientIp: string;
  /** Undefined when nobody is signed in. */
  user: User | undefined;
  /** Whether the workspace of the path requires a reason for each read. */
  isReasonRequired: boolean;
}

/** Creates a request to the dashboard, as its pages see it. */
export function createVisit(req: Request, res: Response, facts: VisitFacts): Visit {
  const { requestId, clientIp, user, isReasonRequired } = facts;
  return {
    req,
    res,
    requestId,
    clientIp,
    reason: statedReason(req),
    get user() {
      if (user === undefined) throw new Error('nobody is signed in');
      return user;
    },
    get workspace() {
      const { workspace } = req.params;
      if (typeof workspace !== 'string') throw new Error('the path names no workspace');
      return workspace;
    },
    get actor() {
      return {
        principal: { type: 'user' as const, id: this.user.id },
        requestId,
        clientIp,
        ...clientMetadata(req),
      };
    },
    get role() {
      return user && roleIn(user, req.params.workspace as string | undefined);
    },
    may(roles, workspace = req.params.workspace as string | undefined) {
      const role = user && roleIn(user, workspace);
      return role !== undefined && roles.includes(role);
    },
    get caller() {
      const disclosedTo = this.reason === undefined ? undefined : { purpose_statement: this.reason };
      return { ...this.actor, requestId, workspace: this.workspace, disclosedTo, isReasonRequired };
    },
    form: req.body ?? {},
    get csrf() {
      return csrfField(req, res);
    },
    notice(text) {
      req.session.notices = [...(req.session.notices ?? []), text];
    },
  };
}

/** Returns the workspaces in which a user has a role; of deleted ones only the one whose page is open. */
export function workspacesOf(
  { known }: Pick<KeyDirectory, 'known'>,
  user: User,
  opened?: string,
): Workspace[] {
  return [...known.workspaces.values()].filter(
    ({ id, state }) => (state !== 'deleted' || id === opened) && roleIn(user, id) !== undefined,
  );
}

/**
 * Resolves if the user's role may open a page. Otherwise records that in the audit trail of the workspace in the path,
 * if `isThere`, or of the installation, and rejects: with `not_found` where the user has no role in that workspace, as
 * for one that does not exist, otherwise with `permission_denied`. Rejects with `unavailable` when it cannot be recorded.
 */
export async function requireRole(
  eventLog: EventLog,
  visit: Visit,
  route: DashboardRoute & { roles: readonly Role[] },
  isThere: boolean,
): Promise<void> {
  const { user, actor, requestId, req } = visit;
  const role = roleIn(user, scopeOf(route, req));
  if (role !== undefined && route.roles.includes(role)) return;
  const named = req.params.workspace as string | undefined;
  const isHidden = named !== undefined && roleIn(user, named) === undefined;
  const code: ErrorCode = isHidden ? 'not_found' : 'permission_denied';
  await recordAccess(
    eventLog,
    { ...actor, requestId, workspace: named !== undefined && isThere ? named : INSTALLATION },
    {
      action: 'request.refused',
      outcome: 'refused',
      code: 'permission_denied',
      method: req.method,
      route: `/dashboard${route.path}`,
      status: statusOf[code],
    },
  );
  throw new ServiceError(code, isHidden ? NO_WORKSPACE : permissionProblem(role));
}

export const NO_WORKSPACE = 'There is no such workspace.';

function permissionProblem(role: Role | undefined): string {
  if (role === undefined) return 'Only users with a role in all workspaces can view this page.';
  return `The role ${role} cannot view this page.`;
}
