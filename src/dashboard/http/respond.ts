import { pipeline } from 'node:stream/promises';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { asServiceError, logFailure, statusOf } from '../../api/server/answer.ts';
import { type MeasureRequest, requestMetrics } from '../../api/server/instrumentation.ts';
import { requireKnownParameters } from '../../api/server/requestContext.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import type { SignInPorts } from '../../modules/auth/signIn.ts';
import { hasAnyRole, type Role, roleIn, type User } from '../../modules/auth/users.ts';
import type { EvidencePorts } from '../../modules/integrity/jobs.ts';
import type { SigningKey } from '../../modules/integrity/publicKeys.ts';
import { zipReport } from '../../modules/integrity/reportZip.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { withErrorSummary } from '../components/forms.ts';
import { layout, searchPath } from '../components/layout.ts';
import {
  type DashboardRoute,
  forReader,
  html,
  needsProof,
  type Page,
  type Reply,
  recordReaders,
  requestReaders,
  type Visit,
  viewerPreferences,
} from '../components/page.ts';
import { earlierParameter } from '../components/paging.ts';
import { requestsPath } from '../components/urls.ts';
import { breakGlassPage, isOpened, mayBreakGlass } from './breakGlass.ts';
import { rememberWorkspace } from './preferences.ts';
import { REASON_ROUTE, withReason } from './reason.ts';
import {
  currentUser,
  detachSession,
  isFromOtherSite,
  popRestoredForm,
  saveForm,
  sessionSeconds,
  shownPage,
  statedReason,
} from './session.ts';
import {
  catchUp,
  confirmIdentity,
  createVisit,
  csrfField,
  NO_WORKSPACE,
  type RequestLimit,
  requireCsrfToken,
  requireRole,
  workspacesOf,
} from './visit.ts';

export interface ResponderPorts extends SignInPorts, QueryPorts {
  evidence: Pick<EvidencePorts, 'signingKey'>;
  directory: KeyDirectory;
  stateStore: StateStore;
  requestLimit: RequestLimit;
  requireTotp: readonly Role[];
  logger: Logger;
  clientIp(req: Request): string;
}

interface Responder {
  /** Returns the handler of a route's requests. */
  respond(route: DashboardRoute): RequestHandler;
  /** Returns a handler that answers a request with an error page. */
  fail(error: () => unknown): RequestHandler;
}

/** When a page is to be asked for again whose list is behind. */
const RETRY_SECONDS = '2';

/** The route of what is at none. */
const UNMATCHED = 'unmatched';
const measureUnmatched = requestMetrics(UNMATCHED);

/** Creates what answers requests to the dashboard: identity, permission, the page, the log line. */
export function createResponder(ports: ResponderPorts): Responder {
  const answer =
    (route: DashboardRoute, measure: MeasureRequest): RequestHandler =>
    (req, res) =>
      forReader({ errors: { fields: [] } }, async () => {
        const startedAt = performance.now();
        const requestId = uuidv7();
        res.set('Request-Id', requestId);
        let user: User | undefined;
        let code: ErrorCode | undefined;
        const fail = (error: ServiceError) => {
          code = error.code;
          if (error.retryAfterSeconds !== undefined) res.set('Retry-After', String(error.retryAfterSeconds));
          logFailure(ports.logger, error, { requestId, route: route.path }, 'page');
        };
        try {
          if (!route.isBackground) await catchUp(ports);
          // When the store of sessions cannot be reached, a request has no session.
          user = req.session && (await currentUser(req, ports.users));
          await ports.requestLimit(req, user, ports.clientIp(req));
          const known = ports.directory.known.workspaces.get(String(req.params.workspace));
          const facts = { requestId, clientIp: ports.clientIp(req), user };
          const visit = createVisit(req, res, { ...facts, isReasonRequired: known?.reason === 'required' });
          if (route.isBackground) detachSession(req);
          const reply = await admitted(ports, route, visit, user);
          if ('page' in reply && reply.page.error) fail(reply.page.error);
          await send(ports, route, req, res, user, reply);
        } catch (thrown) {
          const error = asServiceError(thrown);
          fail(error);
          if (res.headersSent) res.destroy();
          else
            await send(ports, { ...route, page: UNMATCHED }, req, res, user, {
              page: errorPage(error, requestId, waysOn(ports, error, req, user)),
            });
        }
        const ms = performance.now() - startedAt;
        measure(req.method, res.statusCode, ms, code);
        logRequest(ports.logger, req, res, { requestId, ms, code, route: route.path, user });
      });
  return {
    respond: (route) => answer(route, requestMetrics(`/dashboard${route.path}`)),
    fail: (error) =>
      answer(
        { method: 'get', path: UNMATCHED, roles: 'public', handle: () => Promise.reject(error()) },
        measureUnmatched,
      ),
  };
}

async function admitted(
  ports: ResponderPorts,
  route: DashboardRoute,
  visit: Visit,
  user: User | undefined,
): Promise<Reply> {
  const { req } = visit;
  if (route.roles !== 'public' && user === undefined) return { redirect: signInPath(req, route) };
  if (route.roles !== 'public' && route.method === 'get' && isFromOtherSite(req)) {
    return { page: otherSitePage(req) };
  }
  const workspace = req.params.workspace as string | undefined;
  const isThere = workspace === undefined || ports.directory.known.workspaces.has(workspace);
  if (typeof route.roles !== 'string' && !(user && isOpened(ports.directory, visit, route))) {
    try {
      await requireRole(ports.eventLog, visit, { ...route, roles: route.roles }, isThere);
    } catch (error) {
      if (!mayBreakGlass(ports.directory, visit, route)) throw error;
      return { page: breakGlassPage(visit, asServiceError(error)) };
    }
  }
  if (!isThere) throw new ServiceError('not_found', NO_WORKSPACE);
  if (route.query) {
    const paged = route.query.includes('page_token') ? [earlierParameter] : [];
    const reported = route.report ? [SIGNED] : [];
    requireKnownParameters(req.query, [...route.query, ...paged, ...reported]);
  }
  const isSigned = route.report !== undefined && req.query[SIGNED] === 'yes';
  const key = isSigned ? await requireSigningKey(ports) : undefined;
  if (route.method === 'post') requireCsrfToken(req);
  if (user && needsTotp(user, ports.requireTotp) && route.roles !== 'public' && !route.isForSetup) {
    return { redirect: '/account/two-factor' };
  }
  const confirmation = needsProof(route) ? await confirmIdentity(ports, visit, route) : undefined;
  if (confirmation) return confirmation;
  const reply = await withReason(visit, route, () =>
    forReader(
      { ...viewerPreferences(), timeZone: user?.timeZone, typed: user && popRestoredForm(visit) },
      () => route.handle(visit),
    ),
  );
  if (key === undefined || route.report === undefined || !('download' in reply)) return reply;
  const { [SIGNED]: _, ...query } = req.query;
  const { workspace: _workspace, ...params } = req.params;
  const origin = { workspace: visit.workspace, report: route.report, query: { ...params, ...query } };
  const { name } = reply.download;
  const body = zipReport(ports, origin, reply.download, key);
  return { download: { type: 'application/zip', name: `${name}.zip`, body } };
}

/** The parameter that asks for a download with its signed manifest. */
const SIGNED = 'signed';

/** Rejects with `conflict` where this process has no key to sign with, before the download is in the audit trail. */
async function requireSigningKey({ evidence }: ResponderPorts): Promise<SigningKey> {
  const key = await evidence.signingKey();
  if (key) return key;
  throw new ServiceError(
    'conflict',
    'This process does not have the signing key. Download the file without a manifest, or run the command with --out where the key is.',
  );
}

/** Asks before a page is opened that a link on another site leads to: opening it shows PHI, and is recorded. */
function otherSitePage({ originalUrl }: Request): Page {
  return {
    title: 'Open this page?',
    status: 403,
    body: html`<h1>Open this page?</h1>
<p>A link on another site leads here. Pages can show patient data, and the audit trail records under your name that you opened them.</p>
<div class="actions"><a role="button" href="${originalUrl}">Open page</a>
<a role="button" class="outline secondary" href="/dashboard">Go to the dashboard</a></div>`,
  };
}

function needsTotp(user: User, requiring: readonly Role[]): boolean {
  return user.origin === 'password' && user.totpSetAt === undefined && hasAnyRole(user, requiring);
}

/**
 * Returns the sign-in page, which leads back to the requested page, or the page of a requested part, or the page from
 * which a form was sent, whose fields are kept.
 */
function signInPath(req: Request, route: DashboardRoute): string {
  const { path, method } = route;
  // Users who sign out want to stay signed out.
  if (path === '/sign-out') return '/sign-in';
  const next = shownPage(req, route);
  if (next && method === 'post') saveForm(req, next);
  return next ? `/sign-in?next=${encodeURIComponent(next)}` : '/sign-in';
}

async function send(
  ports: ResponderPorts,
  route: DashboardRoute,
  req: Request,
  res: Response,
  user: User | undefined,
  reply: Reply,
): Promise<void> {
  if ('redirect' in reply) {
    redirect(req, res, reply.redirect.startsWith('/') ? `/dashboard${reply.redirect}` : reply.redirect);
  } else if ('download' in reply) {
    const { type, name, body, isShown } = reply.download;
    res.attachment(name).type(type);
    if (isShown) showInFrame(res);
    await pipeline(body, res).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    });
  } else if ('fragment' in reply) {
    res.type('html').send(reply.fragment.toString());
  } else {
    await rememberViewed(ports, req, user);
    const { status = 200 } = reply.page;
    if (status === statusOf.unavailable && !res.hasHeader('Retry-After'))
      res.set('Retry-After', RETRY_SECONDS);
    res.status(status).type('html');
    res.send(document(ports, route, req, res, user, reply.page));
  }
}

/** Sets what the browser's viewer of such files needs, and that only pages of this dashboard may frame it. */
function showInFrame(res: Response): void {
  res.set('Content-Disposition', String(res.get('Content-Disposition')).replace(/^attachment/, 'inline'));
  const policy = "default-src 'none';object-src 'self';style-src 'unsafe-inline';frame-ancestors 'self'";
  res.set({ 'Content-Security-Policy': policy, 'X-Frame-Options': 'SAMEORIGIN' });
}

/**
 * An htmx request is told to load the whole page: a redirect would put that page into a part of this one. Without a
 * body, the response leaves once the session is stored; otherwise its head would, and the browser might be faster.
 */
function redirect(req: Request, res: Response, target: string): void {
  if (req.get('HX-Request')) res.set('HX-Redirect', target).status(200).end();
  else res.location(target).status(303).end();
}

/** Notes the workspace that a user begins to view, in the session and for later ones; that it cannot be noted for those changes nothing. */
async function rememberViewed(
  { directory, stateStore }: ResponderPorts,
  req: Request,
  user: User | undefined,
): Promise<void> {
  const asked = req.params.workspace as string | undefined;
  const session = req.session as Request['session'] | undefined;
  if (!user || !session || asked === undefined || session.workspace === asked) return;
  if (!workspacesOf(directory, user, asked).some(({ id }) => id === asked)) return;
  session.workspace = asked;
  await rememberWorkspace(stateStore, user.id, asked).catch(() => undefined);
}

function document(
  { directory }: ResponderPorts,
  route: DashboardRoute,
  req: Request,
  res: Response,
  user: User | undefined,
  page: Page,
): string {
  const asked = req.params.workspace as string | undefined;
  const workspaces = user ? workspacesOf(directory, user, asked) : [];
  const ids = workspaces.map(({ id }) => id);
  const session = req.session as Request['session'] | undefined;
  const workspace = [asked, session?.workspace, ids[0]].find((id) => id !== undefined && ids.includes(id));
  const notices = session?.notices ?? [];
  if (session && notices.length > 0) session.notices = [];
  const csrf = session && user ? csrfField(req, res) : html``;
  const isReasonPage = route.path === REASON_ROUTE;
  const reason = user && !isReasonPage ? statedReason(req) : undefined;
  const seconds = session && user && sessionSeconds(req);
  const isLeftFor = asked !== undefined && req.method === 'GET' && !isReasonPage;
  const address = isLeftFor ? req.originalUrl : undefined;
  const around = { user, workspace, workspaces, notices, csrf, reason, address, sessionSeconds: seconds };
  const shown = { ...page, body: withErrorSummary(page.body) };
  return layout(shown, { ...around, route: route.page ?? route.path }).toString();
}

/** Where somebody can go on from an error page: full addresses. */
interface WaysOn {
  /** Where a request refused because of the user's role can be looked up, by its id. */
  entries: string | undefined;
  /** Where what was not found can be searched for. */
  search: string | undefined;
}

function waysOn(
  { directory }: Pick<ResponderPorts, 'directory'>,
  { code }: ServiceError,
  req: Request,
  user: User | undefined,
): WaysOn {
  const workspace = req.params.workspace as string | undefined;
  const role = user && roleIn(user, workspace);
  const may = (roles: readonly Role[]) => role !== undefined && roles.includes(role);
  const known = workspace === undefined ? undefined : directory.known.workspaces.get(workspace)?.id;
  if (known === undefined) return { entries: undefined, search: undefined };
  const isRefused = code === 'permission_denied' && may(requestReaders);
  const isMissing = code === 'not_found' && may(recordReaders);
  return {
    entries: isRefused ? `/dashboard${requestsPath(known)}?request_id=` : undefined,
    search: isMissing ? `/dashboard${searchPath(known)}` : undefined,
  };
}

function errorPage(error: ServiceError, requestId: string, { entries, search }: WaysOn): Page {
  const id = html`<code>${requestId}</code>`;
  return {
    title: titles[error.code] ?? 'Request failed',
    status: statusOf[error.code],
    body: html`<h1>${titles[error.code] ?? 'Request failed'}</h1>
<p>${error.message}</p>
<p class="muted">Request ID: ${entries === undefined ? id : html`<a href="${entries}${requestId}">${id}</a>`}</p>
<div class="actions">${search !== undefined && html`<a role="button" href="${search}">Search the workspace</a>`}
<a role="button" class="outline secondary" href="/dashboard">Back to the dashboard</a></div>`,
  };
}

const titles: Partial<Record<ServiceError['code'], string>> = {
  not_found: 'Not found',
  gone: 'Erased',
  permission_denied: 'Not allowed',
  rate_limited: 'Too many requests',
  unavailable: 'Not available right now',
  internal: 'Something went wrong',
};

interface LoggedRequest {
  requestId: string;
  ms: number;
  code: string | undefined;
  route: string;
  user: User | undefined;
}

function logRequest(logger: Logger, req: Request, res: Response, logged: LoggedRequest): void {
  const { requestId, ms, code, route, user } = logged;
  logger.info(
    {
      method: req.method,
      route: `/dashboard${route}`,
      status: res.statusCode,
      code,
      ms: Math.round(ms * 100) / 100,
      requestId,
      user: user?.id,
    },
    'request',
  );
}
