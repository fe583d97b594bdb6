import { v7 as uuidv7 } from 'uuid';
import type { JsonObject, NewEvent, Position, Principal, RecordedEvent } from '../../domain/events/event.ts';
import { tombstoneTypes } from '../../domain/events/payloads.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { CopiedPlace, LogCopy } from '../../storage/eventLog.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import type { BackupTarget } from '../../storage/targets.ts';
import type { NoticedErasure, UnknownErasure } from '../erasure/notices.ts';
import {
  each,
  LogCheck,
  type OnProgress,
  objectName,
  readIndex,
  readObject,
  storedObjects,
} from './contents.ts';
import { damaged, type Manifest, readLines } from './format.ts';

/** The contents of a place in a log; what was erased has no type. */
type Place = Pick<RecordedEvent, 'position' | 'stream' | 'id'> & { type?: string };

/** Finds the streams that notices of erasures identify only by places, as the places of a log pass by. */
export class AffectedStreams {
  readonly #erasures: readonly NoticedErasure[];
  readonly #wanted: ReadonlySet<Position>;
  readonly #found = new Map<Position, Place>();

  constructor(erasures: readonly NoticedErasure[]) {
    this.#erasures = erasures;
    this.#wanted = new Set(erasures.flatMap(({ tombstone, first }) => [tombstone, first.position]));
  }

  add(places: readonly Place[]): void {
    for (const place of places) if (this.#wanted.has(place.position)) this.#found.set(place.position, place);
  }

  /** Returns the erasures of streams that passed by whose tombstones did not. */
  unknown(): UnknownErasure[] {
    return this.#erasures.flatMap((erasure) => {
      const { tombstone, first } = erasure;
      const place = this.#found.get(first.position);
      if (place?.id !== first.event_id) return [];
      // A log that was reset to an earlier state may have something else there by now.
      const there = this.#found.get(tombstone);
      const isKnown = there?.stream === place.stream && isTombstone(there);
      return isKnown ? [] : [{ ...erasure, stream: place.stream }];
    });
  }
}

/** Whether it is a tombstone, or what is left of one. */
function isTombstone({ type }: Place): boolean {
  return type === undefined || tombstoneTypes.includes(type);
}

/** The service's own notes, in a separate stream: an event of the type `LogRestored` for each restore, `LogMoved` for each move. */
export const RESTORES_STREAM = 'log-restores';
const MICROSECONDS = 1_000;
const AT_ONCE = 500;

/** Empty stores, to be filled. */
interface RestorePorts {
  openLog(identity: string): Promise<LogCopy>;
  stateStore: StateStore;
  documentStore: DocumentStore;
  tables: readonly StateTable<object>[];
}

/** What is restored, and by whom. */
export interface RestoreTask {
  manifest: Manifest;
  principal: Principal;
  /** Known erasures, which the backup may lack. */
  erasures: readonly NoticedErasure[];
  onProgress: OnProgress | undefined;
}

/** A log that was filled. */
interface RestoredLog {
  /** Of the event that records the restore. */
  position: Position;
  /** The erasures that concern the contents of the backup and that it lacks. */
  erasures: UnknownErasure[];
}

/**
 * Fills stores from a backup whose signature is valid: each event in its place, with its time, then the event that records the
 * restore. Rejects with `conflict` when a file of the backup is missing or was changed, and with `unavailable`; the stores then
 * contain part of it.
 */
export async function restoreBackup(
  ports: RestorePorts,
  target: BackupTarget,
  task: RestoreTask,
): Promise<RestoredLog> {
  const { manifest } = task;
  const restored = await restoreLog(ports, target, task);
  for (const file of manifest.state) {
    const table = ports.tables.find(({ name }) => name === file.table);
    if (table === undefined)
      throw damaged(target, file.name, 'was written by a later version of the service');
    const rows = await readLines<StateRow<object>>(target, file);
    for (let at = 0; at < rows.length; at += AT_ONCE)
      await ports.stateStore.save(table, rows.slice(at, at + AT_ONCE));
  }
  await restoreObjects(ports.documentStore, target, manifest);
  await ports.documentStore.setLog(manifest.log);
  return restored;
}

async function restoreLog(
  { openLog }: RestorePorts,
  target: BackupTarget,
  { manifest, principal, erasures, onProgress }: RestoreTask,
): Promise<RestoredLog> {
  const log = await openLog(manifest.log);
  try {
    const check = new LogCheck();
    const concerned = new AffectedStreams(erasures);
    for (const segment of manifest.segments) {
      const places = await readLines<CopiedPlace>(target, segment);
      check.add(segment, places);
      concerned.add(places);
      await log.add(places);
      onProgress?.(segment.last, manifest.last_position, check.events);
    }
    const [problem] = check.problems(manifest);
    if (problem) throw new ServiceError('conflict', problem);
    const position = positionBehind(manifest.last_position, Date.parse(manifest.created_at));
    const gap = { after: manifest.last_position, position };
    await log.finish(RESTORES_STREAM, logRestored(manifest, principal), [gap]);
    return { position, erasures: concerned.unknown() };
  } finally {
    await log.close();
  }
}

/**
 * Returns where a log that was restored or moved continues: at the present time, which is not before `since`, in microseconds since
 * 1970. No log grows by a million positions a second, so no continuation of it that began earlier has come that far, and what
 * consumers have read stays separate from what follows.
 */
export function positionBehind(last: Position, since = 0): Position {
  return Math.max(last + 1, Math.max(Date.now(), since) * MICROSECONDS);
}

function logRestored({ created_at, last_position }: Manifest, principal: Principal): NewEvent {
  return logNote('LogRestored', { backup_created_at: created_at, last_position }, principal);
}

/** Returns a note for the stream of restores. */
export function logNote(type: 'LogRestored' | 'LogMoved', data: JsonObject, principal: Principal): NewEvent {
  const id = uuidv7();
  return {
    ...{ id, type, data },
    metadata: {
      ...{ workspace: INSTALLATION, principal, requestId: id, $correlationId: id, schemaVersion: 1 },
    },
  };
}

async function restoreObjects(
  documentStore: DocumentStore,
  target: BackupTarget,
  manifest: Manifest,
): Promise<void> {
  const index = await readIndex(target, manifest.objects);
  await each(storedObjects(index), async (object) => {
    const { id } = object;
    const { sha256 } = await documentStore.put(id, await readObject(target, object));
    if (sha256 !== object.sha256) throw damaged(target, objectName(id), 'was changed');
    await documentStore.confirm(id);
  });
}
