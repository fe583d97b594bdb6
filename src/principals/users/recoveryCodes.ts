import { createHash, randomInt } from 'node:crypto';

const HOW_MANY = 10;
/** Without those that look alike; 79 bits a code, so that a plain hash of it cannot be searched. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 4;
const GROUP_LENGTH = 4;

/** New codes that let a user in, once each, who has lost the authenticator app: `k3fa-9xzb-…`. */
export function newRecoveryCodes(): string[] {
  const group = () =>
    Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return Array.from({ length: HOW_MANY }, () => Array.from({ length: GROUPS }, group).join('-'));
}

/** What is stored of a recovery code: SHA-256, lower-case hex, however it was typed. */
export function hashRecoveryCode(code: string): string {
  const plain = code.toLowerCase().replace(/[^a-z0-9]/g, '');
  return createHash('sha256').update(plain).digest('hex');
}
