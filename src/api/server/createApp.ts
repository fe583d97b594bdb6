import type { RequestListener } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import { ServiceError } from '../../platform/errors.ts';
import { bodyBudgets } from './BodyBudget.ts';
import { proxyTrust } from './clientIpReader.ts';
import { RequestLoad } from './RequestLoad.ts';
import { Shortcuts } from './Shortcuts.ts';
import { type EndpointContext, type Route, type ServedEndpoint, serveEndpoint } from './serveEndpoint.ts';

export interface AppContext extends Omit<EndpointContext, 'bodies' | 'load'> {
  /** `TRUST_PROXY`: whose word on `https:` is accepted; default: nobody's. */
  trustProxy?: string;
}

/** Creates an HTTP interface with these routes, and the dashboard: any other path is 404, any other method 405. */
export function createApp(
  routes: Route[],
  { trustProxy = '0', ...around }: AppContext,
  dashboard?: Express,
): RequestListener {
  const context = { ...around, bodies: bodyBudgets(), load: new RequestLoad() };
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('trust proxy', proxyTrust(trustProxy));
  const shortcuts = new Shortcuts();
  const allowed = new Map<string, { names: string[]; refuse: ServedEndpoint['refuse'] }>();
  for (const { method, endpoint: one } of routes) {
    const listener = serveEndpoint(context, one);
    app[method](one.route, listener);
    shortcuts.add(method, one.route, listener);
    const names = method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()];
    const before = allowed.get(one.route)?.names ?? [];
    allowed.set(one.route, { names: [...before, ...names], refuse: one.refuse });
  }
  for (const [route, { names, refuse }] of allowed) {
    app.all(
      route,
      serveEndpoint(context, { ...wrongMethod(route, names.join(', ')), ...(refuse && { refuse }) }),
    );
  }
  if (dashboard) {
    app.use('/dashboard', dashboard);
    app.get('/', welcomeBrowser);
  }
  app.use(serveEndpoint(context, unknownPath));
  app.use(((error, req, res, _next) => {
    const failing: ServedEndpoint = {
      ...unmatched,
      handle: () => Promise.reject(error),
    };
    return serveEndpoint(context, failing)(req, res);
  }) satisfies express.ErrorRequestHandler);

  return (req, res) => {
    const shortcut = shortcuts.find(req as Request);
    if (shortcut) shortcut(req as Request, res as Response);
    else app(req, res);
  };
}

/**
 * A person who types the service's address into a browser wants the dashboard; for programs there is nothing there.
 */
const welcomeBrowser: express.RequestHandler = (req, res, next) => {
  if (req.accepts(['json', 'html']) === 'html') res.vary('Accept').redirect('/dashboard');
  else next();
};

function wrongMethod(route: string, allow: string): ServedEndpoint {
  return {
    route,
    permission: 'public',
    query: 'ignored',
    async handle({ headers }) {
      headers.push('Allow', allow);
      throw new ServiceError('method_not_allowed', `This path supports only ${allow}.`);
    },
  };
}

const unmatched = { route: 'unmatched', permission: 'public', query: 'ignored' } as const;

const unknownPath: ServedEndpoint = {
  ...unmatched,
  async handle() {
    throw new ServiceError('not_found', 'This path does not exist. GET /openapi/json describes the API.');
  },
};
