import { admit, type SignInPorts } from '../../modules/auth/signIn.ts';
import type { User } from '../../modules/auth/user.ts';
import type { Reply, Visit } from '../components/route.ts';
import { rememberBrowser } from './knownBrowser.ts';
import { originOf } from './origin.ts';
import { beginSecondStep, beginSession } from './session.ts';

interface Entry {
  /** Where it leads to, below `/dashboard`. */
  next: string;
  /** When the user last proved their identity, in milliseconds since 1970; default: now. */
  provedAt?: number | undefined;
}

/**
 * Admits a user whose password was right, or who needs none: at once, or by way of the code of an authenticator app.
 */
export async function enter(ports: SignInPorts, visit: Visit, user: User, entry: Entry): Promise<Reply> {
  if (user.totpSetAt === undefined) return enterWhole(ports, visit, user, entry);
  await beginSecondStep(visit.req, user, entry.next);
  return { redirect: '/sign-in/code' };
}

/** Admits a user who has nothing more to prove. Rejects as `admit` does. */
export async function enterWhole(
  ports: SignInPorts,
  visit: Visit,
  user: User,
  { next, provedAt = Date.now() }: Entry,
): Promise<Reply> {
  const { req, res } = visit;
  await admit(ports, user, originOf(visit));
  await beginSession(req, user, provedAt);
  rememberBrowser(req, res, user.id);
  return { redirect: next };
}
