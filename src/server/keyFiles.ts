import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { generateSigningKey, parseSigningKey } from '../modules/integrity/signing.ts';
import type { LastingKey } from '../modules/lastingKey.ts';
import type { Config } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import { SEALING_KEY_BYTES } from '../platform/sealing.ts';
import { filesOf, findAll, isDenied, type Key, load, nextKey, settle } from './keyPlace.ts';

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
export type LastingKeyName = keyof typeof consequences;

/**
 * Returns the keys that the contents of the log depend on. They reject with `internal`, whose `problem` names the file or
 * setting.
 */
export function lastingKeys(config: Config): Record<LastingKeyName, LastingKey> {
  const lasting = (name: LastingKeyName): LastingKey => ({
    setting: keys[name].setting,
    consequence: consequences[name],
    place: keys[name].set(config) === undefined ? join(config.dataDir, keys[name].file) : keys[name].setting,
    find: () => findUnlessDenied(keys[name], config),
    load: () => load(keys[name], config),
    next: (current) => nextKey(keys[name], config, current),
    settle: (key) => settle(keys[name], config, key),
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
