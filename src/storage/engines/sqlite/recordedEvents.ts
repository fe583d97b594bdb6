import { validate as isUuid } from 'uuid';
import {
  type ErasedEvent,
  isJsonObject,
  type RecordedEvent,
  type UnreadableEvent,
} from '../../../domain/events/event.ts';
import { mayContain } from '../../../domain/events/streamNames.ts';
import type { EventBatch } from '../../eventLog.ts';
import { type MetadataTemplates, withHyphens } from './MetadataTemplates.ts';

/**
 * What `toEvents` needs of each row. Statements return rows as arrays (`setReturnArrays`), which cost half as much as objects,
 * and ids as text, as each blob would be a separate buffer.
 */
export const eventColumns =
  'e.position, e.revision, lower(hex(e.event_id)), e.type, e.recorded_at, ' +
  "iif(typeof(e.metadata) = 'blob', lower(hex(e.metadata)), e.metadata), e.data, e.leaf";

/**
 * Start of metadata that is canonical, as written by `append`, along with its data. Earlier versions of the service began with
 * the workspace.
 */
const CANONICAL = '{"$correlationId":';

/** A row of `eventColumns`, and the name of its stream. */
export type EventRow = [
  position: number,
  revision: number,
  eventId: string,
  type: string,
  recordedAt: number,
  metadata: string,
  data: string,
  leaf: string | null,
  stream: string,
];

/** Indexes in an `EventRow`. */
export const POSITION = 0;
export const DATA = 6;
export const STREAM = 8;
const LEAF = 7;

/** Returns the events of the rows, except for those that were erased, or that are not what was appended. */
export function toEvents(
  rows: EventRow[],
  templates: MetadataTemplates,
): Pick<EventBatch, 'events' | 'unreadable' | 'erased'> {
  const events: RecordedEvent[] = [];
  const unreadable: UnreadableEvent[] = [];
  const erased: ErasedEvent[] = [];
  for (const row of rows) {
    try {
      const leaf = row[LEAF];
      if (leaf !== null) erased.push(toErased(row, leaf));
      else {
        const event = toEvent(row, templates);
        if (mayContain(event.stream, event.metadata.workspace)) events.push(event);
        else unreadable.push({ ...toUnreadable(row), misplaced: true });
      }
    } catch {
      unreadable.push(toUnreadable(row));
    }
  }
  return {
    events,
    ...(unreadable.length > 0 && { unreadable }),
    ...(erased.length > 0 && { erased }),
  };
}

function toUnreadable([position, revision, eventId, type, , , , , stream]: EventRow): UnreadableEvent {
  return { id: withHyphens(eventId), type, stream, revision, position };
}

function toErased([position, revision, eventId, , , , , , stream]: EventRow, leaf: string): ErasedEvent {
  return { id: toUuid(eventId), stream, revision, position, leaf };
}

/** Throws when the row's bytes are not those of an event. */
function toEvent(row: EventRow, templates: MetadataTemplates): RecordedEvent {
  const [position, revision, eventId, type, recordedAt, stored, dataText, , stream] = row;
  const id = toUuid(eventId);
  const { text: metadataText, metadata } = templates.unpack(stored, id);
  if (typeof metadata?.workspace !== 'string') throw new Error('an event is of a workspace');
  const data = JSON.parse(dataText);
  if (!isJsonObject(data)) throw new Error('the data of an event are an object');
  return {
    id,
    type,
    data,
    dataText,
    metadata,
    metadataText: metadataText.startsWith(CANONICAL) ? metadataText : undefined,
    stream,
    revision,
    position,
    recordedAt: isoTime(recordedAt),
  };
}

/** Throws when it is not a UUID. */
function toUuid(hex: string): string {
  const id = withHyphens(hex);
  if (!isUuid(id)) throw new Error('the id of an event is a UUID');
  return id;
}

let lastTime = { ms: 0, iso: new Date(0).toISOString() };

/** Formats a time in ms as ISO 8601. Events of one commit have the same time: it is formatted once. */
export function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, iso: new Date(ms).toISOString() };
  return lastTime.iso;
}
