import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
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
  clientIp(req: IncomingMessage): string;
}

export interface Endpoint {
  /** The route's template: the only form of a path that reaches a log. */
  route: string;
  /** `public`: no key needed; `key`: any key; else the permissions of which the key must have one. */
  access: 'public' | 'key' | Permission | readonly Permission[];
  handle(exchange: Exchange): Promise<Answer>;
}

export type EndpointListener = (req: Request, res: Response) => Promise<void>;

/** What answers an endpoint's requests: admits, handles, answers, logs. It never rejects. */
export function endpoint(context: EndpointContext, { route, access, handle }: Endpoint): EndpointListener {
  const permissions = access === 'public' || access === 'key' ? [] : [access].flat();
  return async (req, res) => {
    const startedAt = performance.now();
    const requestId = uuidv7();
    const exchange: Exchange = {
      req,
      res,
      requestId,
      headers: ['Request-Id', requestId, 'Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'],
      clientIp: context.clientIp(req),
      found: undefined,
    };
    let code: string | undefined;
    try {
      if (access !== 'public') await admit(context.gate, exchange, permissions);
      await sendAnswer(exchange, await handle(exchange));
    } catch (thrown) {
      const error = asServiceError(thrown);
      code = error.code;
      if (code === 'internal' || code === 'unavailable') {
        const fields = { requestId, route, code, error: describeError(error.cause) };
        if (code === 'internal') context.logger.error(fields, 'a request failed');
        else context.logger.warn(fields, 'a store is away');
      }
      if (res.headersSent) res.destroy();
      else await sendAnswer(exchange, errorAnswer(error, requestId));
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
