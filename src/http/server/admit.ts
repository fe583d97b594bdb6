import type { IncomingMessage } from 'node:http';
import type { FoundKey, KeyDirectory } from '../../principals/keys/KeyDirectory.ts';
import { isExpired, type Permission } from '../../principals/keys/keyState.ts';
import type { Exchange } from './exchange.ts';
import {
  deactivatedKey,
  deactivatedWorkspace,
  expiredKey,
  lackingPermission,
  missingKey,
  unknownKey,
} from './keyRefusals.ts';
import type { RateLimit } from './rateLimit.ts';

/** The key that a request carries: `x-api-key`, else `Authorization: Bearer` (spec section 5). */
function credentialOf(req: IncomingMessage): string | undefined {
  const header = req.headers['x-api-key'];
  if (typeof header === 'string' && header !== '') return header;
  return /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1];
}

export interface Gate {
  directory: KeyDirectory;
  limit: RateLimit;
}

/**
 * Lets a request in, at once where nobody need be asked, in this order: it carries a key (else 401), the client's rate (429), the key is known (401) and
 * active (deleted or expired 401, deactivated 403), its workspace is active (403), it has one of the permissions, if any is needed (403).
 */
export function admit(
  gate: Gate,
  exchange: Exchange,
  permissions: readonly Permission[],
): void | Promise<void> {
  const credential = credentialOf(exchange.req);
  if (credential === undefined) {
    throw missingKey();
  }
  const counted = gate.limit(exchange);
  const found = counted ? undefined : gate.directory.findKnown(credential);
  if (found) return letIn(exchange, found, permissions);
  return (async () => {
    await counted;
    letIn(exchange, await gate.directory.find(credential), permissions);
  })();
}

/** Throws what a request is refused with whose key was looked for. */
function letIn(exchange: Exchange, found: FoundKey | undefined, permissions: readonly Permission[]): void {
  if (found === undefined) throw unknownKey();
  exchange.found = found;
  requireUsable(found, permissions);
}

/** Throws what a key is refused with: it is no longer active, or its workspace, or it has none of the permissions. */
export function requireUsable({ key, workspace }: FoundKey, permissions: readonly Permission[]): void {
  if (key.state === 'deleted') throw unknownKey();
  if (isExpired(key, Date.now())) throw expiredKey();
  if (key.state === 'deactivated') throw deactivatedKey();
  if (workspace.state === 'deactivated') {
    throw deactivatedWorkspace();
  }
  if (permissions.length > 0 && !permissions.some((permission) => key.permissions.includes(permission))) {
    throw lackingPermission(permissions);
  }
}
