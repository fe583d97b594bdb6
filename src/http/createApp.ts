import express, { type Express, type Request } from 'express';
import proxyAddr from 'proxy-addr';
import type { DocumentPorts } from '../commands/uploadDocument.ts';
import { ServiceError } from '../errors.ts';
import type { QueryPorts } from '../queries/readRecord.ts';
import { catalog } from '../records/catalog.ts';
import { type Endpoint, type EndpointContext, endpoint } from './endpoint.ts';
import {
  downloadEndpoint,
  listDocumentsEndpoint,
  removeEndpoint,
  uploadEndpoint,
} from './routes/documents.ts';
import { healthEndpoint, readyEndpoint } from './routes/health.ts';
import { listEndpoint, readEndpoint, upsertEndpoint } from './routes/records.ts';

export type AppPorts = DocumentPorts & QueryPorts;

/** Every endpoint of the service, by method. */
function endpointsOf(ports: AppPorts): { get: Endpoint[]; post: Endpoint[]; delete: Endpoint[] } {
  return {
    post: [...catalog.map((entry) => upsertEndpoint(ports, entry)), uploadEndpoint(ports)],
    delete: [removeEndpoint(ports)],
    get: [
      ...catalog.flatMap((entry) => [listEndpoint(ports, entry), readEndpoint(ports, entry)]),
      listDocumentsEndpoint(ports),
      downloadEndpoint(ports),
      healthEndpoint,
      readyEndpoint(ports),
    ],
  };
}

/** The service's HTTP interface, as an Express app. */
export function createApp(ports: AppPorts, context: EndpointContext): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  const methods = endpointsOf(ports);
  const allowed = new Map<string, string[]>();
  for (const method of ['get', 'post', 'delete'] as const) {
    for (const one of methods[method]) {
      app[method](one.route, endpoint(context, one));
      allowed.set(one.route, [
        ...(allowed.get(one.route) ?? []),
        method === 'get' ? 'GET, HEAD' : method.toUpperCase(),
      ]);
    }
  }
  for (const [route, names] of allowed)
    app.all(route, endpoint(context, wrongMethod(route, names.join(', '))));
  app.use(endpoint(context, unknownPath));
  app.use(((error, req, res, _next) => {
    const failing: Endpoint = { route: 'unmatched', access: 'public', handle: () => Promise.reject(error) };
    return endpoint(context, failing)(req, res, _next);
  }) satisfies express.ErrorRequestHandler);
  return app;
}

function wrongMethod(route: string, allow: string): Endpoint {
  return {
    route,
    access: 'public',
    async handle({ res }) {
      res.setHeader('Allow', allow);
      throw new ServiceError('method_not_allowed', `This path takes ${allow}.`);
    },
  };
}

const unknownPath: Endpoint = {
  route: 'unmatched',
  access: 'public',
  async handle() {
    throw new ServiceError(
      'not_found',
      'There is nothing at this path. GET /openapi/json describes the interface.',
    );
  },
};

/** How to tell a client's IP address: `TRUST_PROXY` hops, or addresses and networks, are believed. */
export function clientIpReader(trustProxy: string): (req: Request) => string {
  const hops = /^\d+$/.test(trustProxy) ? Number(trustProxy) : undefined;
  const trust =
    hops === undefined
      ? proxyAddr.compile(trustProxy.split(',').map((part) => part.trim()))
      : (_address: string, hop: number) => hop < hops;
  return (req) => {
    const address = hops === 0 ? (req.socket.remoteAddress ?? '') : proxyAddr(req, trust);
    return address.startsWith('::ffff:') ? address.slice(7) : address;
  };
}
