import { type KeyObject, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Config } from '../config.ts';
import { generateSigningKey, parseSigningKey } from '../evidence/signing.ts';
import type { DocumentStore } from '../ports/documentStore.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { Leases } from '../ports/leases.ts';
import type { Limit, RateLimiters } from '../ports/rateLimiters.ts';
import type { ReadModels } from '../ports/readModels.ts';
import type { StateStore } from '../ports/stateStore.ts';
import { SEALING_KEY_BYTES } from '../webhooks/sealSecret.ts';
import { FlexibleRateLimiter } from './FlexibleRateLimiter.ts';
import { secretFile } from './localFiles/secretFile.ts';

/** The keys in the data folder, by the names of their files. */
export const keyFiles = {
  deidentification: 'deidentification-key',
  webhookSecrets: 'webhook-secrets-key',
  session: 'session-secret',
  signing: 'signing-key',
} as const;

const DEIDENTIFICATION_KEY_BYTES = 32;
const SESSION_SECRET_BYTES = 32;

/** A key that is set, in base64, else that of the data folder, made when it is missing. */
async function loadKey(
  set: string | undefined,
  { dataDir }: Config,
  name: (typeof keyFiles)[keyof typeof keyFiles],
  generate: () => Buffer,
): Promise<Buffer> {
  return set === undefined ? secretFile(join(dataDir, name), generate) : Buffer.from(set, 'base64');
}

/** The key of the hashes in the de-identified view. */
export function loadDeidentificationKey(config: Config): Promise<Buffer> {
  const generate = () => randomBytes(DEIDENTIFICATION_KEY_BYTES);
  return loadKey(config.deidentificationKey, config, keyFiles.deidentification, generate);
}

/** The key that seals the secrets of webhooks. */
export function loadWebhookSecretsKey(config: Config): Promise<Buffer> {
  const generate = () => randomBytes(SEALING_KEY_BYTES);
  return loadKey(config.webhookSecretsKey, config, keyFiles.webhookSecrets, generate);
}

/** The secret that signs the cookies of the dashboard's sessions. */
export function loadSessionSecret(config: Config): Promise<Buffer> {
  return loadKey(config.sessionSecret, config, keyFiles.session, () => randomBytes(SESSION_SECRET_BYTES));
}

/** The key that signs exports and tree heads. */
export async function loadSigningKey(config: Config): Promise<KeyObject> {
  return parseSigningKey(await loadKey(config.signingKey, config, keyFiles.signing, generateSigningKey));
}

/** `sqlite:/a/b`, `file:/a/b` and `file:///a/b` all name the path `/a/b`; relative paths are taken as they are. */
export function pathOf(url: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : url.slice(url.indexOf(':') + 1);
}

function isMongo(url: string): boolean {
  return /^mongodb(\+srv)?:/.test(url);
}

/** The event log at a URL. Backends are loaded when they are asked for. */
export async function openEventLog(url: string): Promise<EventLog> {
  if (/^esdb(\+discover)?:/.test(url)) {
    const { EventStoreDbEventLog } = await import('./eventstoredb/EventStoreDbEventLog.ts');
    return EventStoreDbEventLog.open(url);
  }
  const { SqliteEventLog } = await import('./sqlite/SqliteEventLog.ts');
  return SqliteEventLog.open(pathOf(url));
}

/** The read models at a URL. */
export async function openReadModels(url: string): Promise<ReadModels> {
  if (isMongo(url)) {
    const { MongoReadModels } = await import('./mongodb/MongoReadModels.ts');
    return new MongoReadModels(url);
  }
  const { SqliteReadModels } = await import('./sqlite/SqliteReadModels.ts');
  return new SqliteReadModels(pathOf(url));
}

/** The state store at a URL. */
export async function openStateStore(url: string): Promise<StateStore> {
  if (isMongo(url)) {
    const { MongoStateStore } = await import('./mongodb/MongoStateStore.ts');
    return new MongoStateStore(url);
  }
  const { SqliteStateStore } = await import('./sqlite/SqliteStateStore.ts');
  return new SqliteStateStore(pathOf(url));
}

/** The leases beside the state store at a URL. */
export async function openLeases(stateUrl: string): Promise<Leases> {
  if (isMongo(stateUrl)) {
    const { MongoLeases } = await import('./mongodb/MongoLeases.ts');
    return new MongoLeases(stateUrl);
  }
  const { SqliteLeases } = await import('./sqlite/SqliteLeases.ts');
  return new SqliteLeases(pathOf(stateUrl));
}

/** The document store at a URL. */
export async function openDocumentStore(url: string): Promise<DocumentStore> {
  if (url.startsWith('gs:')) {
    const { GcsDocumentStore } = await import('./gcs/GcsDocumentStore.ts');
    return new GcsDocumentStore(url);
  }
  const { LocalDocumentStore } = await import('./localFiles/LocalDocumentStore.ts');
  return LocalDocumentStore.open(pathOf(url));
}

/**
 * Limiters that count where the state at `stateUrl` is: in MongoDB for all instances together, beside SQLite in this
 * process's memory.
 */
export async function openRateLimiters(stateUrl: string): Promise<RateLimiters> {
  if (isMongo(stateUrl)) {
    const { openMongoRateLimiters } = await import('./mongodb/MongoRateLimiter.ts');
    const { create, close } = await openMongoRateLimiters(stateUrl);
    return { limiter: (limit) => new FlexibleRateLimiter(limit, create(limit)), close };
  }
  const create = ({ name, points, seconds }: Limit) =>
    new RateLimiterMemory({ keyPrefix: name, points, duration: seconds });
  return {
    limiter: (limit) => new FlexibleRateLimiter(limit, create(limit)),
    close: async () => undefined,
  };
}
