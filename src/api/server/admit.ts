import type { IncomingMessage } from 'node:http';
import type { UnknownKeyTally } from '../../modules/audit/UnknownKeyTally.ts';
import type { FoundKey, KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { type ApiKey, isExpired } from '../../modules/auth/keyState.ts';
import { networkOf } from '../../modules/auth/networkOf.ts';
import type { Permission } from '../../modules/auth/permissions.ts';
import { isInNetworks } from '../../modules/auth/sourceNetworks.ts';
import type { ServiceError } from '../../platform/errors.ts';
import type { Exchange } from './exchange.ts';
import {
  deactivatedKey,
  deactivatedWorkspace,
  expiredKey,
  foreignAddress,
  lackingPermission,
  missingKey,
  unknownKey,
} from './keyRefusals.ts';
import type { RateLimit } from './rateLimit.ts';

/** Returns the key that a request carries: `x-api-key`, otherwise `Authorization: Bearer` (spec section 5). */
function credentialOf(req: IncomingMessage): string | undefined {
  const header = req.headers['x-api-key'];
  if (typeof header === 'string' && header !== '') return header;
  return /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1];
}

export interface Gate {
  directory: KeyDirectory;
  limit: RateLimit;
  /** Counts requests with unknown keys. */
  unknownKeys: Pick<UnknownKeyTally, 'add'>;
}

/**
 * Admits a request, synchronously where no store need be asked, checking in this order: it carries a key (else 401);
 * the rate, of the client's address or of a usable key that has a limit of its own (429); the key is known, and not
 * deleted (401); it is accepted from this address, has not expired, is active, and so is its workspace (403); it has
 * one of the permissions, if any is needed (403).
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
  const known = gate.directory.findKnown(credential);
  const counted = gate.limit(exchange, known && countedByKey(known, exchange));
  if (known && !counted) return letIn(exchange, known, permissions);
  return (async () => {
    await counted;
    const found = await gate.directory.find(credential);
    if (found === undefined) gate.unknownKeys.add(networkOf(exchange.clientIp));
    letIn(exchange, found, permissions);
  })();
}

/**
 * Returns the key, where requests are counted by it: it has a limit of its own, and could be admitted. If other keys
 * were counted this way, anyone with a refused key could use up its limit, or send refused requests without end, each
 * of which is an entry in the audit trail.
 */
function countedByKey(found: FoundKey, { clientIp }: Exchange): ApiKey | undefined {
  if (found.key.rateLimit === undefined) return undefined;
  return refusalOf(found, clientIp) === undefined ? found.key : undefined;
}

/** Throws the refusal of a request whose key has been looked up. */
function letIn(exchange: Exchange, found: FoundKey | undefined, permissions: readonly Permission[]): void {
  if (found === undefined) throw unknownKey();
  exchange.found = found;
  requireUsable(found, permissions, exchange.clientIp);
}

/** Throws the refusal of a key: it is not valid now, or not from this address, or it has none of the permissions. */
export function requireUsable(found: FoundKey, permissions: readonly Permission[], clientIp: string): void {
  const refusal = refusalOf(found, clientIp);
  if (refusal) throw refusal;
  if (permissions.length > 0) requirePermission(found, permissions);
}

/**
 * Throws `permission_denied` when a key has none of these permissions; for a part of a request that needs a
 * permission other than the rest.
 */
export function requirePermission({ key }: FoundKey, permissions: readonly Permission[]): void {
  if (!permissions.some((permission) => key.permissions.includes(permission))) {
    throw lackingPermission(permissions);
  }
}

/**
 * Returns why a key is refused, whatever is requested. A sender at another address is not told about the key's state.
 */
function refusalOf({ key, workspace }: FoundKey, clientIp: string): ServiceError | undefined {
  if (key.state === 'deleted') return unknownKey();
  if (key.networks && !isInNetworks(key.networks, clientIp)) return foreignAddress();
  if (isExpired(key, Date.now())) return expiredKey();
  if (key.state === 'deactivated') return deactivatedKey();
  return workspace.state === 'deactivated' ? deactivatedWorkspace() : undefined;
}
