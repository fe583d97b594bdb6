import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { type AccessSubject, recordAccess } from '../../modules/audit/recordAccess.ts';
import type { Permission } from '../../modules/auth/permissions.ts';
import { describeError, type ErrorCode, type ServiceError } from '../../platform/errors.ts';
import { isTracing } from '../../platform/tracing.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { authenticateAndLimit, type Gate, requireAdmitted } from './admission.ts';
import {
  type Answer,
  asServiceError,
  errorAnswer,
  fieldFaults,
  logFailure,
  sendAnswer,
  statusOf,
} from './answer.ts';
import { requestMetrics, tracedRequest } from './instrumentation.ts';
import type { Bodies, LoadShedder } from './loadShedder.ts';
import {
  type ClientMetadata,
  callerOf,
  clientMetadata,
  commonHeaders,
  type RequestContext,
  requireKnownParameters,
} from './requestContext.ts';

/**
 * Appends to the audit trail that a request with a known key was refused, why, and for which fields. Requests without
 * one, and those that failed for the service's own reasons, are skipped. Rejects with `unavailable`.
 */
export async function recordRefusal(
  eventLog: EventLog,
  { route, subject, fields: known }: ServedEndpoint,
  context: RequestContext,
  { code, details }: ServiceError,
): Promise<void> {
  const status = statusOf[code];
  if (context.found === undefined || status >= 500) return;
  const faults = fieldFaults(details, known);
  await recordAccess(eventLog, callerOf(context), {
    action: 'request.refused',
    outcome: 'refused',
    code,
    method: context.req.method,
    route,
    status,
    ...(faults.length > 0 && { fields: faults.map(({ field }) => field), faults }),
    ...subject?.(context),
  });
}

/** What all endpoints share. */
export interface EndpointContext {
  gate: Gate;
  /** Records the refusals of known keys. */
  eventLog: EventLog;
  logger: Logger;
  /** Aborts when the service shuts down: from then on a response is the last one on its connection. */
  draining: AbortSignal;
  clientIp(req: IncomingMessage): string;
  bodies: Bodies;
  load: LoadShedder;
}

/** An endpoint as the router serves it. */
export interface ServedEndpoint {
  /** The route's template: the only form of a path that reaches a log. */
  route: string;
  /** `public`: no key needed; `key`: any key; otherwise the permissions one of which the key must have. */
  permission: 'public' | 'key' | Permission | readonly Permission[];
  /** Whether it accepts access tokens in place of a key. */
  takesTokens?: true;
  /** Schema of its query; `ignored`: anything goes. Without one it accepts none. Any other parameter is refused. */
  query?: z.ZodObject | 'ignored';
  /** The names of the fields, parameters and headers that it accepts: no other such name reaches the audit trail. */
  fields?: ReadonlySet<string>;
  /** Returns what a refused request is about, for the audit trail; it may not have been read yet. */
  subject?(context: RequestContext): AccessSubject;
  handle(context: RequestContext): Promise<Answer>;
  /** Returns the response to a failed request, where it has a form of its own. */
  refuse?(error: ServiceError, requestId: string): Answer;
}

/** An endpoint, and the method by which the router finds it along with its route. */
export interface Route {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  endpoint: ServedEndpoint;
}

const withoutBody: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);

export type EndpointListener = (req: Request, res: Response) => Promise<void>;

/** Returns the listener for an endpoint's requests: it admits, handles, answers and logs. It never rejects. */
export function serveEndpoint(app: EndpointContext, served: ServedEndpoint): EndpointListener {
  const { route, permission, query, handle, refuse = errorAnswer, takesTokens } = served;
  const parameters = query === 'ignored' ? undefined : Object.keys(query?.shape ?? {});
  const permissions = permission === 'public' || permission === 'key' ? [] : [permission].flat();
  const measure = requestMetrics(route);
  const serve = async (
    req: Request,
    res: Response,
    client: ClientMetadata,
  ): Promise<ErrorCode | undefined> => {
    const startedAt = performance.now();
    const requestId = uuidv7();
    const context: RequestContext = {
      req,
      res,
      requestId,
      headers: commonHeaders(requestId),
      clientIp: app.clientIp(req),
      client,
      bodies: app.bodies,
      load: app.load,
      held: [],
      found: undefined,
      requireAdmitted: () => requireAdmitted(app.gate, context, permissions),
      input: undefined,
    };
    const send = (answer: Answer) => {
      if (app.draining.aborted) res.shouldKeepAlive = false;
      return sendAnswer(context, answer);
    };
    let code: ErrorCode | undefined;
    try {
      // Nearly every request is admitted, and answered, synchronously: it waits only for its handler.
      const admitted =
        permission === 'public'
          ? undefined
          : authenticateAndLimit(app.gate, context, permissions, takesTokens);
      if (admitted) await admitted;
      if (parameters && req.url.includes('?')) requireKnownParameters(req.query, parameters);
      // A request with a body is counted once the body has arrived.
      if (permission !== 'public' && withoutBody.has(req.method)) app.load.enter(context);
      const answer = await handle(context);
      // What is streamed may take as long as its reader likes.
      app.load.leave(context);
      const sending = send(answer);
      if (sending) await sending;
    } catch (thrown) {
      const error = asServiceError(thrown);
      code = error.code;
      logFailure(app.logger, error, { requestId, route }, 'request');
      await auditRefusal(app, served, context, error);
      app.load.leave(context);
      if (res.headersSent) res.destroy();
      else await send(refuse(error, requestId));
    }
    const ms = performance.now() - startedAt;
    measure(req.method, res.statusCode, ms, code);
    logRequest(app.logger, context, route, code, ms);
    return code;
  };
  return async (req, res) => {
    const client = clientMetadata(req);
    if (isTracing()) await tracedRequest(req, res, route, client, (within) => serve(req, res, within));
    else await serve(req, res, client);
  };
}

/** A refusal that the log does not accept is answered anyway: nothing left the service. */
async function auditRefusal(
  { eventLog, logger }: EndpointContext,
  served: ServedEndpoint,
  context: RequestContext,
  refusal: ServiceError,
): Promise<void> {
  try {
    await recordRefusal(eventLog, served, context, refusal);
  } catch (error) {
    const { requestId, found } = context;
    const fields = { requestId, route: served.route, key: found?.key.id, error: describeError(error) };
    logger.warn(fields, 'a refused request could not be recorded in the audit trail');
  }
}

/** What balancers and orchestrators ask every few seconds. */
const probes = new Set(['/healthz', '/readyz']);

function logRequest(
  logger: Logger,
  { req, res, requestId, client, found }: RequestContext,
  route: string,
  code: ErrorCode | undefined,
  ms: number,
): void {
  logger[probes.has(route) ? 'debug' : 'info'](
    {
      method: req.method,
      route,
      status: res.statusCode,
      code,
      ms: Math.round(ms * 100) / 100,
      requestId,
      clientRequestId: client.clientRequestId,
      traceparent: client.traceparent,
      key: found?.key.id,
      workspace: found?.workspace.id,
    },
    'request',
  );
}
