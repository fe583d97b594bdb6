import { randomBytes } from 'node:crypto';

const SALT_BYTES = 16;
const DIGITS = 2 * SALT_BYTES;
/**
 * Number of salts for which random bytes are requested and formatted at a time: requesting them takes longer than generating
 * them.
 */
const SALTS = 256;

let pool = '';
let used = 0;

/** Returns 16 random bytes in hex, so that the leaf of an erased event reveals nothing about it. */
export function makeSalt(): string {
  if (used === pool.length) {
    pool = randomBytes(SALTS * SALT_BYTES).toString('hex');
    used = 0;
  }
  used += DIGITS;
  return pool.slice(used - DIGITS, used);
}
