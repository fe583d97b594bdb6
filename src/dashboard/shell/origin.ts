import { toldByClient } from '../../http/server/exchange.ts';
import type { Origin } from '../../principals/users/signIn.ts';
import type { Visit } from './route.ts';

/** Returns where a request came from, whoever sent it. */
export function originOf({ req, requestId, clientIp }: Visit): Origin {
  return { requestId, clientIp, ...toldByClient(req) };
}
