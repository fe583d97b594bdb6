import { stringify as formatUuid } from 'uuid';
import {
  type ErasedEvent,
  isJsonObject,
  type RecordedEvent,
  type UnreadableEvent,
} from '../../events/event.ts';
import type { EventBatch } from '../../ports/eventLog.ts';

const HEX_UUID = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;

/** What `toEvents` needs of each row; statements give rows as arrays (`setReturnArrays`), which cost half as much as objects. */
export const eventColumns =
  'e.position, e.revision, e.event_id, e.type, e.recorded_at, e.metadata, e.data, e.leaf';

/** A row of `eventColumns`, and the name of its stream. */
export type EventRow = [
  position: number,
  revision: number,
  eventId: Uint8Array,
  type: string,
  recordedAt: number,
  metadata: string,
  data: string,
  leaf: string | null,
  stream: string,
];

/** Places in an `EventRow`. */
export const POSITION = 0;
export const DATA = 6;
export const STREAM = 8;
const LEAF = 7;

/** The events of the rows, but for those that were erased, or whose bytes are no longer what was appended. */
export function toEvents(rows: EventRow[]): Pick<EventBatch, 'events' | 'unreadable' | 'erased'> {
  const events: RecordedEvent[] = [];
  const unreadable: UnreadableEvent[] = [];
  const erased: ErasedEvent[] = [];
  for (const row of rows) {
    try {
      const leaf = row[LEAF];
      if (leaf === null) events.push(toEvent(row));
      else erased.push(toErased(row, leaf));
    } catch {
      const [position, revision, eventId, type, , , , , stream] = row;
      const id = Buffer.from(eventId).toString('hex').replace(HEX_UUID, '$1-$2-$3-$4-$5');
      unreadable.push({ id, type, stream, revision, position });
    }
  }
  return {
    events,
    ...(unreadable.length > 0 && { unreadable }),
    ...(erased.length > 0 && { erased }),
  };
}

function toErased([position, revision, eventId, , , , , , stream]: EventRow, leaf: string): ErasedEvent {
  return { id: formatUuid(eventId), stream, revision, position, leaf };
}

/** Throws when the row's bytes are not those of an event. */
function toEvent(row: EventRow): RecordedEvent {
  const [position, revision, eventId, type, recordedAt, metadataText, dataText, , stream] = row;
  const metadata = JSON.parse(metadataText);
  if (typeof metadata?.workspace !== 'string') throw new Error('an event is of a workspace');
  const data = JSON.parse(dataText);
  if (!isJsonObject(data)) throw new Error('the data of an event are an object');
  return {
    id: formatUuid(eventId),
    type,
    data,
    dataText,
    metadata,
    stream,
    revision,
    position,
    recordedAt: isoTime(recordedAt),
  };
}

let lastTime = { ms: 0, iso: new Date(0).toISOString() };

/** A time in ms as ISO 8601. Events of one commit have the same one: it is formatted once. */
export function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, iso: new Date(ms).toISOString() };
  return lastTime.iso;
}
