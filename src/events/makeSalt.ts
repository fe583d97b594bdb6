import { randomBytes } from 'node:crypto';

const SALT_BYTES = 16;
const DIGITS = 2 * SALT_BYTES;
/** Random bytes are asked for and written out for so many salts at a time: asking takes longer than making them. */
const SALTS = 256;

let pool = '';
let used = 0;

/** 16 random bytes in hex: with them, the leaf of an event that is gone says nothing about it. */
export function makeSalt(): string {
  if (used === pool.length) {
    pool = randomBytes(SALTS * SALT_BYTES).toString('hex');
    used = 0;
  }
  used += DIGITS;
  return pool.slice(used - DIGITS, used);
}
