import { Resolver } from 'node:dns/promises';
import { isLocalName } from './checkUrl.ts';

/** Resolves with all addresses of a name; rejects, or resolves with none, when none can be found. */
export type ResolveName = (hostname: string) => Promise<string[]>;

/** For each query to a name server: with two of them, everything takes 8 seconds at most. */
const TRY_MS = 2_000;
const TRIES = 2;

/**
 * Queries name servers: the given ones, or those of the machine. The machine's resolver (getaddrinfo) is not used: it
 * occupies one of the process's few threads for as long as a name server takes, so an endpoint with a slow one would
 * hold up everything else.
 */
export function createNameResolver(servers?: readonly string[]): ResolveName {
  // The time would otherwise double with every try.
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES, maxTimeout: TRY_MS });
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    if (isLocalName(hostname)) return ['127.0.0.1'];
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}
