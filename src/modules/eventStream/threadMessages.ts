import type { Position } from '../../domain/events/event.ts';
import type { PseudonymKey } from './Deidentifier.ts';
import type { Selection } from './selection.ts';

/** Consecutive events, ready to be sent. */
export interface Chunk {
  bytes: Uint8Array<ArrayBuffer>;
  /** Number of events; 0 when only `position` advanced. */
  count: number;
  /** Position of its first event; if empty, the same as `position`. */
  first: Position;
  /** Everything wanted up to here is in this chunk, or in an earlier one. */
  position: Position;
}

/** Part of a catch-up; `end` says that there is nothing beyond for now, or that the tail has everything that follows. */
export interface Part extends Chunk {
  end: boolean;
}

/** To the feed's thread. Readers and tails are identified by numbers that are never reused. */
export type FeedRequest =
  | { kind: 'pseudonyms'; key: PseudonymKey }
  | { kind: 'open'; reader: number; selection: Selection; after: Position; from: number | undefined }
  | { kind: 'read'; reader: number; limit: number; upToTail: boolean }
  | { kind: 'close'; reader: number }
  | { kind: 'tail'; tail: number; selection: Selection }
  | { kind: 'untail'; tail: number }
  | { kind: 'stop' };

/** Why reading does not go on: only a newer version of the service can read the next event, or it never goes on. */
export interface FeedRefusal {
  code: 'unreadable' | 'internal';
  message: string;
  problem: string | undefined;
}

/** From the feed's thread, in order of occurrence. */
export type FeedReply =
  /** The log is open. */
  | { kind: 'ready' }
  | { kind: 'part'; reader: number; part: Part }
  /** A store is unavailable, unless there is a `refusal`. */
  | { kind: 'failed'; reader: number; refusal?: FeedRefusal }
  /** The tail has every event of its selection after the position. */
  | { kind: 'tailing'; tail: number; position: Position }
  /**
   * Everything after the last such message, or after `tailing`, up to the position. Stopped ones wanted an event that cannot be
   * read, and get nothing more. For those in `erased`, something was erased that may be remembered.
   */
  | {
      kind: 'appended';
      position: Position;
      chunks: Map<number, Chunk[]>;
      stopped: number[];
      erased: number[];
    }
  | { kind: 'tailFailed' };
