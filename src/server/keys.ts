import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type SigningKey, signingKeyRotations } from '../modules/integrity/publicKeys.ts';
import { generateSigningKey, parseSigningKey } from '../modules/integrity/signing.ts';
import { Keyring, type ManagedKey } from '../modules/keyring.ts';
import type { Config } from '../platform/config.ts';
import { SEALING_KEY_BYTES } from '../platform/encryption.ts';
import { ServiceError } from '../platform/errors.ts';
import {
  moveDurably,
  readSecretFile,
  replaceSecretFile,
  secretFile,
} from '../storage/engines/filesystem/files.ts';
import { fileProblem } from '../storage/engines/shared.ts';
import type { EventLog } from '../storage/eventLog.ts';

/** A key of the service: in a setting, otherwise in a file of the data folder that is created when the key is first needed. */
interface Key {
  setting: string;
  file: string;
  /** Base64; two of them, separated by a comma, while the key is being changed. */
  set(config: Config): string | undefined;
  generate(): Buffer;
  /** Returns what is wrong with its bytes, worded to follow the file name. */
  problem(bytes: Buffer): string | undefined;
  /** It may deliberately be withheld from the service's user. */
  mayBeDenied?: true;
  /** What was made with it is still needed after another key has replaced it. */
  keepsPrevious?: true;
}

/**
 * Returns the names of a key's files: the current one; the next one, while the key is being changed; and the previous one, if it
 * is kept.
 */
function filesOf({ file, keepsPrevious }: Key): [string, string, ...string[]] {
  return [file, `${file}.next`, ...(keepsPrevious ? [`${file}.previous`] : [])];
}

/**
 * Returns the keys that are set or exist, the current one first. Rejects with `internal`, whose `problem` names the file or
 * setting.
 */
async function findAll(key: Key, config: Config): Promise<Buffer[]> {
  const set = setKeys(key, config);
  if (set !== undefined) return set;
  const [path, nextPath, previousPath] = pathsOf(key, config);
  // In this order, a file that is renamed in between is still found.
  const next = await readKey(key, nextPath);
  const current = await readKey(key, path);
  const previous = previousPath === undefined ? undefined : await readKey(key, previousPath);
  return [current, next, previous].filter((bytes) => bytes !== undefined);
}

/** Returns the current key, creating it when there is none. Rejects as above, as do the next functions. */
async function load(key: Key, config: Config): Promise<Buffer> {
  const [set] = setKeys(key, config) ?? [];
  const [path] = pathsOf(key, config);
  return set ?? makeKey(key, path);
}

/**
 * Returns the key that is to replace the current one: if set, the other one in the setting, which must be there, otherwise a new
 * one. Also rejects with `validation_failed`.
 */
async function nextKey(key: Key, config: Config, current: Buffer): Promise<Buffer> {
  const set = setKeys(key, config);
  const [, path] = pathsOf(key, config);
  const next = set === undefined ? await makeKey(key, path) : set.find((bytes) => !bytes.equals(current));
  if (next !== undefined) return next;
  throw new ServiceError(
    'validation_failed',
    `${key.setting} is a setting, and names no other key. Give every process the new key behind the old one, separated by a comma, and run this again.`,
  );
}

/** Makes a next key the current one, durably. A setting stays as it is. */
async function promote(key: Key, config: Config, bytes: Buffer): Promise<void> {
  if (key.set(config) !== undefined) return;
  const [path, nextPath, previousPath] = pathsOf(key, config);
  const next = await readKey(key, nextPath);
  // Another process was faster.
  if (!next?.equals(bytes)) return;
  const current = await readKey(key, path);
  try {
    if (previousPath && current && !current.equals(next)) await replaceSecretFile(previousPath, current);
    await moveDurably(nextPath, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw asKeyError(error, path);
  }
}

/** Whether a key is inaccessible to the user of this process. */
function isDenied(error: unknown): boolean {
  const { cause = error } = error as Error;
  return ['EACCES', 'EPERM'].includes((cause as NodeJS.ErrnoException).code ?? '');
}

function setKeys(key: Key, config: Config): Buffer[] | undefined {
  const parts = key.set(config)?.split(',');
  return parts?.map((part) => check(key, key.setting, Buffer.from(part, 'base64')));
}

function pathsOf(key: Key, { dataDir }: Config): [string, string, string | undefined] {
  const [file, next, previous] = filesOf(key);
  return [join(dataDir, file), join(dataDir, next), previous && join(dataDir, previous)];
}

async function readKey(key: Key, path: string): Promise<Buffer | undefined> {
  try {
    const bytes = await readSecretFile(path);
    return bytes && check(key, path, bytes);
  } catch (error) {
    throw asKeyError(error, path);
  }
}

async function makeKey(key: Key, path: string): Promise<Buffer> {
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

const LEAST_SECRET_BYTES = 32;

const keys = {
  /** For the hashes in the de-identified view. */
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
    keepsPrevious: true,
  },
  /** Seals the secrets of authenticator apps. */
  totpSecrets: {
    setting: 'TOTP_SECRETS_KEY',
    file: 'totp-secrets-key',
    set: ({ totpSecretsKey }) => totpSecretsKey,
    generate: () => randomBytes(SEALING_KEY_BYTES),
    problem: notForSealing,
  },
  /** Signs the cookies of dashboard sessions. */
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
    problem: (bytes) => (isSigningKey(bytes) ? undefined : 'is not an Ed25519 private key (PKCS#8, DER)'),
    mayBeDenied: true,
  },
} satisfies Record<string, Key>;

/** The names of the files in the data folder that contain keys. */
export const keyFiles: readonly string[] = Object.values<Key>(keys).flatMap(filesOf);

/** Those of them that contain the signing key. */
export const signingKeyFiles: readonly string[] = filesOf(keys.signing);

/** Returns the keys that are set or exist, by file name. Rejects as the keys do. */
export async function findKeys(config: Config): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const key of Object.values<Key>(keys)) {
    const files = filesOf(key);
    const all = await findUnlessDenied(key, config);
    for (const [index, bytes] of all.entries()) found.set(files[index] as string, bytes);
  }
  return found;
}

/** Returns the file names of the keys that are not given by settings. */
export function unsetKeyFiles(config: Config): string[] {
  return Object.values<Key>(keys)
    .filter((key) => key.set(config) === undefined)
    .flatMap(filesOf);
}

/** What a different key would change, for keys that the contents of the log depend on. */
const consequences = {
  deidentification: 'the hashes in the de-identified view are others, and fit nothing that was read before',
  webhookSecrets: 'the secrets of webhooks cannot be opened, and nothing is sent until each is rotated',
  totpSecrets: 'no authenticator app that was set up is accepted',
  signing: 'exports and tree heads are signed with a key that nobody who verifies them has',
};

/** The name of a key that the log identifies by its fingerprint. */
export type ManagedKeyName = keyof typeof consequences;

/**
 * Returns the keys that the contents of the log depend on. They reject with `internal`, whose `problem` names the file or
 * setting.
 */
export function managedKeys(config: Config): Record<ManagedKeyName, ManagedKey> {
  const lasting = (name: ManagedKeyName): ManagedKey => ({
    setting: keys[name].setting,
    consequence: consequences[name],
    place: keys[name].set(config) === undefined ? join(config.dataDir, keys[name].file) : keys[name].setting,
    find: () => findUnlessDenied(keys[name], config),
    load: () => load(keys[name], config),
    next: (current) => nextKey(keys[name], config, current),
    settle: (key) => promote(keys[name], config, key),
    // Both keys signed that the old one ended.
    ...(name === 'signing' && { endsForGood: true }),
  });
  return {
    deidentification: lasting('deidentification'),
    webhookSecrets: lasting('webhookSecrets'),
    totpSecrets: lasting('totpSecrets'),
    signing: lasting('signing'),
  };
}

/** Rejects with `internal`, whose `problem` names the file or setting, as does the next function. */
export function loadSessionSecret(config: Config): Promise<Buffer> {
  return load(keys.session, config);
}

/** Returns that secret if it is set or exists; it is created when a dashboard first needs it. Rejects as above. */
export async function findSessionSecret(config: Config): Promise<Buffer | undefined> {
  return (await findAll(keys.session, config))[0];
}

/** Whether the signing key is deliberately withheld from this process. Rejects as the keys do. */
export async function isSigningKeyWithheld(config: Config): Promise<boolean> {
  let isWithheld = false;
  await findUnlessDenied(keys.signing, config, () => {
    isWithheld = true;
  });
  return isWithheld;
}

/**
 * Opens every key that is set or exists, so that an unusable one stops the start and not the first request that needs it. A
 * signing key that is deliberately withheld from the service's user is logged as a warning: requests are served without it.
 * Rejects as the keys do.
 */
export async function checkKeys(config: Config, logger: Logger): Promise<void> {
  const warn = ({ problem }: ServiceError) =>
    logger.warn({ problem }, 'the service cannot read the signing key');
  for (const key of Object.values<Key>(keys)) await findUnlessDenied(key, config, warn);
}

/** As `findAll`; empty for a key that is deliberately withheld from this process. */
async function findUnlessDenied(
  key: Key,
  config: Config,
  onDenied: (error: ServiceError) => void = () => undefined,
): Promise<Buffer[]> {
  try {
    return await findAll(key, config);
  } catch (error) {
    if (!(key.mayBeDenied && error instanceof ServiceError && isDenied(error))) throw error;
    onDenied(error);
    return [];
  }
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

type Keys = Config | Keyring<ManagedKeyName>;

/**
 * Returns the current signing key according to the log, creating it when there is none. Callers that request it after reading
 * what is to be signed never sign with a key that was replaced before that. Rejects as `Keyring.current` does.
 */
export async function openSigningKey(eventLog: EventLog, keys: Keys): Promise<SigningKey> {
  const privateKey = parseSigningKey(await keyringOf(eventLog, keys).current('signing'));
  return { privateKey, rotations: await signingKeyRotations(eventLog) };
}

/**
 * The same if this process has it; undefined if it is withheld, was lost, or differs from the one in the log. `isMade`: create it
 * when there is none. Rejects with `unavailable`.
 */
export async function findSigningKey(
  eventLog: EventLog,
  keys: Keys,
  isMade: boolean,
): Promise<SigningKey | undefined> {
  const known = keyringOf(eventLog, keys);
  try {
    if (!isMade && (await known.find('signing')) === undefined) return undefined;
    return await openSigningKey(eventLog, known);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'internal') return undefined;
    throw error;
  }
}

function keyringOf(eventLog: EventLog, keys: Keys): Keyring<ManagedKeyName> {
  return keys instanceof Keyring ? keys : new Keyring(eventLog, managedKeys(keys));
}
