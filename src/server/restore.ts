import { createPublicKey } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Position } from '../domain/events/event.ts';
import type { OnProgress } from '../modules/backup/backupLog.ts';
import { type Manifest, noBackup, readManifest, requireManifest } from '../modules/backup/manifest.ts';
import { type RestoreTask, restoreBackup } from '../modules/backup/restoreBackup.ts';
import { readKeys, type ServiceKeys } from '../modules/backup/sealedKeys.ts';
import { type LaterErasures, readNotices } from '../modules/erasure/readNotices.ts';
import { PublicKeys } from '../modules/integrity/PublicKeys.ts';
import { parseSigningKey } from '../modules/integrity/signing.ts';
import { type Config, ConfigError, loadConfig } from '../platform/config.ts';
import { ServiceError, unavailable } from '../platform/errors.ts';
import type { BackupTarget } from '../storage/backupTarget.ts';
import { fileProblem } from '../storage/engines/fileProblem.ts';
import { secretFile } from '../storage/engines/filesystem/secretFile.ts';
import { makeOwnedFolders } from '../storage/engines/folderOwner.ts';
import { signingKeyFiles, unsetKeyFiles } from './keyFiles.ts';
import {
  openBackupTarget,
  openDocumentStore,
  openEventLog,
  openHeadTarget,
  openLogCopy,
  openStateStore,
  pathOf,
} from './openBackend.ts';
import { eraseUnknown, type RepeatedErasures, requireWhole } from './repeatErasures.ts';
import { isHalfRestored, markRestore, unmarkRestore } from './restoreMarker.ts';
import { backedUpTables } from './stateTables.ts';
import { terminal } from './terminal.ts';
import { operator } from './withStores.ts';

export interface RestoreOptions {
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
export interface Restored {
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
    markRestore(dataDir);
    const { position, erased } = await fill(config, target, { ...task, onProgress: options.onProgress });
    for (const file of unsetKeyFiles(config)) {
      const key = keys.get(file);
      if (key) await secretFile(join(dataDir, file), () => key);
    }
    unmarkRestore(dataDir);
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

/** Returns the files that a restore creates outside of the data folder, or in it, and the folder of documents. */
function storePaths({ eventLogUrl, stateUrl, documentsUrl }: Config): { files: string[]; documents: string } {
  if (!/^sqlite:/.test(eventLogUrl) || !/^sqlite:/.test(stateUrl) || !/^file:/.test(documentsUrl)) {
    const message =
      'A backup can be restored only into stores on this machine, but EVENT_LOG_URL, STATE_URL or DOCUMENTS_URL refers to another one.';
    throw new ConfigError(message);
  }
  const files = [eventLogUrl, stateUrl].flatMap((url) =>
    ['', '-wal', '-shm'].map((end) => pathOf(url) + end),
  );
  return { files, documents: pathOf(documentsUrl) };
}

/** Removes what an interrupted restore has left; there must be nothing else. Throws `ConfigError`. */
function clear(config: Config): void {
  const { dataDir } = config;
  const { files, documents } = storePaths(config);
  if (isHalfRestored(dataDir)) {
    const keys = unsetKeyFiles(config).map((file) => join(dataDir, file));
    // The folder itself may be where a disk is mounted.
    for (const path of [...files, ...keys, ...contentsOf(documents)])
      rmSync(path, { recursive: true, force: true });
    return;
  }
  const full =
    [dataDir, documents].find((folder) => contentsOf(folder).length > 0) ??
    files.find((path) => existsSync(path));
  if (full !== undefined)
    throw new ConfigError(`${full} is not empty. A backup can be restored only into an empty data folder.`);
}

/** Returns what is in a folder, if it exists, except for what a file system puts at its root; a file counts as its own contents. */
function contentsOf(folder: string): string[] {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (!found.isDirectory()) return [folder];
  return readdirSync(folder)
    .filter((name) => name !== 'lost+found')
    .map((name) => join(folder, name));
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
