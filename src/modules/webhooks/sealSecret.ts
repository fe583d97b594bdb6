import { randomBytes } from 'node:crypto';
import { seal as sealFor, unseal as unsealFor } from '../../platform/sealing.ts';
import { SECRET_PREFIX } from './signMessage.ts';

const SECRET_BYTES = 32;
/**
 * The prefix of what is bound to its webhook; what was sealed before binding was introduced has no prefix of its own.
 */
const BOUND = 'v2.';

/** Whose secret it is. */
export interface SecretOwner {
  workspace: string;
  /** The webhook's id. */
  id: string;
}

/** Returns a new secret for a webhook, as defined by Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function generateSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Returns the text, sealed (`sealing.ts`) and bound to its webhook: the sealed part comes after `v2.`. */
export function seal(key: Uint8Array, owner: SecretOwner, text: string): string {
  return BOUND + sealFor(key, contextOf(owner), text);
}

/**
 * Returns the text that was passed to `seal`. Throws when it was sealed with another key or for another webhook, or
 * is damaged.
 */
export function unseal(key: Uint8Array, owner: SecretOwner, sealed: string): string {
  if (!sealed.startsWith(BOUND)) return unsealFor(key, '', sealed);
  return unsealFor(key, contextOf(owner), sealed.slice(BOUND.length));
}

/** Ids contain no `/`. */
function contextOf({ workspace, id }: SecretOwner): string {
  return `${workspace}/${id}`;
}
