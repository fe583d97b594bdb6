import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { SECRET_PREFIX } from './signMessage.ts';

/** Bytes of the key that seals secrets. */
export const SEALING_KEY_BYTES = 32;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
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

/**
 * The text, encrypted and authenticated by AES-256-GCM and bound to its webhook, which is the additional data: `v2.`, then
 * nonce, tag and cipher text in base64. `key` has 32 bytes.
 */
export function seal(key: Uint8Array, owner: SecretOwner, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  cipher.setAAD(additionalData(owner));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return BOUND + Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64');
}

/** The text that `seal` was given. Throws when it was sealed with another key or for another webhook, or is damaged. */
export function unseal(key: Uint8Array, owner: SecretOwner, sealed: string): string {
  const isBound = sealed.startsWith(BOUND);
  const bytes = Buffer.from(isBound ? sealed.slice(BOUND.length) : sealed, 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(tag);
  if (isBound) decipher.setAAD(additionalData(owner));
  const encrypted = bytes.subarray(NONCE_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8');
}

/** Ids hold no `/`. */
function additionalData({ workspace, id }: SecretOwner): Buffer {
  return Buffer.from(`${workspace}/${id}`);
}
