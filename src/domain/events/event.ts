import type { EventMetadata } from './eventMetadata.ts';

/** Limit for the data and metadata of one event together, as JSON in UTF-8. */
export const MAX_EVENT_BYTES = 1024 * 1024;

/** Place in the whole log: ascending, with gaps, above 0; 0 means "before the first event". A safe integer. */
export type Position = number;

export type JsonObject = { [key: string]: unknown };

/** Whether the value is an object with fields: neither `null` nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Casts an event's data or metadata to the shape of its type: only the service itself writes them. */
export function dataAs<Data extends object>(data: object): Data {
  return data as Data;
}

export interface NewEvent {
  /** UUID; repeating an id in the same stream makes a repeated append harmless. */
  id: string;
  type: string;
  data: JsonObject;
  metadata: EventMetadata;
  /** Whether an earlier try of the same request may have appended it: the log then looks for it, wherever it is in the stream. */
  isRepeat?: true;
}

export interface RecordedEvent extends Omit<NewEvent, 'isRepeat'> {
  /** `data` as the text in the log, where the log holds text; saves consumers from serializing it again. */
  dataText?: string | undefined;
  /** `metadata` as such a text, when it and `dataText` are canonical JSON: for events written by this version of the service. */
  metadataText?: string | undefined;
  stream: string;
  /** Place in the stream: 0, 1, 2 … without gaps; `append` returns the same number. */
  revision: number;
  position: Position;
  /** When the log accepted it, ISO 8601 in UTC. It may be earlier than that of the event before: see `EventLog`. */
  recordedAt: string;
}

/** An event that the store holds but that is no longer the one that was appended: damaged, or in a stream of someone else. */
export interface UnreadableEvent
  extends Pick<RecordedEvent, 'id' | 'type' | 'stream' | 'revision' | 'position'> {
  /** Set if its bytes can be read, but its metadata contradict the name of its stream: see `mayContain`. */
  misplaced?: true;
}

/** The place of an erased event, and its leaf: see `RecordErased`. */
export interface ErasedEvent extends Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'> {
  leaf: string;
}
