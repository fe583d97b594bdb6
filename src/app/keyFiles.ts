import { type KeyObject, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { fileProblem } from '../backends/fileProblem.ts';
import { readSecretFile, secretFile } from '../backends/localFiles/secretFile.ts';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import { generateSigningKey, parseSigningKey } from '../evidence/signing.ts';
import type { LastingKey } from '../sameLog/KnownKeys.ts';
import { SEALING_KEY_BYTES } from '../sealing.ts';

const LEAST_SECRET_BYTES = 32;

/** A key of the service: in a setting, else in a file of the data folder that is made when the key is first needed. */
interface Key {
  setting: string;
  file: string;
  /** Base64. */
  set(config: Config): string | undefined;
  generate(): Buffer;
  /** What is wrong with its bytes: goes on after the name of the file. */
  problem(bytes: Buffer): string | undefined;
}

const keys = {
  /** Of the hashes in the de-identified view. */
  deidentification: {
    setting: 'DEIDENTIFICATION_KEY',
    file: 'deidentification-key',
    set: ({ deidentificationKey }) => deidentificationKey,
    generate: () => randomBytes(LEAST_SECRET_BYTES),
    problem: tooShort,
  },
  /** Seals the secrets of webhooks. */
  webhookSecrets: {
    setting: 'WEBHOOK_SECRETS_KEY',
    file: 'webhook-secrets-key',
    set: ({ webhookSecretsKey }) => webhookSecretsKey,
    generate: () => randomBytes(SEALING_KEY_BYTES),
    problem: notForSealing,
  },
  /** Seals the secrets of authenticator apps. */
  totpSecrets: {
    setting: 'TOTP_SECRETS_KEY',
    file: 'totp-secrets-key',
    set: ({ totpSecretsKey }) => totpSecretsKey,
    generate: () => randomBytes(SEALING_KEY_BYTES),
    problem: notForSealing,
  },
  /** Signs the cookies of the dashboard's sessions. */
  session: {
    setting: 'SESSION_SECRET',
    file: 'session-secret',
    set: ({ sessionSecret }) => sessionSecret,
    generate: () => randomBytes(LEAST_SECRET_BYTES),
    problem: tooShort,
  },
  /** Signs exports and tree heads. */
  signing: {
    setting: 'SIGNING_KEY',
    file: 'signing-key',
    set: ({ signingKey }) => signingKey,
    generate: generateSigningKey,
    problem: (bytes) => (isSigningKey(bytes) ? undefined : 'is no Ed25519 private key (PKCS#8, DER)'),
  },
} satisfies Record<string, Key>;

/** The names of the files in the data folder that hold keys. */
export const keyFiles: readonly string[] = Object.values(keys).map(({ file }) => file);

/** The keys that are set or there, by the names of their files. Reject as the keys do. */
export async function findKeys(config: Config): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const key of Object.values<Key>(keys)) {
    const bytes = await find(key, config);
    if (bytes) found.set(key.file, bytes);
  }
  return found;
}

/** The names of the files of the keys that settings do not give. */
export function unsetKeyFiles(config: Config): string[] {
  return Object.values<Key>(keys)
    .filter((key) => key.set(config) === undefined)
    .map(({ file }) => file);
}

/** What comes of another key, of those that what the log holds depends on. */
const consequences = {
  deidentification: 'the hashes in the de-identified view are others, and fit nothing that was read before',
  webhookSecrets: 'the secrets of webhooks cannot be opened, and nothing is sent until each is rotated',
  totpSecrets: 'no authenticator app that was set up is accepted',
  signing: 'exports and tree heads are signed with a key that nobody who verifies them has',
};

/** The name of a key that the log knows by its fingerprint. */
export type LastingKeyName = keyof typeof consequences;

/** The keys that what the log holds depends on. They reject with `internal`, whose `problem` names file or setting. */
export function lastingKeys(config: Config): Record<LastingKeyName, LastingKey> {
  const lasting = (name: LastingKeyName): LastingKey => ({
    setting: keys[name].setting,
    consequence: consequences[name],
    place: keys[name].set(config) === undefined ? join(config.dataDir, keys[name].file) : keys[name].setting,
    find: () => find(keys[name], config),
    load: () => load(keys[name], config),
  });
  return {
    deidentification: lasting('deidentification'),
    webhookSecrets: lasting('webhookSecrets'),
    totpSecrets: lasting('totpSecrets'),
    signing: lasting('signing'),
  };
}

/** Rejects with `internal`, whose `problem` names the file or setting, as the next does. */
export function loadSessionSecret(config: Config): Promise<Buffer> {
  return load(keys.session, config);
}

/** That secret where it is set or there; it is made when the first dashboard needs it. Rejects likewise. */
export function findSessionSecret(config: Config): Promise<Buffer | undefined> {
  return find(keys.session, config);
}

export async function loadSigningKey(config: Config): Promise<KeyObject> {
  return parseSigningKey(await load(keys.signing, config));
}

/**
 * Opens every key that is set or there, so that one which cannot be used stops a start instead of the first request that
 * needs it. A signing key that is kept from the service's user on purpose is a warning: requests are served without it. Rejects as
 * the keys do.
 */
export async function checkKeys(config: Config, logger: Logger): Promise<void> {
  for (const key of Object.values<Key>(keys)) {
    const path = join(config.dataDir, key.file);
    try {
      const set = key.set(config);
      const bytes = set === undefined ? await readSecretFile(path) : Buffer.from(set, 'base64');
      if (bytes) check(key, set === undefined ? path : key.setting, bytes);
    } catch (error) {
      const failure = asKeyError(error, path);
      if (key.file !== keys.signing.file || !isDenied(error)) throw failure;
      logger.warn({ problem: failure.problem }, 'the signing key is not readable for the service');
    }
  }
}

async function find(key: Key, config: Config): Promise<Buffer | undefined> {
  const set = key.set(config);
  if (set !== undefined) return check(key, key.setting, Buffer.from(set, 'base64'));
  const path = join(config.dataDir, key.file);
  try {
    const bytes = await readSecretFile(path);
    return bytes && check(key, path, bytes);
  } catch (error) {
    // A signing key may be kept from the service's user on purpose.
    if (key.file === keys.signing.file && isDenied(error)) return undefined;
    throw asKeyError(error, path);
  }
}

async function load(key: Key, config: Config): Promise<Buffer> {
  const set = key.set(config);
  if (set !== undefined) return check(key, key.setting, Buffer.from(set, 'base64'));
  const path = join(config.dataDir, key.file);
  try {
    return check(key, path, await secretFile(path, key.generate));
  } catch (error) {
    throw asKeyError(error, path);
  }
}

function check({ problem }: Key, place: string, bytes: Buffer): Buffer {
  const wrong = problem(bytes);
  if (wrong !== undefined) throw keyError(`${place} ${wrong}. Restore it from a backup.`);
  return bytes;
}

function asKeyError(error: unknown, path: string): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOTDIR') return keyError(`${fileProblem(path, error)}`, error);
  const advice = isDenied(error)
    ? 'Give the file and its folder to the user of the service (chown).'
    : 'Check the path and its file system.';
  return keyError(`${path} cannot be read or made (${code}). ${advice}`, error);
}

function keyError(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('internal', 'A key of the service cannot be used. Its log says which one.', {
    problem,
    cause,
  });
}

function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function tooShort({ length }: Buffer): string | undefined {
  return length < LEAST_SECRET_BYTES
    ? `has ${length} bytes instead of at least ${LEAST_SECRET_BYTES}`
    : undefined;
}

function notForSealing({ length }: Buffer): string | undefined {
  return length === SEALING_KEY_BYTES ? undefined : `has ${length} bytes instead of ${SEALING_KEY_BYTES}`;
}

function isSigningKey(bytes: Buffer): boolean {
  try {
    parseSigningKey(bytes);
    return true;
  } catch {
    return false;
  }
}
