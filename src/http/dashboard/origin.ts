import type { Request } from 'express';
import type { Origin } from '../../users/signIn.ts';
import { userAgentOf } from '../exchange.ts';
import type { Visit } from './route.ts';

/** From where a request came, whoever sent it. */
export function originOf({ req, requestId, clientIp }: Visit): Origin {
  const userAgent = userAgentOf(req);
  return { requestId, clientIp, ...(userAgent !== undefined && { userAgent }) };
}

/** The service's address as browsers see it: `PUBLIC_URL`, else the one that a request was sent to. */
export function addressOf(req: Request, publicUrl: string | undefined): string {
  return publicUrl ?? `${req.protocol}://${req.get('host')}`;
}
