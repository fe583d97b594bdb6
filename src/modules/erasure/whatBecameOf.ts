import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import type { RecordErased } from '../../domain/events/recordErased.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { NoticedErasure } from './erasureNotice.ts';
import { isRestored } from './isRestored.ts';

/**
 * Returns the outcome of the erasure with the given last tombstone: a notice of it, once its events are removed; `under way`; or
 * `none` when a legal hold restored the record, or a later erasure of the stream covers it. Rejects with `unreadable` and
 * `unavailable`.
 */
export async function whatBecameOf(
  eventLog: EventLog,
  done: RecordedEvent,
): Promise<NoticedErasure | 'under way' | 'none'> {
  const { stream, revision, position: tombstone, recordedAt: erased_at } = done;
  const { erasure_id, parts } = dataAs<RecordErased>(done.data);
  const begun = revision - parts + 1;
  const [next] = await eventLog.readStream(stream, { from: begun - 1, limit: 1 });
  if (next?.revision === begun - 1) return (await isRestored(eventLog, done)) ? 'none' : 'under way';
  const [version] = next?.revision === begun ? dataAs<RecordErased>(next.data).erased : [];
  if (version === undefined) return 'none';
  const { type, id } = done.metadata.principal;
  const first = { position: version.position, event_id: version.event_id };
  return { tombstone, first, erasure_id, principal: { type, id }, erased_at };
}
