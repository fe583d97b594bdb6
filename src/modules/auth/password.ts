import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ServiceError } from '../../platform/errors.ts';
import { SharedPlaces } from '../../platform/threads/SharedPlaces.ts';

/** What is stored of a password: scrypt (RFC 7914) with its parameters. `salt` and `hash` are base64. */
export interface PasswordHash {
  algorithm: 'scrypt';
  N: number;
  r: number;
  p: number;
  salt: string;
  hash: string;
}

/** OWASP Password Storage Cheat Sheet: 64 MiB per hash. */
const PARAMETERS = { N: 2 ** 16, r: 8, p: 2 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Concurrent hashes in the process: bounds their memory, and leaves threads of Node's pool for files. */
export const PASSWORDS_AT_ONCE = 2;
const MAX_WAITING = 20;
const RETRY_AFTER_SECONDS = 5;

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

let places = new SharedPlaces(PASSWORDS_AT_ONCE);

/** From now on, this thread shares its places for passwords with others. */
export function sharePasswordPlaces(shared: SharedPlaces): void {
  places = shared;
}

/** Waits for one of the few places; `rate_limited` when too many callers are already waiting. */
async function takePlace(): Promise<SharedPlaces> {
  if (places.waiting >= MAX_WAITING) {
    throw new ServiceError(
      'rate_limited',
      'Too many people are signing in right now. Try again in a moment.',
      {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      },
    );
  }
  const taken = places;
  await taken.wait();
  return taken;
}

type Parameters = Pick<PasswordHash, 'N' | 'r' | 'p'>;

/** Passwords that look alike are equal, however they were typed (NIST SP 800-63B, section 5.1.1.2). */
async function derive(password: string, salt: Buffer, { N, r, p }: Parameters): Promise<Buffer> {
  const taken = await takePlace();
  try {
    return await deriveKey(password.normalize('NFKC'), salt, HASH_BYTES, { N, r, p, maxmem: 256 * N * r });
  } finally {
    taken.give();
  }
}

/** Returns what is stored of a password. Rejects with `rate_limited` when too many are in progress. */
export async function hashPassword(password: string): Promise<PasswordHash> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, PARAMETERS);
  return { algorithm: 'scrypt', ...PARAMETERS, salt: salt.toString('base64'), hash: hash.toString('base64') };
}

/**
 * Whether the password is correct. Without a stored one it takes as long and returns false, so that nobody can tell who has one.
 * Rejects with `rate_limited` when too many are in progress.
 */
export async function verifyPassword(password: string, stored: PasswordHash | undefined): Promise<boolean> {
  const salt = stored ? Buffer.from(stored.salt, 'base64') : randomBytes(SALT_BYTES);
  const derived = await derive(password, salt, stored ?? PARAMETERS);
  return stored !== undefined && timingSafeEqual(derived, Buffer.from(stored.hash, 'base64'));
}
