import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordedEvent } from '../../../domain/events/event.ts';
import { erasureStep } from '../../../domain/events/recordErased.ts';
import { MissingVersion, requireNext } from '../../../domain/events/requireNext.ts';
import { upcast } from '../../../domain/events/upcast.ts';
import type { RecordFields } from '../../../domain/records/catalog.ts';
import { mergeFields } from '../../../domain/records/fold.ts';
import type { EventLog } from '../../../storage/eventLog.ts';

const noFields = {} as RecordFields;
const FIRST_CHUNK = 8;
const LARGEST_CHUNK = 500;

/**
 * Resolves with the values of these fields in the fold of the events before `next`; fields without a value are left
 * out. Undefined when there was no record at that point: none yet, or one that was erased.
 *
 * Folding the stream up to there would mean reading all of it. A field's value is that of the last event that sent
 * it, so the events are read backwards until every field has been found: mostly one or two events, because callers
 * tend to send whole records. Only a field that was never sent before leads back to the first event. One chunk at a
 * time is held, and requests are served between chunks; `older` is the event before
 * `next`, if already read. Rejects with `unreadable` where an event is missing or cannot
 * be read.
 */
export async function fieldsBefore(
  eventLog: EventLog,
  stream: string,
  next: RecordedEvent,
  fields: ReadonlySet<string>,
  older?: RecordedEvent,
): Promise<RecordFields | undefined> {
  const unmet = new Set(fields);
  let found: RecordFields | undefined;
  let limit = FIRST_CHUNK;
  // Everything before a tombstone is erased, and may be gone.
  if (erasureStep(next) === 'done') return undefined;
  let events = older && [older];
  let first = next;
  for (let from = next.revision - 1; from >= 0 && unmet.size > 0; events = undefined) {
    events ??= await eventLog.readStream(stream, { direction: 'backwards', from, limit });
    // Where the stream begins with a tombstone, the earlier versions are gone.
    if (events.length === 0 && erasureStep(first)) return found;
    if (events.length === 0) throw new MissingVersion(from + 1);
    for (const [index, event] of events.entries()) {
      requireNext(from - index, event);
      first = event;
      const erasure = erasureStep(event);
      if (erasure === 'done') return found;
      if (erasure === 'begun') continue;
      const sent = Object.entries(upcast(event).data).filter(([field]) => unmet.delete(field));
      found = mergeFields(found ?? noFields, Object.fromEntries(sent) as RecordFields);
    }
    from -= events.length;
    limit = Math.min(limit * 4, LARGEST_CHUNK);
    if (unmet.size > 0) await nextTurn();
  }
  return found;
}
