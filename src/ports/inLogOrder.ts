import type { RecordedEvent, UnreadableEvent } from '../events/event.ts';
import type { EventBatch } from './eventLog.ts';

/** All events of a batch in the order of the log, those without `data` being the ones that cannot be read. */
export function inLogOrder({
  events,
  unreadable = [],
}: Pick<EventBatch, 'events' | 'unreadable'>): (RecordedEvent | UnreadableEvent)[] {
  // Almost always there are none.
  if (unreadable.length === 0) return events;
  return [...events, ...unreadable].sort((a, b) => a.position - b.position);
}
