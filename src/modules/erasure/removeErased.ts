import { dataAs, type ErasedEvent, type RecordedEvent } from '../../domain/events/event.ts';
import type { RecordErased } from '../../domain/events/recordErased.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import { unavailable } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { MessageStore } from '../integrations/messages/MessageStore.ts';
import { removeAttempts } from '../webhooks/removeAttempts.ts';

const CHUNK = 200;

export interface RemovalPorts {
  eventLog: EventLog;
  documentStore: DocumentStore;
  stateStore: StateStore;
  /** Returns the ids of a workspace's webhooks, including deleted ones. */
  webhooksOf(workspace: string): string[];
}

/**
 * Removes what a last tombstone covers: the bytes of documents, the events before the first tombstone of its erasure, EMR
 * messages, and webhook delivery attempts. Can be repeated after an interruption. Rejects with `unavailable`.
 */
export async function removeErased(ports: RemovalPorts, done: RecordedEvent): Promise<void> {
  const { eventLog, documentStore, stateStore } = ports;
  const { stream } = done;
  const { parts } = dataAs<RecordErased>(done.data);
  const before = done.revision - parts + 1;
  const tombstones = await eventLog.readStream(stream, { from: before, limit: parts });
  // On EventStoreDB, a leader that has just begun may not show all of them yet.
  if (tombstones.length < parts) throw unavailable('event log');
  const erased = tombstones.flatMap((event) => dataAs<RecordErased>(event.data).erased);
  if (done.type === 'DocumentErased') await deleteFiles(eventLog, documentStore, stream, before);
  await eventLog.erase(
    stream,
    before,
    erased.map(
      ({ version, position, event_id: id, leaf }): ErasedEvent => ({
        id,
        stream,
        revision: version - 1,
        position,
        leaf,
      }),
    ),
  );
  await new MessageStore(ports).eraseAbout(stream, done.revision + 1);
  for (const webhookId of ports.webhooksOf(done.metadata.workspace)) {
    await removeAttempts(stateStore, webhookId, stream, before);
  }
}

/** Only the events say where the bytes are, so the bytes are deleted first. */
async function deleteFiles(
  eventLog: EventLog,
  documentStore: DocumentStore,
  stream: string,
  before: number,
): Promise<void> {
  for (let from = 0; from < before; ) {
    const events = await eventLog.readStream(stream, { from, limit: CHUNK });
    for (const event of events) {
      const isErased = event.revision < before && event.type === 'DocumentUploaded';
      if (isErased) await documentStore.delete(uploadedBy(event).object_id);
    }
    from = (events.at(-1)?.revision ?? before) + 1;
  }
}
