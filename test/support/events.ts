import type { Position, RecordedEvent } from '../../src/domain/events/event.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

/** All events of a log after a position. */
export async function readAll(eventLog: EventLog, after: Position = 0): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  const stop = new AbortController();
  for await (const batch of eventLog.follow({ after, signal: stop.signal })) {
    events.push(...batch.events);
    if (batch.caughtUp) break;
  }
  return events;
}
