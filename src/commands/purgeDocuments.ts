import { z } from 'zod';
import { UnreadableError } from '../errors.ts';
import type { Position, RecordedEvent } from '../events/event.ts';
import { UnknownSchemaVersion } from '../events/upcast.ts';
import type { Clock } from '../ports/clock.ts';
import type { DocumentStore } from '../ports/documentStore.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { StateStore, StateTable } from '../ports/stateStore.ts';
import { documentEventTypes, uploadedBy } from '../records/document.ts';

const DAY_MS = 86_400_000;
/** Where the purge keeps its place in each log, by the log's identity. */
const placeTable: StateTable<{ position: Position }> = {
  name: 'document_purge_v1',
  body: z.object({ position: z.number() }),
};

export interface PurgePorts {
  eventLog: EventLog;
  stateStore: StateStore;
  documentStore: DocumentStore;
  clock: Pick<Clock, 'now'>;
}

/**
 * Deletes the bytes of documents that were replaced or removed at least `retentionDays` ago. Resolves when none is
 * due any more. A lost place only makes it look again at what is already gone.
 */
export async function purgeDocuments(
  ports: PurgePorts,
  retentionDays: number,
  signal: AbortSignal,
): Promise<void> {
  const { eventLog, stateStore, clock } = ports;
  const log = await eventLog.identity();
  const after = await place(ports, log);
  for await (const batch of eventLog.follow({ after, filter: { eventTypes: documentEventTypes }, signal })) {
    for (const event of batch.events) {
      if (Date.parse(event.recordedAt) + retentionDays * DAY_MS > clock.now()) return;
      if (!(await purgePrevious(ports, event))) return;
      await savePlace(stateStore, log, event.position);
    }
    await savePlace(stateStore, log, batch.position);
    if (batch.caughtUp) return;
  }
}

/** Where the last purge came to; the beginning when that is lost, or is none of the log's, as after a restore. */
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

/**
 * Deletes the bytes that an event took the place of: those of the event before it in the stream. False when only a newer
 * version of the service can tell which they are; where nobody can, they stay.
 */
async function purgePrevious(
  { eventLog, documentStore }: PurgePorts,
  event: RecordedEvent,
): Promise<boolean> {
  if (event.revision === 0) return true;
  try {
    const [previous] = await eventLog.readStream(event.stream, { from: event.revision - 1, limit: 1 });
    if (previous?.type === 'DocumentUploaded') await documentStore.delete(uploadedBy(previous).object_id);
    return true;
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return !(error instanceof UnknownSchemaVersion);
  }
}
