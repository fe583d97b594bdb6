import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { type Config, ConfigError } from '../platform/config.ts';
import { ServiceError, unavailable } from '../platform/errors.ts';
import type { DocumentStore } from '../storage/documentStore.ts';
import {
  type CountsMemory,
  MemoryRateLimiter,
  SharedCounts,
  SharedRateLimiter,
} from '../storage/engines/memory/rateLimiter.ts';
import { fileProblem } from '../storage/engines/shared.ts';
import type { EventLog, LogCopy, OpenRetry, WriterLink } from '../storage/eventLog.ts';
import type { Leases } from '../storage/leases.ts';
import type { Limit, RateLimiters } from '../storage/rateLimiters.ts';
import type { ReadModels } from '../storage/readModels.ts';
import type { StateStore } from '../storage/stateStore.ts';
import type { BackupTarget, TreeHeadPublisher } from '../storage/targets.ts';
import type { Warehouse } from '../storage/warehouse.ts';

/**
 * `sqlite:/a/b`, `file:/a/b` and `file:///a/b` all name the path `/a/b`; relative paths are used as they are. In all of them
 * `%20` is a space.
 */
export function pathOf(url: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : decodeURIComponent(url.slice(url.indexOf(':') + 1));
}

/** Whether a store on this machine does not exist; opening it would create it. */
export function isMissing(url: string): boolean {
  return /^(?:sqlite|file):/.test(url) && !existsSync(pathOf(url));
}

/** Returns what opening a file or folder returns; rejects with `unavailable`, whose `problem` names it. */
async function openAt<Store>(
  store: string,
  url: string,
  open: (path: string) => Store | Promise<Store>,
): Promise<Store> {
  const path = pathOf(url);
  // A start creates it before other threads open it: a file that is missing later was moved, perhaps with its disk.
  if (!isMainThread && !existsSync(path))
    throw unavailable(store, undefined, fileProblem(path, { code: 'ENOENT' }));
  try {
    return await open(path);
  } catch (error) {
    if (error instanceof ServiceError && error.problem !== undefined) throw error;
    const { code } = error as { code?: string };
    throw unavailable(store, error, fileProblem(path, error) ?? `${path} cannot be opened (${code}).`);
  }
}

function isMongo(url: string): boolean {
  return /^mongodb(\+srv)?:/.test(url);
}

export interface EventLogOptions {
  /** How long to wait for a server that is unreachable. */
  patience?: OpenRetry;
  /** Where one writer serves all threads of the process (`EventLog.linkWriter`): returns a link to it. */
  linkWriter?: () => Promise<WriterLink>;
}

/** Opens the event log at a URL. Backends are loaded on demand. */
export async function openEventLog(
  url: string,
  { patience, linkWriter }: EventLogOptions = {},
): Promise<EventLog> {
  if (logOnServer.test(url)) {
    const { EventStoreDbEventLog } = await import('../storage/engines/eventstoredb/eventLog.ts');
    return EventStoreDbEventLog.open(url, patience);
  }
  const { SqliteEventLog } = await import('../storage/engines/sqlite/eventLog.ts');
  return openAt('event log', url, (path) => SqliteEventLog.open(path, linkWriter));
}

/** Opens the read models at a URL. */
export async function openReadModels(url: string): Promise<ReadModels> {
  if (isMongo(url)) {
    const { MongoReadModels } = await import('../storage/engines/mongodb/readModels.ts');
    return new MongoReadModels(url);
  }
  const { SqliteReadModels } = await import('../storage/engines/sqlite/readModels.ts');
  return openAt('read model store', url, (path) => new SqliteReadModels(path));
}

/** Opens the state store at a URL. On SQLite it works in a thread of its own, so that the caller's never waits for the disk. */
export async function openStateStore(url: string): Promise<StateStore> {
  if (isMongo(url)) return openMongoState(url);
  const { SqliteStateThread } = await import('../storage/engines/sqlite/stateThread.ts');
  return openAt('state store', url, (path) => new SqliteStateThread(path));
}

/** Opens the state store at a URL for a thread that may wait for the disk, as the leases beside it make it wait, too. */
export async function openStateStoreHere(url: string): Promise<StateStore> {
  if (isMongo(url)) return openMongoState(url);
  const { SqliteStateStore } = await import('../storage/engines/sqlite/stateStore.ts');
  return openAt('state store', url, (path) => new SqliteStateStore(path));
}

/**
 * Opens the state store of the service on an event log. A file is created only if no service has run on that log, or if
 * `ALLOW_NEW_STATE_STORE` accepts its loss: otherwise rejects with `ConfigError`.
 */
export async function openOwnStateStore(config: Config, eventLog: EventLog): Promise<StateStore> {
  const problem = config.allowNewStateStore ? undefined : await stateStoreProblem(config, eventLog);
  if (problem !== undefined) throw new ConfigError(problem);
  return openStateStore(config.stateUrl);
}

/**
 * Returns what is wrong if there is no file of the state store although a service has run on the event log: its documents then name
 * that log. Rejects with `unavailable`.
 */
export async function stateStoreProblem(
  { stateUrl, documentsUrl }: Config,
  eventLog: EventLog,
): Promise<string | undefined> {
  if (!isMissing(stateUrl) || (await eventLog.head()) === 0) return undefined;
  const documentStore = await openDocumentStore(documentsUrl);
  try {
    if ((await documentStore.log()) !== (await eventLog.identity())) return undefined;
  } finally {
    await documentStore.close();
  }
  // A process that starts for the first time at this moment creates the file before its documents name the log.
  if (!isMissing(stateUrl)) return undefined;
  return (
    `There is no state store at ${pathOf(stateUrl)}, although a service has run on this event log. Without it, requests that are ` +
    'repeated with their Idempotency-Key are written twice. Restore the file, or correct STATE_URL or DATA_DIR. If it is lost ' +
    'permanently, start once with ALLOW_NEW_STATE_STORE=true.'
  );
}

async function openMongoState(url: string): Promise<StateStore> {
  const { MongoStateStore } = await import('../storage/engines/mongodb/stateStore.ts');
  return new MongoStateStore(url);
}

/** Opens the leases beside the state store at a URL. */
export async function openLeases(stateUrl: string): Promise<Leases> {
  if (isMongo(stateUrl)) {
    const { MongoLeases } = await import('../storage/engines/mongodb/stateStore.ts');
    return new MongoLeases(stateUrl);
  }
  const { SqliteLeases } = await import('../storage/engines/sqlite/leases.ts');
  return openAt('state store', stateUrl, (path) => new SqliteLeases(path));
}

/** Opens the document store at a URL. */
export async function openDocumentStore(url: string): Promise<DocumentStore> {
  if (url.startsWith('gs:')) {
    const { GcsDocumentStore } = await import('../storage/engines/gcs/documentStore.ts');
    return new GcsDocumentStore(url);
  }
  const { LocalDocumentStore } = await import('../storage/engines/filesystem/documentStore.ts');
  return openAt('document store', url, (path) => LocalDocumentStore.open(path));
}

/**
 * Opens the destination of heads: a folder, as a path or `file:`, a bucket as `gs:`, or an address that accepts POST requests.
 */
export async function openHeadTarget(place: string): Promise<TreeHeadPublisher> {
  if (place.startsWith('gs:')) {
    const { GcsTreeHeadPublisher } = await import('../storage/engines/gcs/targets.ts');
    return new GcsTreeHeadPublisher(place);
  }
  if (/^https?:/.test(place)) {
    const { HttpsTreeHeadPublisher } = await import('../storage/engines/https/treeHeadPublisher.ts');
    return new HttpsTreeHeadPublisher(place);
  }
  const { LocalTreeHeadPublisher } = await import('../storage/engines/filesystem/targets.ts');
  return new LocalTreeHeadPublisher(resolve(place.startsWith('file:') ? pathOf(place) : place));
}

/** Whether the place of a warehouse is a folder. */
export function isFolder(place: string): boolean {
  return !/^postgres(?:ql)?:/.test(place);
}

/**
 * Opens the warehouse at a place: a folder of Parquet files, as a path or `file:`; or tables in a schema of a PostgreSQL database, as
 * `postgres:`. Resolves with undefined while another process has the folder open.
 */
export async function openWarehouse(place: string, schema: string): Promise<Warehouse | undefined> {
  if (!isFolder(place)) {
    const { PostgresWarehouse } = await import('../storage/engines/postgres/warehouse.ts');
    return PostgresWarehouse.open(place, schema);
  }
  const { ParquetWarehouse } = await import('../storage/engines/filesystem/parquetWarehouse.ts');
  const { lockFolder } = await import('../storage/engines/sqlite/folderLock.ts');
  return ParquetWarehouse.open(resolve(place.startsWith('file:') ? pathOf(place) : place), lockFolder);
}

/** Whether the structure of the file at a SQLite URL is sound. Rejects with `unavailable`. */
export async function isIntactFile(url: string): Promise<boolean> {
  const { isIntact } = await import('../storage/engines/sqlite/file.ts');
  return isIntact(pathOf(url));
}

/** Opens a place for backups: a folder, as a path or `file:`, or a bucket as `gs:`. */
export async function openBackupTarget(place: string): Promise<BackupTarget> {
  if (place.startsWith('gs:')) {
    const { GcsBackupTarget } = await import('../storage/engines/gcs/targets.ts');
    return new GcsBackupTarget(place);
  }
  const { LocalBackupTarget } = await import('../storage/engines/filesystem/targets.ts');
  return new LocalBackupTarget(resolve(place.startsWith('file:') ? pathOf(place) : place));
}

const logOnServer = /^(esdb|kurrentdb)(\+discover)?:/;

/**
 * Opens an event log at a URL to be filled from the one with an identity: a new one, or one whose filling was cut off. Rejects with
 * `unavailable`, and with `conflict` when a server holds anything else.
 */
export async function openLogCopy(url: string, identity: string): Promise<LogCopy> {
  if (logOnServer.test(url)) {
    const { EventStoreDbLogCopy } = await import('../storage/engines/eventstoredb/logCopy.ts');
    return EventStoreDbLogCopy.open(url, identity);
  }
  const { SqliteLogCopy } = await import('../storage/engines/sqlite/logCopy.ts');
  return new SqliteLogCopy(pathOf(url), identity);
}

/**
 * Whether the event log at a URL can be filled from the one with an identity, as far as its server decides that; writes nothing.
 * Rejects with `unavailable`.
 */
export async function acceptsLogCopy(url: string, identity: string): Promise<boolean> {
  if (!logOnServer.test(url)) return true;
  const { EventStoreDbLogCopy } = await import('../storage/engines/eventstoredb/logCopy.ts');
  return EventStoreDbLogCopy.accepts(url, identity);
}

/**
 * Opens limiters that count where the state at `stateUrl` is: in MongoDB for all instances together, beside SQLite in this
 * process's memory; if several threads count, in the memory that they `share`.
 */
export async function openRateLimiters(stateUrl: string, share?: CountsMemory): Promise<RateLimiters> {
  if (isMongo(stateUrl)) {
    const { openMongoRateLimiters } = await import('../storage/engines/mongodb/rateLimiter.ts');
    return openMongoRateLimiters(stateUrl);
  }
  const counts = share && new SharedCounts(share);
  const limiter = (limit: Limit) =>
    counts ? new SharedRateLimiter(limit, counts) : new MemoryRateLimiter(limit);
  return { limiter, close: async () => undefined };
}
