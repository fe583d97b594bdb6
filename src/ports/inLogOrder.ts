import type { ErasedEvent, RecordedEvent, UnreadableEvent } from '../events/event.ts';
import type { EventBatch } from './eventLog.ts';

/**
 * All events of a batch in the order of the log: those without `data` are the ones that cannot be read, those with a `leaf`
 * the places of those that were erased.
 */
export function inLogOrder({
  events,
  unreadable = [],
  erased = [],
}: Pick<EventBatch, 'events' | 'unreadable' | 'erased'>): (RecordedEvent | UnreadableEvent | ErasedEvent)[] {
  // Almost always there are none.
  if (unreadable.length === 0 && erased.length === 0) return events;
  return [...events, ...unreadable, ...erased].sort((a, b) => a.position - b.position);
}
