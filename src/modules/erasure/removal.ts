import { dataAs, type ErasedEvent, type RecordedEvent } from '../../domain/events/event.ts';
import type { RecordErased } from '../../domain/events/payloads.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import { unavailable } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { MessageStore } from '../integrations/messages/store.ts';
import { removeAttempts } from '../webhooks/attempts.ts';
import type { Groups } from './groups.ts';

export interface RemovalPorts {
  eventLog: EventLog;
  documentStore: DocumentStore;
  stateStore: StateStore;
  /** Returns the ids of a workspace's webhooks, including deleted ones. */
  webhooksOf(workspace: string): string[];
}

/** Events of a file's stream that are read together. */
const CHUNK = 200;

/**
 * Removes what last tombstones cover: the bytes of documents, the events before the first tombstone of each erasure, EMR messages,
 * and webhook delivery attempts. Can be repeated after an interruption. Rejects with `unavailable`.
 */
export async function removeErased(
  ports: RemovalPorts,
  groups: Groups,
  dones: readonly RecordedEvent[],
): Promise<void> {
  const removed = await groups.each(dones, async (done) => {
    await removeOne(ports, done);
    return [done];
  });
  // Of several erasures of a stream, the last one counts.
  const inOrder = removed.toSorted((a, b) => a.revision - b.revision);
  for (const [workspace, some] of Map.groupBy(inOrder, ({ metadata }) => metadata.workspace)) {
    const below = new Map(some.map((done) => [done.stream, firstTombstone(done)]));
    for (const webhookId of ports.webhooksOf(workspace)) {
      await removeAttempts(ports.stateStore, webhookId, below);
    }
  }
}

/** Returns the revision of the first tombstone of an erasure, given the last one. */
function firstTombstone({ revision, data }: RecordedEvent): number {
  return revision + 1 - dataAs<RecordErased>(data).parts;
}

async function removeOne(ports: RemovalPorts, done: RecordedEvent): Promise<void> {
  const { eventLog, documentStore } = ports;
  const { stream } = done;
  const { parts } = dataAs<RecordErased>(done.data);
  const before = firstTombstone(done);
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
