import type { Position } from '../../events/event.ts';
import type { PseudonymKey } from '../format/Deidentifier.ts';
import type { Selection } from '../selection.ts';

/** Events in a row, ready to be sent. */
export interface Chunk {
  bytes: Uint8Array<ArrayBuffer>;
  /** How many events; none, when only `position` moved on. */
  count: number;
  /** Position of its first event; without any, the same as `position`. */
  first: Position;
  /** All that is wanted up to here is in this chunk, or in one before it. */
  position: Position;
}

/** A part of a catch-up; `end` says that there is nothing beyond for now, or that the tail has all that follows. */
export interface Part extends Chunk {
  end: boolean;
}

/** To the feed's thread. Readers and tails are named by numbers that are never used again. */
export type FeedRequest =
  | { kind: 'pseudonyms'; key: PseudonymKey }
  | { kind: 'open'; reader: number; selection: Selection; after: Position; from: number | undefined }
  | { kind: 'read'; reader: number; limit: number; upToTail: boolean }
  | { kind: 'close'; reader: number }
  | { kind: 'tail'; tail: number; selection: Selection }
  | { kind: 'untail'; tail: number }
  | { kind: 'stop' };

/** From the feed's thread, in the order in which things came about. */
export type FeedReply =
  /** The log is open. */
  | { kind: 'ready' }
  | { kind: 'part'; reader: number; part: Part }
  /** A store is away; or the next event cannot be read, for the reason that `unreadable` gives. */
  | { kind: 'failed'; reader: number; unreadable?: string }
  /** The tail has every event of its selection after the position. */
  | { kind: 'tailing'; tail: number; position: Position }
  /**
   * Everything after the last such message, or after `tailing`, up to the position. Those that are stopped wanted an event
   * that cannot be read, and get nothing more. Of those in `erased` something was erased that may be remembered.
   */
  | {
      kind: 'appended';
      position: Position;
      chunks: Map<number, Chunk[]>;
      stopped: number[];
      erased: number[];
    }
  | { kind: 'tailFailed' };
