import { randomFillSync } from 'node:crypto';

const SALT_BYTES = 16;
/** Random bytes are asked for so many at a time: asking takes longer than making them. */
const pool = Buffer.alloc(256 * SALT_BYTES);
let used = pool.length;

/** 16 random bytes, base64url: with them, the leaf of an event that is gone says nothing about it. */
export function makeSalt(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const salt = pool.toString('base64url', used, used + SALT_BYTES);
  pool.fill(0, used, used + SALT_BYTES);
  used += SALT_BYTES;
  return salt;
}
