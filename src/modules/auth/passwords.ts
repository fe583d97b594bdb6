import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { ServiceError } from '../../platform/errors.ts';
import { loadOnce } from '../../platform/retry.ts';
import { SharedSemaphore } from '../../platform/threads/semaphore.ts';

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

let places = new SharedSemaphore(PASSWORDS_AT_ONCE);

/** From now on, this thread shares its places for passwords with others. */
export function sharePasswordSemaphore(shared: SharedSemaphore): void {
  places = shared;
}

/** Waits for one of the few places; `rate_limited` when too many callers are already waiting. */
async function acquireHashing(): Promise<SharedSemaphore> {
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
  const taken = await acquireHashing();
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

const MIN_LENGTH = 12;
const MAX_LENGTH = 200;
/** On zxcvbn's scale from 0 to 4: 10^8 guesses and more, which would take years at the cost of a sign-in. */
const LEAST_SCORE = 3;
/** Only this many characters are examined: estimating 200 awkward ones blocks the process for a second. */
const ESTIMATED_LENGTH = 64;
/** What would be guessed first for this service. */
const OWN_WORDS = ['chartledger', 'dashboard'];

/** Loaded when the first password is chosen: its lists of common passwords take about 30 MB. */
const loadEstimator = loadOnce(async (): Promise<ZxcvbnFactory> => {
  const [{ ZxcvbnFactory }, { adjacencyGraphs: graphs, dictionary }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ graphs, dictionary });
});

/**
 * Returns what is wrong with a chosen password, in one sentence; undefined when it is acceptable. Requires length, and that it is
 * not one that others would guess: common ones, patterns, the user's name. Requires no particular kinds of characters (NIST SP
 * 800-63B, section 5.1.1.2).
 */
export async function passwordProblem(password: string, userName: string): Promise<string | undefined> {
  const { length } = [...password];
  if (length < MIN_LENGTH) return `A password must have at least ${MIN_LENGTH} characters.`;
  if (length > MAX_LENGTH) return `A password can have at most ${MAX_LENGTH} characters.`;
  if (password.trim().toLowerCase() === userName.trim().toLowerCase()) {
    return 'A password must not be the same as the user name.';
  }
  const known = [...OWN_WORDS, userName, ...userName.split(/[^\p{L}\p{N}]+/u)].filter((word) => word !== '');
  const estimated = password.normalize('NFKC').slice(0, ESTIMATED_LENGTH);
  const { score } = (await loadEstimator()).check(estimated, known);
  if (score >= LEAST_SCORE) return undefined;
  return 'This password is easy to guess: many people use it, or it follows a pattern. A few unrelated words are better.';
}
