import { Resolver } from 'node:dns/promises';
import { isLocalName } from '../settings/checkUrl.ts';

/** All addresses of a name; rejects, or gives none, when there is none to be had. */
export type ResolveName = (hostname: string) => Promise<string[]>;

/** Of each try to ask a name server: with two of them, all takes 8 seconds at most. */
const TRY_MS = 2_000;
const TRIES = 2;

/**
 * Asks name servers: these, or those of the machine. Not the machine's resolver (getaddrinfo): that keeps one of the few
 * threads of the process for as long as a name server takes, so an endpoint with a slow one would hold up everything
 * else.
 */
export function createNameResolver(servers?: readonly string[]): ResolveName {
  // The time would double with every try.
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES, maxTimeout: TRY_MS });
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    if (isLocalName(hostname)) return ['127.0.0.1'];
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}
