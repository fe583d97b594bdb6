import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import { overloaded } from '../api/server/BodyBudget.ts';
import { proxyTrust } from '../api/server/clientIpReader.ts';
import { inviteBody } from '../api/server/requestBody.ts';
import { networkOf } from '../modules/auth/networkOf.ts';
import { ServiceError } from '../platform/errors.ts';
import { FairBudget } from '../platform/threads/FairBudget.ts';
import { assetRouter } from './components/assets.ts';
import { cookies } from './http/cookies.ts';
import { createResponder, type ResponderPorts } from './http/respond.ts';
import { sessions } from './http/session.ts';
import { type DashboardPorts, dashboardRoutes } from './routes.ts';

const FORM_BYTES = 100 * 1024;
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
  app.set('trust proxy', proxyTrust(trustProxy));
  // Browsers then use https, even if no proxy is trusted to say so: every cookie is `Secure`.
  if (ports.publicUrl?.startsWith('https:')) Object.defineProperty(app.request, 'secure', { value: true });
  app.use(lastAnswers(draining));
  app.use(securityHeaders());
  app.use(assetRouter());
  app.use(noStore);
  app.use(cookies(sessionSecret));
  app.use(boundForms(clientIp));
  app.use(express.urlencoded({ extended: false, limit: FORM_BYTES }));
  // Read once a form has arrived: its session may have ended meanwhile.
  app.use(sessions(ports.stateStore, sessionSecret));
  const responder = createResponder({ ...ports, logger, clientIp });
  for (const route of dashboardRoutes(ports)) app[route.method](route.path, responder.respond(route));
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

/** Bounds the memory that half-sent forms hold, and requests those that wait to be asked for. */
function boundForms(clientIp: DashboardContext['clientIp']): RequestHandler {
  const budget = new FairBudget(MOST_FORMS, [NETWORK_DIVISOR]);
  return (req, res, next) => {
    if (req.complete || req.method !== 'POST') {
      next();
      return;
    }
    const form = budget.share([networkOf(clientIp(req))]);
    if (!form.take(1)) throw overloaded();
    const give = () => form.giveAll();
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
