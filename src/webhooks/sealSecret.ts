import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { SECRET_PREFIX } from './signMessage.ts';

/** Bytes of the key that seals secrets. */
export const SEALING_KEY_BYTES = 32;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SECRET_BYTES = 32;

/** A new secret of a webhook, as Standard Webhooks writes it: `whsec_` and 32 random bytes in base64. */
export function generateSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** The text, encrypted and authenticated by AES-256-GCM: nonce, tag and cipher text in base64. `key` has 32 bytes. */
export function seal(key: Uint8Array, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64');
}

/** The text that `seal` was given. Throws when it was sealed with another key, or is damaged. */
export function unseal(key: Uint8Array, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(tag);
  const encrypted = bytes.subarray(NONCE_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8');
}
