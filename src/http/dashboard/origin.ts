import type { Origin } from '../../users/signIn.ts';
import { userAgentOf } from '../exchange.ts';
import type { Visit } from './route.ts';

/** From where a request came, whoever sent it. */
export function originOf({ req, requestId, clientIp }: Visit): Origin {
  const userAgent = userAgentOf(req);
  return { requestId, clientIp, ...(userAgent !== undefined && { userAgent }) };
}
