import { z } from 'zod';
import type { Position, RecordedEvent } from '../../../domain/events/event.ts';
import { UnknownSchemaVersion } from '../../../domain/events/upcasting.ts';
import { documentEventTypes, uploadedBy } from '../../../domain/records/document.ts';
import { UnreadableError } from '../../../platform/errors.ts';
import type { DocumentStore } from '../../../storage/documentStore.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { Clock } from '../../../storage/rateLimiters.ts';
import type { StateStore, StateTable } from '../../../storage/stateStore.ts';

const DAY_MS = 86_400_000;
/** Where the purge stores its progress in each log, by the log's identity. */
const placeTable: StateTable<{ position: Position }> = {
  name: 'document_purge_v1',
  body: z.object({ position: z.number() }),
};

/** Files that were replaced or removed, and were kept by a legal hold when due. */
const heldTable: StateTable<Replaced> = {
  name: 'document_purge_held_v1',
  body: z.object({ stream: z.string(), revision: z.number() }),
};
const HELD_AT_ONCE = 500;

/** The event that replaced a document's bytes. */
type Replaced = Pick<RecordedEvent, 'stream' | 'revision'>;

interface PurgePorts {
  eventLog: EventLog;
  stateStore: StateStore;
  documentStore: DocumentStore;
  clock: Pick<Clock, 'now'>;
  /** Whether a legal hold protects the document of a stream. */
  isHeld(stream: string): Promise<boolean>;
}

/**
 * Deletes the bytes of documents that were replaced or removed at least `retentionDays` ago; those protected by a legal hold when
 * it is released. Resolves when none are due any more. If the progress is lost, files already deleted are just checked again.
 */
export async function purgeDocuments(
  ports: PurgePorts,
  retentionDays: number,
  signal: AbortSignal,
): Promise<void> {
  const { eventLog, stateStore, clock } = ports;
  const log = await eventLog.identity();
  await purgeReleased(ports, log, signal);
  const after = await place(ports, log);
  for await (const batch of eventLog.follow({ after, filter: { eventTypes: documentEventTypes }, signal })) {
    for (const event of batch.events) {
      if (Date.parse(event.recordedAt) + retentionDays * DAY_MS > clock.now()) return;
      const outcome = await purgePrevious(ports, event);
      if (outcome === 'unreadable') return;
      if (outcome === 'held') await saveHeld(stateStore, log, event);
      await savePlace(stateStore, log, event.position);
    }
    await savePlace(stateStore, log, batch.position);
    if (batch.caughtUp) return;
  }
}

/** Returns where the last purge ended; the beginning when that is lost, or is no position of the log, as after a restore. */
async function place({ eventLog, stateStore }: PurgePorts, log: string): Promise<Position> {
  const [row] = await stateStore.load(placeTable, [log]);
  if (row === undefined || (await eventLog.hasPosition(row.body.position))) return row?.body.position ?? 0;
  await stateStore.remove(placeTable, [log], row.revision);
  return 0;
}

function savePlace(stateStore: StateStore, log: string, position: Position): Promise<void> {
  return stateStore.save(placeTable, [
    { id: log, partition: log, order: 0, revision: position, body: { position } },
  ]);
}

/** Deletes the bytes that a legal hold protected when they were due, and that none protects any more. */
async function purgeReleased(ports: PurgePorts, log: string, signal: AbortSignal): Promise<void> {
  const { stateStore } = ports;
  for (let after: number | undefined; !signal.aborted; ) {
    const query = { partition: log, limit: HELD_AT_ONCE, ...(after !== undefined && { after }) };
    const rows = await stateStore.page(heldTable, query);
    for (const { id, revision, body } of rows) {
      if ((await purgePrevious(ports, body)) === 'purged') await stateStore.remove(heldTable, [id], revision);
    }
    if (rows.length < HELD_AT_ONCE) return;
    after = rows.at(-1)?.order;
  }
}

function saveHeld(
  stateStore: StateStore,
  log: string,
  { id, position, stream, revision }: RecordedEvent,
): Promise<void> {
  const row = { id, partition: log, order: position, revision: 0, body: { stream, revision } };
  return stateStore.save(heldTable, [row]);
}

/**
 * Deletes the bytes that an event replaced, unless they are held: those of the preceding event in the stream. `unreadable` when
 * only a newer version of the service can tell which they are; when no version can, they stay.
 */
async function purgePrevious(
  { eventLog, documentStore, isHeld }: PurgePorts,
  { stream, revision }: Replaced,
): Promise<'purged' | 'held' | 'unreadable'> {
  if (revision === 0) return 'purged';
  try {
    const [previous] = await eventLog.readStream(stream, { from: revision - 1, limit: 1 });
    // If that was erased, the read returns what follows it.
    if (previous?.revision !== revision - 1 || previous.type !== 'DocumentUploaded') return 'purged';
    if (await isHeld(stream)) return 'held';
    await documentStore.delete(uploadedBy(previous).object_id);
    return 'purged';
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return error instanceof UnknownSchemaVersion ? 'unreadable' : 'purged';
  }
}
