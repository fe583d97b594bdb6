import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'clk_';
/** No other key starts with this: the random characters contain no underscore. */
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

/** Generates an API key: `clk_`, 32 random base62 characters, 6 base62 characters of the CRC32 of everything before them. */
export function generateApiKey(): string {
  return generateKey(PREFIX);
}

/** Generates a sandbox key: the same with the prefix `clk_test_`. */
export function generateTestKey(): string {
  return generateKey(TEST_PREFIX);
}

function generateKey(prefix: string): string {
  const body = prefix + randomBase62(RANDOM_LENGTH);
  return body + checksum(body);
}

/** Generates an id for things that people and logs refer to: the prefix, `_`, and 16 random base62 characters. */
export function generateId(prefix: string): string {
  return `${prefix}_${randomBase62(16)}`;
}

/** Whether a text can be an API key at all: recognizes typos without a lookup. */
export function looksLikeApiKey(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -CHECK_LENGTH)) === text.slice(-CHECK_LENGTH);
}

/** What is stored of a key: its SHA-256, lower-case hex. A key has 190 random bits, so no salt is needed. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
