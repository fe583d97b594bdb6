import { stringify as formatUuid } from 'uuid';
import {
  type ErasedEvent,
  isJsonObject,
  type RecordedEvent,
  type UnreadableEvent,
} from '../../events/event.ts';
import type { EventBatch } from '../../ports/eventLog.ts';

const HEX_UUID = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;

/** What `toEvents` needs of each row. */
export const eventColumns = `e.position, e.revision, e.event_id, e.type, e.recorded_at, e.metadata, e.data, e.leaf,
  s.name AS stream FROM events e JOIN streams s ON s.id = e.stream_id`;

/** The events of the rows, but for those that were erased, or whose bytes are no longer what was appended. */
export function toEvents(
  rows: Record<string, unknown>[],
): Pick<EventBatch, 'events' | 'unreadable' | 'erased'> {
  const events: RecordedEvent[] = [];
  const unreadable: UnreadableEvent[] = [];
  const erased: ErasedEvent[] = [];
  for (const row of rows) {
    try {
      if (row.leaf === null) events.push(toEvent(row));
      else erased.push(toErased(row));
    } catch {
      const id = Buffer.from(row.event_id as Uint8Array).toString('hex');
      unreadable.push({
        id: id.replace(HEX_UUID, '$1-$2-$3-$4-$5'),
        type: row.type as string,
        stream: row.stream as string,
        revision: row.revision as number,
        position: row.position as number,
      });
    }
  }
  return {
    events,
    ...(unreadable.length > 0 && { unreadable }),
    ...(erased.length > 0 && { erased }),
  };
}

function toErased(row: Record<string, unknown>): ErasedEvent {
  return {
    id: formatUuid(row.event_id as Uint8Array),
    stream: row.stream as string,
    revision: row.revision as number,
    position: row.position as number,
    leaf: row.leaf as string,
  };
}

/** Throws when the row's bytes are not those of an event. */
function toEvent(row: Record<string, unknown>): RecordedEvent {
  const metadata = JSON.parse(row.metadata as string);
  if (typeof metadata?.workspace !== 'string') throw new Error('an event is of a workspace');
  const data = JSON.parse(row.data as string);
  if (!isJsonObject(data)) throw new Error('the data of an event are an object');
  return {
    id: formatUuid(row.event_id as Uint8Array),
    type: row.type as string,
    data,
    dataText: row.data as string,
    metadata,
    stream: row.stream as string,
    revision: row.revision as number,
    position: row.position as number,
    recordedAt: isoTime(row.recorded_at as number),
  };
}

let lastTime = { ms: 0, iso: new Date(0).toISOString() };

/** A time in ms as ISO 8601. Events of one commit have the same one: it is formatted once. */
export function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, iso: new Date(ms).toISOString() };
  return lastTime.iso;
}
