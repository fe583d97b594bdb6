import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '../../platform/errors.ts';
import { traced } from '../../platform/traced.ts';
import type { ToldByClient } from './exchange.ts';

/** The lowest status that is a failure of the service itself, by the convention for server spans. */
const FAILED = 500;

/**
 * Serves a request as a span, where an SDK collects spans. What results from the request is then part of that span,
 * if the span is being recorded or the client asked for it: `told` has the span in place of the client's.
 */
export async function tracedRequest(
  req: IncomingMessage,
  res: ServerResponse,
  route: string,
  told: ToldByClient,
  serve: (told: ToldByClient) => Promise<ErrorCode | undefined>,
): Promise<void> {
  const attributes = { 'http.request.method': req.method ?? '', 'http.route': route };
  const work = {
    name: `${req.method} ${route}`,
    kind: 'SERVER',
    parent: told.traceparent,
    attributes,
  } as const;
  await traced(work, async (span) => {
    const isPart = span?.isSampled || told.traceparent !== undefined;
    const code = await serve(span && isPart ? { ...told, traceparent: span.traceparent } : told);
    span?.set({ 'http.response.status_code': res.statusCode, ...(code && { 'error.type': code }) });
    if (res.statusCode >= FAILED) span?.fail();
  });
}
