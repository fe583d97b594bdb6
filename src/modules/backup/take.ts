import { dataAs, type ErasedEvent, type Position } from '../../domain/events/event.ts';
import {
  type ErasedVersion,
  erasureStep,
  placesListedIn,
  type RecordErased,
} from '../../domain/events/payloads.ts';
import { asUnreadable, ServiceError } from '../../platform/errors.ts';
import { version } from '../../platform/version.ts';
import { type CopiedPlace, type EventLog, inLogOrder } from '../../storage/eventLog.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { STORE_FORMAT } from '../../storage/storeFormat.ts';
import type { BackupTarget } from '../../storage/targets.ts';
import { publicKeysOf, type SigningKey } from '../integrity/publicKeys.ts';
import { readLog } from '../integrity/verify.ts';
import {
  backupLog,
  backupObjects,
  backupState,
  type ObjectPorts,
  type OnProgress,
  objectName,
  segmentName,
  segmentOf,
} from './contents.ts';
import {
  type BackupFile,
  filesOf,
  type Manifest,
  readKeys,
  readLines,
  readManifest,
  type Segment,
  type ServiceKeys,
  type Tombstone,
  writeKeys,
  writeLineFiles,
  writeManifest,
} from './format.ts';

/**
 * Whether the log still has the last event of a backup in its place. A log that was reset to an earlier state may have grown over
 * that place since. Rejects with `unavailable`, and with `conflict` when the file with that event is damaged.
 */
async function isContinuedBy(
  eventLog: EventLog,
  target: BackupTarget,
  { segments, last_position }: Manifest,
): Promise<boolean> {
  if (!(await eventLog.hasPosition(last_position))) return false;
  const segment = segments.at(-1);
  if (segment === undefined) return true;
  const places = await readLines<CopiedPlace>(target, segment);
  const after = places.at(-2)?.position ?? segments.at(-2)?.last ?? 0;
  if (!(await eventLog.hasPosition(after))) return false;
  let last: Pick<CopiedPlace, 'position' | 'id'> | undefined;
  for await (const batch of readLog(eventLog, { after, until: segment.last }))
    last = inLogOrder(batch).at(-1) ?? last;
  return last?.position === segment.last && last.id === places.at(-1)?.id;
}

interface Removed {
  segments: Segment[];
  /** Tombstones whose events the log still contains. */
  erasing: Tombstone[];
  /** Number of events removed from the backup. */
  events: number;
}

/**
 * Removes what the log has since removed according to these tombstones from the segments that contain it: each of these is
 * rewritten. Rejects with `unavailable`, and with `conflict` when such a segment is damaged.
 */
async function removeErased(
  eventLog: EventLog,
  target: BackupTarget,
  segments: Segment[],
  tombstones: readonly Tombstone[],
): Promise<Removed> {
  const { places, erasing } = await removedPlaces(eventLog, tombstones);
  const positions = [...places.keys()];
  const removed: Removed = { segments: [], erasing, events: 0 };
  for (const segment of segments) {
    const isConcerned = positions.some((at) => at >= segment.first && at <= segment.last);
    removed.segments.push(isConcerned ? await rewrite(target, segment, places, removed) : segment);
  }
  return removed;
}

async function rewrite(
  target: BackupTarget,
  segment: Segment,
  places: ReadonlyMap<Position, ErasedEvent>,
  removed: Removed,
): Promise<Segment> {
  let count = 0;
  const lines = (await readLines<CopiedPlace>(target, segment)).map((line) => {
    const erased = places.get(line.position);
    if (erased === undefined || 'leaf' in line) return line;
    count += 1;
    return erased;
  });
  if (count === 0) return segment;
  removed.events += count;
  let rewritten = segment;
  await writeLineFiles(target, segmentName, lines, (file, written) => {
    rewritten = segmentOf(file, written);
  });
  return rewritten;
}

/** Returns what is listed by tombstones and no longer in the log, by position. */
async function removedPlaces(eventLog: EventLog, tombstones: readonly Tombstone[]) {
  const places = new Map<Position, ErasedEvent>();
  const erasing: Tombstone[] = [];
  for (const tombstone of tombstones) {
    const removed = await removedBy(eventLog, tombstone).catch((error) => void asUnreadable(error));
    if (removed === undefined) erasing.push(tombstone);
    else for (const place of removed) places.set(place.position, place);
  }
  return { places, erasing };
}

/** Returns what a tombstone lists; undefined while the log still contains it. Rejects with `unreadable`, too. */
async function removedBy(
  eventLog: EventLog,
  { stream, revision }: Tombstone,
): Promise<ErasedEvent[] | undefined> {
  const [event] = await eventLog.readStream(stream, { from: revision, limit: 1 });
  // A tombstone that is itself gone is listed by a later one.
  if (event?.revision !== revision || erasureStep(event) === undefined) return [];
  const { erased } = dataAs<RecordErased>(event.data);
  const [first] = erased;
  if (first && (await isThere(eventLog, stream, first))) return undefined;
  return placesListedIn(event);
}

async function isThere(eventLog: EventLog, stream: string, { version }: ErasedVersion): Promise<boolean> {
  const [found] = await eventLog.readStream(stream, { from: version - 1, limit: 1 });
  return found?.revision === version - 1;
}

interface BackupPorts extends ObjectPorts {
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
export async function takeBackup(ports: BackupPorts, options: BackupOptions): Promise<BackupResult> {
  const previous = await previousBackup(ports);
  try {
    return await continueBackup(ports, previous, options);
  } catch (error) {
    // A file that is gone may be one that another backup has removed.
    await requireUnchanged(ports, previous);
    throw error;
  }
}

async function continueBackup(
  ports: BackupPorts,
  previous: Manifest | undefined,
  { passphrase, isNewPassphrase, onProgress }: BackupOptions,
): Promise<BackupResult> {
  const { eventLog, stateStore, target, tables } = ports;
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
  throw new ServiceError(
    'conflict',
    `Another backup was made in ${target.place} at the same time. Run this again.`,
  );
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
