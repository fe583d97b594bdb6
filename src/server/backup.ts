import { createPublicKey } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Position } from '../domain/events/event.ts';
import type { OnProgress } from '../modules/backup/contents.ts';
import {
  type Manifest,
  noBackup,
  readKeys,
  readManifest,
  requireManifest,
  type ServiceKeys,
} from '../modules/backup/format.ts';
import { AffectedStreams, type RestoreTask, restoreBackup } from '../modules/backup/restore.ts';
import { type BackupOptions, type BackupResult, takeBackup } from '../modules/backup/take.ts';
import {
  eraseAgain,
  type LaterErasures,
  noticesTable,
  readNotices,
  type UnknownErasure,
} from '../modules/erasure/notices.ts';
import type { RemovalPorts } from '../modules/erasure/removal.ts';
import { consumersTable } from '../modules/eventStream/consumers.ts';
import { reservedRequests } from '../modules/idempotency/reservations.ts';
import {
  messageClaimsTable,
  messageLinksTable,
  messagesTable,
} from '../modules/integrations/messages/message.ts';
import { unusedMessagesTable } from '../modules/integrations/messages/unused.ts';
import { PublicKeys, publicKeysOf } from '../modules/integrity/publicKeys.ts';
import { parseSigningKey } from '../modules/integrity/signing.ts';
import { sentHeadsTable } from '../modules/integrity/treeHeads.ts';
import { readLog } from '../modules/integrity/verify.ts';
import { sentNotificationsTable } from '../modules/notifications/notifier.ts';
import { subscriptionsTable } from '../modules/notifications/subscriptions.ts';
import { attemptsTable } from '../modules/webhooks/attempts.ts';
import { deliveryTable } from '../modules/webhooks/store.ts';
import { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import { type Config, ConfigError, loadConfig } from '../platform/config.ts';
import { ServiceError, unavailable } from '../platform/errors.ts';
import { secretFile } from '../storage/engines/filesystem/files.ts';
import { fileProblem, makeOwnedFolders } from '../storage/engines/shared.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { StateTable } from '../storage/stateStore.ts';
import type { BackupTarget } from '../storage/targets.ts';
import { fullPlace, localContents } from './emptyStores.ts';
import { withExclusiveLock } from './exclusiveLock.ts';
import { findKeys, openSigningKey, signingKeyFiles, unsetKeyFiles } from './keys.ts';
import { saveLastBackup } from './lastBackup.ts';
import {
  openBackupTarget,
  openDocumentStore,
  openEventLog,
  openHeadTarget,
  openLogCopy,
  openOwnStateStore,
  openStateStore,
} from './openStorage.ts';
import { operator } from './operator.ts';
import {
  isHalfFilled,
  loadSigningKey,
  markFilling,
  requireKeyFolder,
  unmarkFilling,
  withDocumentStore,
  withEventLog,
} from './stores.ts';
import { terminal } from './terminal.ts';

/** The tables of the state store that are backed up. */
export const backedUpTables: readonly StateTable<object>[] = [
  deliveryTable,
  attemptsTable,
  messagesTable,
  messageLinksTable,
  messageClaimsTable,
  unusedMessagesTable,
  reservedRequests,
  sentHeadsTable,
  noticesTable,
  subscriptionsTable,
  sentNotificationsTable,
  consumersTable,
];

/** Those that are not, and what happens to a service that finds them empty. */
export const leftOutTables: Readonly<Record<string, string>> = {
  sessions_v1: 'people sign in again; a session that has ended since must not come back',
  heads_status_v1: 'it is written with the next head',
  erasures_v1: 'every erasure is looked at again, and completed where it is not',
  erasures_running_v1: 'two processes may carry out the same erasure, which takes them longer',
  purges_v1: 'the files are purged again after the next erasure',
  scavenges_v1: 'scavenges are requested again, with the command that erases',
  document_purge_v1: 'what was replaced or removed is looked at again, and purged where it is due',
  document_purge_held_v1: 'as with the place of the purge',
  preferences_v1: 'people see the first steps again, and begin in the first workspace',
  last_backup_v1: 'it is written with the next backup',
  verifications_v1: 'it is verified again',
  scorecards_v1: 'it is analysed again',
  simulations_v1: 'it is analysed again',
  used_assertions_v1: 'an assertion expires within five minutes',
};

/** Backs up the service named by the environment to a place. Rejects as `takeBackup` does. */
export async function backUp(place: string, options: BackupOptions): Promise<BackupResult> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.signingKey, config.dataDir);
  const target = await openBackupTarget(place);
  return withEventLog((eventLog) =>
    withDocumentStore(async (documentStore) => {
      const stateStore = await openOwnStateStore(config, eventLog);
      try {
        return await withExclusiveLock(config.stateUrl, 'backup', async (requireOnly) => {
          const ports = { eventLog, documentStore, stateStore, target, tables: backedUpTables };
          const keys = {
            async keys() {
              // Created if there is none, so that it is in the backup.
              await openSigningKey(eventLog, config);
              return findKeys(config);
            },
            signingKey: () => openSigningKey(eventLog, config),
          };
          const result = await takeBackup({ ...ports, ...keys, requireOnly }, options);
          await saveLastBackup(stateStore, place, result.manifest.created_at);
          return result;
        });
      } finally {
        await stateStore.close();
      }
    }),
  );
}

/** Erasures after the end of a backup that were carried out again. */
interface RepeatedErasures extends Pick<LaterErasures, 'asOf' | 'problems'> {
  /** Number of records and documents erased. */
  erased: number;
  /** Whether their bytes stay in the log's files until its server scavenges. */
  scavenges: boolean;
}

/**
 * Carries out all erasures reported by notices in a place that the event log lacks, because it was reset to an earlier state by
 * other means than `restore`. Rejects with `conflict` when a notice is missing or invalid, unless that is allowed, and as
 * `eraseAgain` does.
 */
export async function repeatErasures(
  place: string,
  { allowMissing, onProgress }: { allowMissing: boolean; onProgress?: OnProgress },
): Promise<RepeatedErasures> {
  const target = await openHeadTarget(place);
  return withEventLog((eventLog) =>
    withDocumentStore(async (documentStore) => {
      const publicKeys = publicKeysOf(await loadSigningKey(eventLog));
      // All of them: the log may since have grown over the places of what it lost.
      const none = {
        log: await eventLog.identity(),
        last_position: 0,
        created_at: new Date(0).toISOString(),
      };
      const later = requireWhole(await readNotices(target, none, publicKeys), allowMissing);
      const concerned = new AffectedStreams(later.erasures);
      const until = await eventLog.head();
      let events = 0;
      for await (const batch of readLog(eventLog, { after: 0, until })) {
        for (const places of [batch.events, batch.erased, batch.unreadable]) concerned.add(places);
        events += batch.events.length;
        onProgress?.(batch.position, until, events);
      }
      const stateStore = await openOwnStateStore(loadConfig(terminal().env), eventLog);
      try {
        const stores = { eventLog, documentStore, stateStore };
        const erased = await eraseUnknown(stores, concerned.unknown());
        return { ...later, erased, scavenges: eventLog.scavenger !== undefined };
      } finally {
        await stateStore.close();
      }
    }),
  );
}

/** Carries out erasures that a log lacks; returns the number of streams erased. Rejects as `eraseAgain` does. */
async function eraseUnknown(
  stores: Omit<RemovalPorts, 'webhooksOf'> & { eventLog: EventLog },
  erasures: readonly UnknownErasure[],
): Promise<number> {
  const webhooks = await WebhookDirectory.open(stores.eventLog);
  try {
    return await eraseAgain({ ...stores, webhooksOf: (id) => webhooks.idsOf(id) }, erasures);
  } finally {
    webhooks.close();
  }
}

/** Returns `later`; throws `conflict` when a notice is missing or invalid, unless that is allowed. */
function requireWhole(later: LaterErasures, allowMissing: boolean): LaterErasures {
  if (later.problems.length === 0 || allowMissing) return later;
  const advice = 'With --allow-missing-erasures it is done all the same.';
  throw new ServiceError('conflict', [...later.problems, advice].join('\n'));
}

interface RestoreOptions {
  passphrase: string;
  /** Instead of the folder and stores named in the settings. */
  dataDir: string | undefined;
  /** Where notices of erasures are; default: where `HEADS_TO` says, unless that is write-only. */
  erasures?: string | undefined;
  /** Restores even if notices of erasures are missing or invalid. */
  allowMissingErasures?: boolean;
  onProgress?: OnProgress;
}

/** A completed restore. */
interface Restored {
  manifest: Manifest;
  dataDir: string;
  /** Where the log continues. */
  position: Position;
  /** The outcome of notices of erasures; undefined if there was no place to read them from. */
  erasures: Omit<RepeatedErasures, 'scavenges'> | undefined;
}

/** Returns the keys of a backup, and the public keys for checking its manifest. Rejects as `readKeys` does. */
export async function openKeys(
  target: BackupTarget,
  passphrase: string,
): Promise<{ keys: ServiceKeys; publicKeys: PublicKeys }> {
  const unchecked = await readManifest(target);
  if (unchecked === undefined) throw noBackup(target);
  const keys = await readKeys(target, unchecked, passphrase);
  const [signing, ...others] = signingKeyFiles.flatMap((name) => {
    const key = keys.get(name);
    return key ? [createPublicKey(parseSigningKey(key))] : [];
  });
  if (signing === undefined) throw new ServiceError('conflict', 'The backup lacks the signing key.');
  return { keys, publicKeys: new PublicKeys([signing, ...others]) };
}

/**
 * Restores a backup into an empty data folder, or over an interrupted restore: an incomplete one is not served. Rejects with
 * `ConfigError` when the stores are not empty, or not on this machine; with `conflict` when a notice of erasures is missing or
 * invalid; with `unavailable` when the folder cannot be written; and as `openKeys`, `requireManifest` and `restoreBackup` do.
 */
export async function restore(place: string, options: RestoreOptions): Promise<Restored> {
  const config = configOf(options.dataDir);
  const target = await openBackupTarget(place);
  const { keys, publicKeys } = await openKeys(target, options.passphrase);
  const manifest = await requireManifest(target, publicKeys);
  const later = await laterErasures(config, manifest, publicKeys, options);
  clear(config);
  const { dataDir } = config;
  const task = { manifest, principal: operator(), erasures: later?.erasures ?? [] };
  try {
    makeOwnedFolders(dataDir);
    markFilling(dataDir, 'restore');
    const { position, erased } = await fill(config, target, { ...task, onProgress: options.onProgress });
    for (const file of unsetKeyFiles(config)) {
      const key = keys.get(file);
      if (key) await secretFile(join(dataDir, file), () => key);
    }
    unmarkFilling(dataDir, 'restore');
    return { manifest, dataDir, position, erasures: later && { ...later, erased } };
  } catch (error) {
    const problem = error instanceof ServiceError ? undefined : fileProblem(dataDir, error);
    throw problem === undefined ? error : unavailable('data folder', error, problem);
  }
}

/** Returns what notices report of erasures after the end of a backup; undefined if there is no place to read them from. */
async function laterErasures(
  { headsTo }: Config,
  manifest: Manifest,
  publicKeys: PublicKeys,
  { erasures, allowMissingErasures = false }: RestoreOptions,
): Promise<LaterErasures | undefined> {
  const place = erasures ?? (headsTo?.startsWith('http') ? undefined : headsTo);
  if (place === undefined) return undefined;
  const later = await readNotices(await openHeadTarget(place), manifest, publicKeys);
  return requireWhole(later, allowMissingErasures);
}

function configOf(dataDir: string | undefined): Config {
  const { env } = terminal();
  if (dataDir === undefined) return loadConfig(env);
  const { EVENT_LOG_URL, READ_MODEL_URL, STATE_URL, DOCUMENTS_URL, ...others } = env;
  return loadConfig({ ...others, DATA_DIR: dataDir });
}

function requireLocalStores({ eventLogUrl, stateUrl, documentsUrl }: Config): void {
  if (/^sqlite:/.test(eventLogUrl) && /^sqlite:/.test(stateUrl) && /^file:/.test(documentsUrl)) return;
  const message =
    'A backup can be restored only into stores on this machine, but EVENT_LOG_URL, STATE_URL or DOCUMENTS_URL refers to another one.';
  throw new ConfigError(message);
}

/** Removes what an interrupted restore has left; there must be nothing else. Throws `ConfigError`. */
function clear(config: Config): void {
  requireLocalStores(config);
  if (isHalfFilled(config.dataDir, 'restore')) {
    const keys = unsetKeyFiles(config).map((file) => join(config.dataDir, file));
    for (const path of [...localContents(config), ...keys]) rmSync(path, { recursive: true, force: true });
    return;
  }
  const full = fullPlace(config);
  if (full !== undefined)
    throw new ConfigError(`${full} is not empty. A backup can be restored only into an empty data folder.`);
}

async function fill(
  { eventLogUrl, stateUrl, documentsUrl }: Config,
  target: BackupTarget,
  task: RestoreTask,
): Promise<{ position: Position; erased: number }> {
  const stateStore = await openStateStore(stateUrl);
  const documentStore = await openDocumentStore(documentsUrl);
  try {
    const openLog = (identity: string) => openLogCopy(eventLogUrl, identity);
    const stores = { stateStore, documentStore };
    const ports = { ...stores, openLog, tables: backedUpTables };
    const { position, erasures } = await restoreBackup(ports, target, task);
    if (erasures.length === 0) return { position, erased: 0 };
    const eventLog = await openEventLog(eventLogUrl);
    const erased = await eraseUnknown({ ...stores, eventLog }, erasures).finally(() => eventLog.close());
    return { position, erased };
  } finally {
    await documentStore.close();
    await stateStore.close();
  }
}
