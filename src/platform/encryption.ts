import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Length in bytes of a sealing key. */
export const SEALING_KEY_BYTES = 32;

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Returns the text, encrypted and authenticated by AES-256-GCM: nonce, tag and cipher text in base64. `key` has
 * `SEALING_KEY_BYTES`. `context` says whose it is and is needed to open it, so that what is sealed for one owner
 * cannot pass for another's; empty: nobody's.
 */
export function encrypt(key: Uint8Array, context: string, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64');
}

/**
 * Returns the text that was passed to `seal`. Throws when it was sealed with another key or context, or is damaged.
 */
export function decrypt(key: Uint8Array, context: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context)).setAuthTag(tag);
  const encrypted = bytes.subarray(NONCE_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8');
}
