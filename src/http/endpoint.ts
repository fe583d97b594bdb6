import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { describeError } from '../errors.ts';
import type { Permission } from '../keys/access.ts';
import { admit, type Gate } from './admit.ts';
import { type Answer, sendAnswer } from './answer.ts';
import { asServiceError, errorAnswer } from './errorResponse.ts';
import type { Exchange } from './exchange.ts';

/** What every endpoint shares. */
export interface EndpointContext {
  gate: Gate;
  logger: Logger;
  clientIp(req: Parameters<RequestHandler>[0]): string;
}

export interface Endpoint {
  /** The route's template: the only form of a path that reaches a log. */
  route: string;
  /** `public`: no key needed; `key`: any key; else the permission that the key must have. */
  access: 'public' | 'key' | Permission;
  handle(exchange: Exchange): Promise<Answer>;
}

/** An endpoint as an Express handler: admits, handles, answers, logs. It never passes an error on. */
export function endpoint(context: EndpointContext, { route, access, handle }: Endpoint): RequestHandler {
  const permission = access === 'public' || access === 'key' ? undefined : access;
  return async (req, res) => {
    const startedAt = performance.now();
    const exchange: Exchange = {
      req,
      res,
      requestId: uuidv7(),
      clientIp: context.clientIp(req),
      found: undefined,
    };
    let code: string | undefined;
    res.setHeader('Request-Id', exchange.requestId);
    res.setHeader('Cache-Control', 'no-store');
    res.setHeader('X-Content-Type-Options', 'nosniff');
    try {
      if (access !== 'public') await admit(context.gate, exchange, permission);
      await sendAnswer(req, res, await handle(exchange));
    } catch (thrown) {
      const error = asServiceError(thrown);
      code = error.code;
      if (code === 'internal' || code === 'unavailable') {
        const fields = { requestId: exchange.requestId, route, code, error: describeError(error.cause) };
        if (code === 'internal') context.logger.error(fields, 'a request failed');
        else context.logger.warn(fields, 'a store is away');
      }
      if (res.headersSent) res.destroy();
      else await sendAnswer(req, res, errorAnswer(error, exchange.requestId));
    }
    logRequest(context.logger, exchange, route, code, startedAt);
  };
}

function logRequest(
  logger: Logger,
  { req, res, requestId, found }: Exchange,
  route: string,
  code: string | undefined,
  startedAt: number,
): void {
  logger.info(
    {
      method: req.method,
      route,
      status: res.statusCode,
      code,
      ms: Math.round((performance.now() - startedAt) * 100) / 100,
      requestId,
      key: found?.key.id,
      workspace: found?.workspace.id,
    },
    'request',
  );
}
