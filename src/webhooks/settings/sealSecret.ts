import { randomBytes } from 'node:crypto';
import { seal as sealFor, unseal as unsealFor } from '../../sealing.ts';
import { SECRET_PREFIX } from '../delivery/signMessage.ts';

const SECRET_BYTES = 32;
/** Begins what is bound to its webhook; what was sealed before that was so has no beginning of its own. */
const BOUND = 'v2.';

/** Whose secret it is. */
export interface SecretOwner {
  workspace: string;
  /** Of the webhook. */
  id: string;
}

/** A new secret of a webhook, as Standard Webhooks writes it: `whsec_` and 32 random bytes in base64. */
export function generateSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** The text, sealed (`sealing.ts`) and bound to its webhook: what is sealed comes after `v2.`. */
export function seal(key: Uint8Array, owner: SecretOwner, text: string): string {
  return BOUND + sealFor(key, contextOf(owner), text);
}

/** The text that `seal` was given. Throws when it was sealed with another key or for another webhook, or is damaged. */
export function unseal(key: Uint8Array, owner: SecretOwner, sealed: string): string {
  if (!sealed.startsWith(BOUND)) return unsealFor(key, '', sealed);
  return unsealFor(key, contextOf(owner), sealed.slice(BOUND.length));
}

/** Ids hold no `/`. */
function contextOf({ workspace, id }: SecretOwner): string {
  return `${workspace}/${id}`;
}
