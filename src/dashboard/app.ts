import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import helmet from 'helmet';
import type { AppPorts } from '../api/routes/index.ts';
import { inviteBody } from '../api/server/answer.ts';
import { overloaded } from '../api/server/loadShedder.ts';
import { proxyTrust } from '../api/server/requestContext.ts';
import { networkOf } from '../modules/auth/signIn.ts';
import type { ErasurePorts } from '../modules/erasure/finish.ts';
import type { EvidencePorts } from '../modules/integrity/jobs.ts';
import type { Analyses } from '../modules/readiness/jobs.ts';
import type { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import { ServiceError } from '../platform/errors.ts';
import { FairBudget } from '../platform/threads/fairBudget.ts';
import { assetRouter } from './components/layout.ts';
import type { DashboardRoute } from './components/page.ts';
import { createResponder, type ResponderPorts } from './http/respond.ts';
import { cookies, sessions } from './http/session.ts';
import type { RequestLimit } from './http/visit.ts';
import { accessReportRoutes } from './pages/accessReport.ts';
import {
  accountRoutes,
  secondStepRoutes,
  type TwoFactorPagePorts,
  twoFactorRoutes,
} from './pages/account.ts';
import { auditRoutes } from './pages/audit.ts';
import { changesRoutes } from './pages/changes/changes.ts';
import { undoRoutes } from './pages/changes/undo.ts';
import { disclosureFormRoutes } from './pages/disclosureForms.ts';
import { disclosureRoutes } from './pages/disclosures.ts';
import { docsRoutes } from './pages/docs.ts';
import { eventsRoutes } from './pages/events.ts';
import { holdChangeRoutes, holdsRoutes } from './pages/holds.ts';
import { evidenceRoutes } from './pages/integrity.ts';
import { keyChangeRoutes } from './pages/keyChanges.ts';
import { keysRoutes } from './pages/keys.ts';
import { messagePageRoutes } from './pages/message.ts';
import { messageChangeRoutes } from './pages/messageChanges.ts';
import { messagesRoutes } from './pages/messages.ts';
import { type NotificationPagePorts, notificationsRoutes } from './pages/notifications.ts';
import { allWorkspacesRoutes, homeRoutes, overviewRoutes } from './pages/overview.ts';
import { acknowledgeBillingRoutes } from './pages/readiness/acknowledge.ts';
import { answerRoutes } from './pages/readiness/answer.ts';
import { scorecardRoutes } from './pages/readiness/scorecard.ts';
import { simulationRoutes } from './pages/readiness/simulation.ts';
import { worklistRoutes } from './pages/readiness/worklist.ts';
import { reasonRoutes } from './pages/reason.ts';
import { breakGlassRoutes } from './pages/records/breakGlass.ts';
import { recordCertificateRoutes } from './pages/records/certificate.ts';
import { recordCompareRoutes, recordPrintRoutes } from './pages/records/compare.ts';
import { recordCopyRoutes } from './pages/records/copy.ts';
import { recordDocumentsRoutes } from './pages/records/documents.ts';
import { recordEraseRoutes } from './pages/records/erase.ts';
import { recordFieldRoutes } from './pages/records/fieldHistory.ts';
import { recordsRoutes } from './pages/records/list.ts';
import { recordProofRoutes } from './pages/records/proof.ts';
import { recordStateRoutes } from './pages/records/record.ts';
import { recordTimelineRoutes } from './pages/records/timeline.ts';
import { referenceRoutes } from './pages/reference/reference.ts';
import { requestPageRoutes } from './pages/request.ts';
import { requestsRoutes } from './pages/requests.ts';
import { returnedRoutes } from './pages/returned.ts';
import { searchRoutes } from './pages/search.ts';
import {
  invitationRoutes,
  type OpenIdConnectPagePorts,
  openIdConnectRoutes,
  prolongRoutes,
  setupRoutes,
  signInRoutes,
} from './pages/signIn.ts';
import { sourceFormRoutes } from './pages/sourceForm.ts';
import { sourcesRoutes } from './pages/sources.ts';
import { systemRoutes } from './pages/system.ts';
import { userRoutes, usersRoutes } from './pages/users.ts';
import { webhookPageRoutes } from './pages/webhook.ts';
import { webhookChangeRoutes, webhookFormRoutes } from './pages/webhookForm.ts';
import { webhookSecretRoutes, webhooksRoutes } from './pages/webhooks.ts';
import { workspaceSettingsRoutes } from './pages/workspaceSettings.ts';
import { workspacesRoutes } from './pages/workspaces.ts';

export interface DashboardPorts
  extends AppPorts,
    ErasurePorts,
    OpenIdConnectPagePorts,
    TwoFactorPagePorts,
    NotificationPagePorts {
  webhookDirectory: WebhookDirectory;
  /** `RETENTION_YEARS`; undefined: everything is kept. */
  retentionYears: number | undefined;
  /** Whether the description of the interface is served without a key. */
  openapiPublic: boolean;
  requestLimit: RequestLimit;
  evidence: EvidencePorts;
  analyses: Analyses;
}

/** Every page of the dashboard: a file for each, with its forms, and a line here. */
export function dashboardRoutes(ports: DashboardPorts): DashboardRoute[] {
  return [
    ...signInRoutes(ports),
    ...openIdConnectRoutes(ports),
    ...secondStepRoutes(ports),
    ...setupRoutes(ports),
    ...invitationRoutes(ports),
    ...accountRoutes(ports),
    ...prolongRoutes(),
    ...twoFactorRoutes(ports),
    ...usersRoutes(ports),
    ...userRoutes(ports),
    ...homeRoutes(ports),
    ...overviewRoutes(ports),
    ...allWorkspacesRoutes(ports),
    ...systemRoutes(ports),
    ...referenceRoutes(ports),
    ...docsRoutes(),
    ...searchRoutes(ports),
    ...recordsRoutes(ports),
    ...worklistRoutes(ports),
    ...answerRoutes(ports),
    ...acknowledgeBillingRoutes(ports),
    ...simulationRoutes(ports),
    ...scorecardRoutes(ports),
    ...recordDocumentsRoutes(ports),
    ...recordCompareRoutes(ports),
    ...recordCopyRoutes(ports),
    ...recordFieldRoutes(ports),
    ...recordTimelineRoutes(ports),
    ...recordPrintRoutes(ports),
    ...recordEraseRoutes(ports),
    ...disclosureRoutes(ports),
    ...disclosureFormRoutes(ports),
    ...recordCertificateRoutes(ports),
    ...recordProofRoutes(ports),
    ...breakGlassRoutes(ports),
    ...reasonRoutes(),
    ...recordStateRoutes(ports),
    ...changesRoutes(ports),
    ...undoRoutes(ports),
    ...holdsRoutes(ports),
    ...holdChangeRoutes(ports),
    ...returnedRoutes(ports),
    ...eventsRoutes(ports),
    ...notificationsRoutes(ports),
    ...messagesRoutes(ports),
    ...messagePageRoutes(ports),
    ...messageChangeRoutes(ports),
    ...requestsRoutes(ports),
    ...requestPageRoutes(ports),
    ...auditRoutes(ports),
    ...accessReportRoutes(ports),
    ...evidenceRoutes(ports),
    ...workspacesRoutes(ports),
    ...workspaceSettingsRoutes(ports),
    ...keysRoutes(ports),
    ...keyChangeRoutes(ports),
    ...sourcesRoutes(ports),
    ...sourceFormRoutes(ports),
    ...webhooksRoutes(ports),
    ...webhookFormRoutes(ports),
    ...webhookChangeRoutes(ports),
    ...webhookPageRoutes(ports),
    ...webhookSecretRoutes(ports),
  ];
}

const FORM_BYTES = 100 * 1024;
/** Of a form with a file: a table of the Census with 33,800 rows. */
const LARGE_FORM_BYTES = 40 * FORM_BYTES;
const MOST_FIELDS = 1_000;
/**
 * Maximum number of forms under way at once, and the part of what is left that one client may have: 40 of them, alone. Anybody may
 * send forms, with or without a key.
 */
const MOST_FORMS = 320;
const NETWORK_DIVISOR = 7;

export interface DashboardContext extends Pick<ResponderPorts, 'logger' | 'clientIp'> {
  ports: DashboardPorts;
  /** Signs the cookies. */
  sessionSecret: Buffer;
  /** `TRUST_PROXY`: whose word on `https:` is accepted. */
  trustProxy: string;
  /** Aborts when the service shuts down: from then on a response is the last one on its connection. */
  draining: AbortSignal;
}

/** Creates the dashboard, to be mounted at `/dashboard`: pages rendered here, for people who sign in. */
export function dashboardApp(context: DashboardContext): Express {
  const { ports, logger, clientIp, sessionSecret, trustProxy, draining } = context;
  const app = express();
  app.disable('x-powered-by');
  app.set('trust proxy', proxyTrust(trustProxy));
  // Browsers then use https, even if no proxy is trusted to say so: every cookie is `Secure`.
  if (ports.publicUrl?.startsWith('https:')) Object.defineProperty(app.request, 'secure', { value: true });
  app.use(lastAnswers(draining));
  app.use(securityHeaders());
  app.use(assetRouter());
  app.use(noStore);
  app.use(cookies(sessionSecret));
  const routes = dashboardRoutes(ports);
  const large = routes.filter(({ isLarge }) => isLarge).map(({ path }) => path);
  app.post(large, allowLargeForm);
  app.use(boundForms(clientIp));
  app.use(readForms());
  // Read once a form has arrived: its session may have ended meanwhile.
  app.use(sessions(ports.stateStore, sessionSecret));
  const responder = createResponder({ ...ports, logger, clientIp });
  for (const route of routes) app[route.method](route.path, responder.respond(route));
  app.use(responder.fail(() => new ServiceError('not_found', 'There is no such page.')));
  app.use(((error, req, res, next) =>
    responder.fail(() => error)(req, res, next)) satisfies ErrorRequestHandler);
  return app;
}

/** Nothing is loaded from elsewhere, no script or style is inlined in a page, no other site frames it. */
function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
        frameSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    referrerPolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' },
  });
}

function lastAnswers(draining: AbortSignal): RequestHandler {
  return (_req, res, next) => {
    if (draining.aborted) res.shouldKeepAlive = false;
    next();
  };
}

const allowLargeForm: RequestHandler = (_req, res, next) => {
  res.locals.formBytes = LARGE_FORM_BYTES;
  next();
};

/** Returns how large a form may be that gets this response. */
function mostBytes({ locals }: Response): number {
  return locals.formBytes ?? FORM_BYTES;
}

/** Returns how many usual forms a form counts as: by its size, and where it does not give that, by the largest that it may have. */
function formsIn(req: Request, res: Response): number {
  const most = mostBytes(res);
  const bytes = Math.min(Number(req.get('Content-Length') ?? most), most);
  return Math.max(1, Math.ceil(bytes / FORM_BYTES));
}

/** Reads forms; refuses those that are too large, and those that cannot be read. */
function readForms(): RequestHandler {
  // No browser compresses a form, and one that is larger than it says would hold more than is counted.
  const parserOf = (limit: number) =>
    express.urlencoded({ extended: false, inflate: false, limit, parameterLimit: MOST_FIELDS });
  const parsers = new Map([FORM_BYTES, LARGE_FORM_BYTES].map((bytes) => [bytes, parserOf(bytes)]));
  return (req, res, next) => {
    const bytes = mostBytes(res);
    parsers.get(bytes)?.(req, res, (error) => next(error && refusalOf(error, bytes)));
  };
}

function refusalOf(error: { status?: number }, bytes: number): unknown {
  const { status = 500 } = error;
  if (status === 413) {
    const message = `The form is larger than ${bytes / 1024} KB, or has more than ${MOST_FIELDS.toLocaleString('en-US')} fields.`;
    return new ServiceError('payload_too_large', message);
  }
  if (status >= 400 && status < 500)
    return new ServiceError(
      'malformed_body',
      'The form is not valid: it must be URL-encoded UTF-8, and not compressed.',
    );
  return error;
}

/** Bounds the memory that half-sent forms hold, and requests those that wait to be asked for. */
function boundForms(clientIp: DashboardContext['clientIp']): RequestHandler {
  const budget = new FairBudget(MOST_FORMS, [NETWORK_DIVISOR]);
  return (req, res, next) => {
    if (req.complete || req.method !== 'POST') {
      next();
      return;
    }
    const form = budget.share([networkOf(clientIp(req))]);
    if (!form.reserve(formsIn(req, res))) throw overloaded();
    const give = () => form.release();
    req.once('end', give);
    res.once('close', give);
    inviteBody(req, res);
    next();
  };
}

const noStore: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};
