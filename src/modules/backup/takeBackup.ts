import { ServiceError } from '../../platform/errors.ts';
import { version } from '../../platform/version.ts';
import type { BackupTarget } from '../../storage/backupTarget.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { STORE_FORMAT } from '../../storage/storeFormat.ts';
import { publicKeysOf, type SigningKey } from '../integrity/SigningKey.ts';
import { backupLog, type OnProgress } from './backupLog.ts';
import { backupObjects, type ObjectPorts } from './backupObjects.ts';
import { backupState } from './backupState.ts';
import { isContinuedBy } from './isContinuedBy.ts';
import { type BackupFile, filesOf, type Manifest, readManifest, writeManifest } from './manifest.ts';
import { objectName } from './objectIndex.ts';
import { removeErased } from './removeErased.ts';
import { readKeys, type ServiceKeys, writeKeys } from './sealedKeys.ts';

export interface BackupPorts extends ObjectPorts {
  stateStore: StateStore;
  /** The tables of the state store that are backed up. */
  tables: readonly StateTable<object>[];
  keys(): Promise<ServiceKeys>;
  signingKey(): Promise<SigningKey>;
  /** Rejects with `conflict` while another process makes a backup. */
  requireOnly(): Promise<void>;
}

export interface BackupOptions {
  passphrase: string;
  /** Whether the keys are resealed, with a different passphrase than before. */
  isNewPassphrase: boolean;
  onProgress?: OnProgress;
}

/** What a run has written. */
export interface BackupResult {
  manifest: Manifest;
  events: number;
  /** Of documents and messages, and their bytes. */
  objects: number;
  bytes: number;
  /** Number of events removed because they were erased since. */
  erased: number;
  /** What the stores should contain and do not, a line each. The backup contains everything else. */
  problems: string[];
}

/** Names of files that a backup writes, and of those left by an interrupted write. */
const OWN = /^(?:manifest\.json|keys-\w{8}\.json|(?:log|state|objects)(?:[/-][\w/.-]+)?)(?:\.part)?$/;

/**
 * Updates the backup in a place, or starts it, while the service is running. The state store is read before the log, so that
 * nothing in it is ahead of the log, and objects after both, so that each object named there exists. Until the new manifest is
 * written, the backup is the previous one, complete. Rejects with `conflict` when the place contains anything else, or a backup
 * that this log does not continue, or one that another process has made meanwhile; with `permission_denied` when the passphrase is
 * not the previous one; with `validation_failed` when a new one is too short; with `unavailable`.
 */
export async function takeBackup(
  ports: BackupPorts,
  { passphrase, isNewPassphrase, onProgress }: BackupOptions,
): Promise<BackupResult> {
  const { eventLog, stateStore, target, tables } = ports;
  const previous = await previousBackup(ports);
  const present = await ownFiles(target, previous === undefined);
  const log = await eventLog.identity();
  const keys = await ports.keys();
  const sealed = await sealKeys(target, log, keys, isNewPassphrase ? undefined : previous, passphrase);
  const created_at = new Date().toISOString();
  const { state, messages } = await backupState(stateStore, target, tables);
  const logged = await backupLog(eventLog, target, previous, await eventLog.head(), onProgress);
  const { added, tombstones, uploads, problems, ...logPart } = logged;
  const listed = [...(previous?.erasing ?? []), ...tombstones];
  const removed = await removeErased(eventLog, target, logPart.segments, listed);
  const wanted = [...uploads, ...messages];
  const objects = await backupObjects(ports, previous?.objects ?? [], wanted, present);
  // For a key that the log came to know in the meantime.
  const keysNow = await ports.keys();
  const sealedNow = isSame(keys, keysNow) ? sealed : await writeKeys(target, log, keysNow, passphrase);
  const { segments, erasing } = removed;
  await requireUnchanged(ports, previous);
  const manifest = await writeManifest(
    target,
    {
      type: 'chartledger.backup.v1',
      ...{ version, format: STORE_FORMAT, log, created_at },
      times_rise: false,
      ...{ ...logPart, segments, erasing, state, objects: objects.files, keys: sealedNow },
    },
    await ports.signingKey(),
  );
  const objectFiles = [...objects.index.values()].map(({ id }) => objectName(id));
  const kept = new Set([...filesOf(manifest), ...objectFiles]);
  for (const name of await ownFiles(target)) if (!kept.has(name)) await target.delete(name);
  return {
    ...{ manifest, events: added, objects: objects.added, bytes: objects.bytes, erased: removed.events },
    problems: [...problems, ...objects.problems],
  };
}

/** Returns the existing backup, if it can be continued. */
async function previousBackup({ eventLog, target, signingKey }: BackupPorts): Promise<Manifest | undefined> {
  const previous = await readManifest(target);
  if (previous === undefined) return undefined;
  const isOther = previous.log !== (await eventLog.identity());
  const problem = isOther
    ? 'belongs to another event log'
    : publicKeysOf(await signingKey()).problem(previous)
      ? 'was signed with another key, or was changed afterwards'
      : (await isContinuedBy(eventLog, target, previous))
        ? undefined
        : 'holds events that the event log lost when it was reset to an earlier state';
  if (problem === undefined) return previous;
  throw new ServiceError(
    'conflict',
    `The backup in ${target.place} ${problem}. Start a new one in another place.`,
  );
}

/**
 * Rejects with `conflict` when another process has made a backup meanwhile, or is making one: it removes files that are not its own.
 */
async function requireUnchanged(
  { target, requireOnly }: BackupPorts,
  previous: Manifest | undefined,
): Promise<void> {
  await requireOnly();
  if ((await readManifest(target))?.signature === previous?.signature) return;
  throw new ServiceError('conflict', `Another backup was made in ${target.place} meanwhile. Run this again.`);
}

/**
 * Returns the files of a backup, complete or not. Rejects with `conflict` if there are others although there must be `noOthers`.
 */
async function ownFiles(target: BackupTarget, noOthers = false): Promise<Set<string>> {
  const own = new Set<string>();
  for await (const name of target.names()) {
    if (OWN.test(name)) own.add(name);
    else if (noOthers)
      throw new ServiceError('conflict', `${target.place} contains files that do not belong to a backup.`);
  }
  return own;
}

/** Returns the file of the sealed keys: the previous one, if it contains the same keys and the passphrase opens it. */
async function sealKeys(
  target: BackupTarget,
  log: string,
  keys: ServiceKeys,
  previous: Manifest | undefined,
  passphrase: string,
): Promise<BackupFile> {
  if (previous === undefined) return writeKeys(target, log, keys, passphrase);
  const before = await readKeys(target, previous, passphrase);
  return isSame(before, keys) ? previous.keys : writeKeys(target, log, keys, passphrase);
}

function isSame(before: ServiceKeys, keys: ServiceKeys): boolean {
  return before.size === keys.size && [...keys].every(([name, key]) => before.get(name)?.equals(key));
}
