import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'clk_';
/** No key without it begins so: its random characters hold no underscore. */
const TEST_PREFIX = 'clk_test_';
const RANDOM_LENGTH = 32;
const CHECK_LENGTH = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = new RegExp(`^${PREFIX}(?:test_)?[0-9A-Za-z]{${RANDOM_LENGTH + CHECK_LENGTH}}$`);

function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62[randomInt(BASE62.length)]).join('');
}

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let place = 0; place < CHECK_LENGTH; place++) {
    digits = BASE62[rest % BASE62.length] + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}

/** A new API key: `clk_`, 32 random base62 characters, 6 base62 characters of the CRC32 of all before them. */
export function generateApiKey(): string {
  return generateKey(PREFIX);
}

/** A new key of a sandbox: the same behind `clk_test_`. */
export function generateTestKey(): string {
  return generateKey(TEST_PREFIX);
}

function generateKey(prefix: string): string {
  const body = prefix + randomBase62(RANDOM_LENGTH);
  return body + checksum(body);
}

/** A new id of something that people and logs name: the prefix, `_`, and 16 random base62 characters. */
export function generateId(prefix: string): string {
  return `${prefix}_${randomBase62(16)}`;
}

/** Whether a text can be an API key at all: tells typos from keys without a look-up. */
export function looksLikeApiKey(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -CHECK_LENGTH)) === text.slice(-CHECK_LENGTH);
}

/** What is stored of a key: its SHA-256, lower-case hex. A key has 190 random bits, so no salt is needed. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
