import type { Clock } from '../ports/clock.ts';
import type { DocumentStore } from '../ports/documentStore.ts';
import type { RecordedEvent } from '../ports/eventLog.ts';
import { type ResumePorts, resumeAfter } from '../projector/resumeAfter.ts';
import { documentEventTypes, uploadedBy } from '../records/document.ts';

const DAY_MS = 86_400_000;
/** Where the purge keeps its place: it holds no rows, only a checkpoint. */
const MODEL = 'purge_v1';

export interface PurgePorts extends ResumePorts {
  documentStore: DocumentStore;
  clock: Clock;
}

/**
 * Deletes the bytes of documents that were replaced or removed at least `retentionDays` ago. Resolves when none is
 * due any more. A lost checkpoint only makes it look again at what is already gone.
 */
export async function purgeDocuments(
  ports: PurgePorts,
  retentionDays: number,
  signal: AbortSignal,
): Promise<void> {
  const { eventLog, readModels, clock } = ports;
  const after = await resumeAfter(MODEL, ports);
  for await (const batch of eventLog.follow({ after, filter: { eventTypes: documentEventTypes }, signal })) {
    for (const event of batch.events) {
      if (Date.parse(event.recordedAt) + retentionDays * DAY_MS > clock.now()) return;
      await purgePrevious(ports, event);
      await readModels.write(MODEL, [], event.position);
    }
    await readModels.write(MODEL, [], batch.position);
    if (batch.caughtUp) return;
  }
}

/** The bytes that an event took the place of are those of the event before it in the stream. */
async function purgePrevious({ eventLog, documentStore }: PurgePorts, event: RecordedEvent): Promise<void> {
  if (event.revision === 0) return;
  const [previous] = await eventLog.readStream(event.stream, { from: event.revision - 1, limit: 1 });
  if (previous?.type !== 'DocumentUploaded') return;
  await documentStore.delete(uploadedBy(previous).object_id);
}
