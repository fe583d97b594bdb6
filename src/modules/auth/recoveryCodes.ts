import { createHash, randomInt } from 'node:crypto';

const HOW_MANY = 10;
/** Without lookalikes; 79 bits per code, so that a plain hash of it cannot be brute-forced. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 4;
const GROUP_LENGTH = 4;

/** Generates codes that sign in, once each, a user who has lost the authenticator app: `k3fa-9xzb-…`. */
export function newRecoveryCodes(): string[] {
  const group = () =>
    Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return Array.from({ length: HOW_MANY }, () => Array.from({ length: GROUPS }, group).join('-'));
}

/** Returns what is stored of a recovery code: SHA-256, lower-case hex, however it was typed. */
export function hashRecoveryCode(code: string): string {
  const plain = code.toLowerCase().replace(/[^a-z0-9]/g, '');
  return createHash('sha256').update(plain).digest('hex');
}
