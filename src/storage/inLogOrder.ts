import type { ErasedEvent, RecordedEvent, UnreadableEvent } from '../domain/events/event.ts';
import type { EventBatch } from './eventLog.ts';

/**
 * Returns all events of a batch in log order: entries without `data` are unreadable events, entries with a `leaf` the places of
 * erased ones.
 */
export function inLogOrder({
  events,
  unreadable = [],
  erased = [],
}: Pick<EventBatch, 'events' | 'unreadable' | 'erased'>): (RecordedEvent | UnreadableEvent | ErasedEvent)[] {
  // Almost always both are empty.
  if (unreadable.length === 0 && erased.length === 0) return events;
  return [...events, ...unreadable, ...erased].sort((a, b) => a.position - b.position);
}
