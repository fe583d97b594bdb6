import type { RecordedEvent } from '../domain/events/event.ts';
import { KEY_ADOPTIONS_STREAM, KEY_ROTATIONS_STREAM } from '../domain/events/streamNames.ts';
import type { EventLog } from '../storage/eventLog.ts';

const PAGE = 1_000;

/**
 * Resolves with what happened to the service's keys, in log order: `KeyAdopted` for one that came into use,
 * `KeyRotated` for one that replaced another. The `data` of both has the key's `setting` and its `fingerprint`.
 * Rejects as `EventLog.readStream` does.
 */
export async function keyEvents(eventLog: Pick<EventLog, 'readStream'>): Promise<RecordedEvent[]> {
  const streams = [KEY_ADOPTIONS_STREAM, KEY_ROTATIONS_STREAM];
  const found = await Promise.all(streams.map((stream) => eventsOf(eventLog, stream)));
  return found.flat().toSorted((a, b) => a.position - b.position);
}

async function eventsOf(eventLog: Pick<EventLog, 'readStream'>, stream: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  while (true) {
    const page = await eventLog.readStream(stream, { from: events.length, limit: PAGE });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}
