import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '../../platform/errors.ts';
import { measurements } from '../../platform/metrics/metrics.ts';
import { traced } from '../../platform/tracing.ts';
import type { ClientMetadata } from './requestContext.ts';

const methods: ReadonlySet<string | undefined> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'QUERY',
]);

/** Counts an answered request, and how long it took; `code` where it was refused or failed. */
export type MeasureRequest = (
  method: string | undefined,
  status: number,
  ms: number,
  code: ErrorCode | undefined,
) => void;

/** Returns the function that counts the requests of a route. */
export function requestMetrics(route: string): MeasureRequest {
  // Nearly all requests of a route have one method, and few statuses.
  const known = new Map<string, ReturnType<typeof duration>>();
  const duration = (method: string, status: number) =>
    measurements.histogram('http.server.request.duration', {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
    });
  return (sent, status, ms, code) => {
    const method = methods.has(sent) ? (sent as string) : '_OTHER';
    const key = `${method} ${status}`;
    let histogram = known.get(key);
    if (histogram === undefined) {
      histogram = duration(method, status);
      known.set(key, histogram);
    }
    histogram.observe(ms / 1_000);
    if (code !== undefined)
      measurements.counter('chartledger.request.refusals', { 'error.type': code }).add();
  };
}

/** The lowest status that is a failure of the service itself, by the convention for server spans. */
const FAILED = 500;

/**
 * Serves a request as a span, where an SDK collects spans. What results from the request is then part of that span,
 * if the span is being recorded or the client asked for it: `client` has the span in place of the client's.
 */
export async function tracedRequest(
  req: IncomingMessage,
  res: ServerResponse,
  route: string,
  client: ClientMetadata,
  serve: (client: ClientMetadata) => Promise<ErrorCode | undefined>,
): Promise<void> {
  const attributes = { 'http.request.method': req.method ?? '', 'http.route': route };
  const work = {
    name: `${req.method} ${route}`,
    kind: 'SERVER',
    parent: client.traceparent,
    attributes,
  } as const;
  await traced(work, async (span) => {
    const isPart = span?.isSampled || client.traceparent !== undefined;
    const code = await serve(span && isPart ? { ...client, traceparent: span.traceparent } : client);
    span?.set({ 'http.response.status_code': res.statusCode, ...(code && { 'error.type': code }) });
    if (res.statusCode >= FAILED) span?.fail();
  });
}
