import type { EventMetadata } from './eventMetadata.ts';

/** Data and metadata of one event together, as JSON in UTF-8. */
export const MAX_EVENT_BYTES = 1024 * 1024;

/** Place in the whole log: ordered, with gaps, above 0; 0 means "before the first event". A safe integer. */
export type Position = number;

export type JsonObject = { [key: string]: unknown };

/** Whether it is an object with fields: neither `null` nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Data, or metadata, of an event as its type has them: nobody but the service itself writes them. */
export function dataAs<Data extends object>(data: object): Data {
  return data as Data;
}

export interface NewEvent {
  /** UUID; a repeat of the id in the same stream makes a repeated append harmless. */
  id: string;
  type: string;
  data: JsonObject;
  metadata: EventMetadata;
}

export interface RecordedEvent extends NewEvent {
  /** `data` as the text that the log holds, where it holds one: who passes data on need not make it once more. */
  dataText?: string | undefined;
  /** `metadata` as that text, where it and `dataText` are canonical JSON: of events that this version of the service wrote. */
  metadataText?: string | undefined;
  stream: string;
  /** Place in the stream: 0, 1, 2 … without gaps; `append` answers with the same. */
  revision: number;
  position: Position;
  /** When the log took it, ISO 8601 in UTC. See `EventLog.timesRise`. */
  recordedAt: string;
}

/** An event that the store holds, but cannot read: its bytes are no longer what was appended. */
export type UnreadableEvent = Pick<RecordedEvent, 'id' | 'type' | 'stream' | 'revision' | 'position'>;

/** The place of an event that was erased, and its leaf: see `RecordErased`. */
export interface ErasedEvent extends Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'> {
  leaf: string;
}
