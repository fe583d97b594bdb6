import type { ErasedEvent, NewEvent, Position, RecordedEvent, UnreadableEvent } from '../events/event.ts';

type Place = Pick<RecordedEvent, 'position' | 'stream' | 'revision' | 'id'>;

/** An event with its data and metadata as the texts that the log holds. */
export interface CopiedEvent extends Place, Pick<RecordedEvent, 'type' | 'recordedAt'> {
  data: string;
  metadata: string;
}

/** What stands in a place of a log: an event, one that cannot be read, or what is left of one that was erased. */
export type CopiedPlace = CopiedEvent | UnreadableEvent | ErasedEvent;

/**
 * A new event log that takes what another one held, each event in its place, with its time. Methods reject with `unavailable`.
 */
export interface LogCopy {
  /** Takes what stands next, in log order; durable once `finish` resolves. */
  add(places: readonly CopiedPlace[]): Promise<void>;

  /**
   * Ends the copy with one event more, at a position that no other course of the log has come to: what lies between is no
   * position of the log, and what is appended comes behind it.
   */
  finish(stream: string, event: NewEvent, position: Position): Promise<void>;

  close(): Promise<void>;
}
