import type {
  ErasedEvent,
  NewEvent,
  Position,
  RecordedEvent,
  UnreadableEvent,
} from '../domain/events/event.ts';

type Place = Pick<RecordedEvent, 'position' | 'stream' | 'revision' | 'id'>;

/** An event with its data and metadata as the texts in the log. */
export interface CopiedEvent extends Place, Pick<RecordedEvent, 'type' | 'recordedAt'> {
  data: string;
  metadata: string;
}

/** What a place in a log holds: an event, an unreadable one, or what is left of an erased one. */
export type CopiedPlace = CopiedEvent | UnreadableEvent | ErasedEvent;

/**
 * A new event log that receives the contents of another, each event in its place and with its time. Methods reject with
 * `unavailable`.
 */
export interface LogCopy {
  /** Adds the next places, in log order; durable once `finish` resolves. */
  add(places: readonly CopiedPlace[]): Promise<void>;

  /**
   * Completes the copy with one more event, at a position that no other continuation of the log has reached: the gap before it
   * holds no positions of the log, and later events are appended after it.
   */
  finish(stream: string, event: NewEvent, position: Position): Promise<void>;

  close(): Promise<void>;
}
