import type { RequestListener } from 'node:http';
import express, { type Request, type Response } from 'express';
import { ServiceError } from '../../platform/errors.ts';
import { loadOnce } from '../../platform/retry.ts';
import {
  type EndpointContext,
  type EndpointListener,
  type Route,
  type ServedEndpoint,
  serveEndpoint,
} from './dispatch.ts';
import { notImplemented } from './httpServer.ts';
import { bodyBudgets, LoadShedder } from './loadShedder.ts';
import { proxyTrust } from './requestContext.ts';

const ID = '/:id';

/**
 * Upserts and reads of a single item are most of the traffic, and their paths are simple: they are found without the
 * router, which would cost as much as everything else done for them. Any other form of such a path reaches the same
 * listener through the router.
 */
class StaticRoutes {
  /** Posts, by path. */
  readonly #posts = new Map<string, EndpointListener>();
  /** Reads, by what precedes the id. */
  readonly #reads = new Map<string, EndpointListener>();

  /** Registers a route, if it is one of these. */
  add(method: Route['method'], route: string, listener: EndpointListener): void {
    const prefix = route.slice(0, -ID.length);
    if (method === 'post' && !route.includes(':')) this.#posts.set(route, listener);
    if (method === 'get' && route.endsWith(ID) && !prefix.includes(':')) this.#reads.set(prefix, listener);
  }

  /**
   * Returns what serves a request; the id of what is read, and the absence of a query, are then set where the router
   * sets them.
   */
  find(req: Request): EndpointListener | undefined {
    const { method, url } = req;
    if (method === 'POST') return this.#posts.get(url);
    if (method !== 'GET') return undefined;
    const slash = url.lastIndexOf('/');
    const listener = this.#reads.get(url.slice(0, slash));
    const id = listener && plainId(url.slice(slash + 1));
    if (id === undefined) return undefined;
    req.params = { id };
    req.query = {};
    return listener;
  }
}

/**
 * Returns the id at the end of a path; undefined where the router has to decide: no id, one that is not valid text,
 * or a query after it.
 */
function plainId(text: string): string | undefined {
  if (text === '' || text.includes('?')) return undefined;
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

interface AppContext extends Omit<EndpointContext, 'bodies' | 'load'> {
  /** `TRUST_PROXY`: whose word on `https:` is accepted; default: nobody's. */
  trustProxy?: string;
}

/**
 * Creates an HTTP interface with these routes, and the dashboard, which is loaded with its first request: any other path is 404, any
 * other method 405.
 */
export function createApp(
  routes: Route[],
  { trustProxy = '0', ...around }: AppContext,
  dashboard?: () => Promise<express.Express>,
): RequestListener {
  const context = { ...around, bodies: bodyBudgets(), load: new LoadShedder() };
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('trust proxy', proxyTrust(trustProxy));
  const shortcuts = new StaticRoutes();
  const allowed = new Map<string, { names: string[]; refuse: ServedEndpoint['refuse'] }>();
  for (const { method, endpoint: one } of routes) {
    const listener = serveEndpoint(context, one);
    app[method](one.route, listener);
    // What needs no key is rare, and may ask the router for more of the request.
    if (one.permission !== 'public') shortcuts.add(method, one.route, listener);
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
    app.use('/dashboard', loadedLater(dashboard));
    app.get('/', redirectBrowser);
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

/** Most processes and threads show no page, and start without the modules of the pages. */
function loadedLater(load: () => Promise<express.Express>): express.RequestHandler {
  const loaded = loadOnce(load);
  return (req, res, next) => {
    loaded()
      .then((app) => app(req, res, next))
      .catch(next);
  };
}

/**
 * A person who types the service's address into a browser wants the dashboard; for programs there is nothing there.
 */
const redirectBrowser: express.RequestHandler = (req, res, next) => {
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

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);

const unknownPath: ServedEndpoint = {
  ...unmatched,
  async handle({ req }) {
    if (!methods.has(req.method)) throw notImplemented();
    throw new ServiceError('not_found', 'This path does not exist. GET /openapi/json describes the API.');
  },
};
