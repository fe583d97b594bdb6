import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import { isRestoring, type RecordErased } from '../../domain/events/recordErased.ts';
import type { EventLog } from '../../storage/eventLog.ts';

/** Number of events after a tombstone to search for the one that restores the record: it follows at once. */
const LOOKED_AT = 100;

/**
 * Whether a legal hold restored a record after the given last tombstone, which is then never carried out. Rejects with
 * `unavailable`.
 */
export async function isRestored(
  eventLog: EventLog,
  { stream, revision, data }: RecordedEvent,
): Promise<boolean> {
  const { erasure_id } = dataAs<RecordErased>(data);
  const behind = await eventLog.readStream(stream, { from: revision + 1, limit: LOOKED_AT });
  return behind.some((event) => isRestoring(event, erasure_id));
}
