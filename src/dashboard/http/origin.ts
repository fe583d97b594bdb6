import type { Request } from 'express';
import { toldByClient } from '../../api/server/exchange.ts';
import type { Origin } from '../../modules/auth/signIn.ts';
import type { Visit } from '../components/route.ts';

/** Returns where a request came from, whoever sent it. */
export function originOf({ req, requestId, clientIp }: Visit): Origin {
  return { requestId, clientIp, ...toldByClient(req) };
}

/** Whether a browser says that another site led to the request, and not this one or the user. Only over https do they say. */
export function isFromOtherSite(req: Request): boolean {
  return ['cross-site', 'same-site'].includes(req.get('Sec-Fetch-Site') ?? '');
}
