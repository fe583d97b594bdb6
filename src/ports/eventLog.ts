import type { EventMetadata } from '../records/eventMetadata.ts';

/** Place in the whole log: ordered, with gaps, above 0; 0 means "before the first event". A safe integer. */
export type Position = number;

/** `any`: whatever is there; `none`: the stream must not exist; a number: the revision of its last event (0 is the first). */
export type ExpectedRevision = 'any' | 'none' | number;

export type JsonObject = { [key: string]: unknown };

export interface NewEvent {
  /** UUID; a repeat of the id makes a repeated append harmless. */
  id: string;
  type: string;
  data: JsonObject;
  metadata: EventMetadata;
}

export interface RecordedEvent extends NewEvent {
  stream: string;
  /** Place in the stream: 0, 1, 2 … without gaps. */
  revision: number;
  position: Position;
  /** When the log took it, ISO 8601 in UTC. */
  recordedAt: string;
}

export interface Appended {
  revision: number;
  position: Position;
}

export interface ReadOptions {
  direction?: 'forwards' | 'backwards';
  /** First revision to read; default: the first event forwards, the last one backwards. */
  from?: number;
  /** At most so many events. */
  limit: number;
}

/** Which events a follower wants: of streams whose names begin with one of the prefixes, or of one of the types. */
export type EventFilter = { streamPrefixes: string[] } | { eventTypes: string[] };

export interface FollowOptions {
  /** Events after this position; 0 for all. */
  after: Position;
  filter?: EventFilter;
  /** Ends the iteration, without an error. */
  signal: AbortSignal;
}

export interface EventBatch {
  events: RecordedEvent[];
  /** All wanted events up to and including this position have been delivered: the place to resume after. */
  position: Position;
  /** True when, at the time of reading, nothing wanted lay beyond `position`. */
  caughtUp: boolean;
}

/**
 * The event log: the service's only truth.
 *
 * All methods reject with `ServiceError('unavailable')` when the store is away or does not answer within three
 * seconds. An append that is rejected so may or may not have been written; repeating it with the same event id and
 * the same expectation settles that.
 */
export interface EventLog {
  /**
   * Appends one event; when the promise resolves, the event is durable.
   * An event id that the stream already holds, with `any` or its original expectation, changes nothing and answers
   * with the original place. Rejects with `version_conflict` when the expectation does not hold and with
   * `payload_too_large` when data and metadata exceed 1 MiB.
   */
  append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended>;

  /** The events of one stream, in the asked direction; an empty array when the stream does not exist. */
  readStream(stream: string, options: ReadOptions): Promise<RecordedEvent[]>;

  /** Position of the log's last event; 0 when it is empty. Every append acknowledged before is at or below it. */
  head(): Promise<Position>;

  /**
   * Every wanted event after a position, in order, without gaps or repeats, for as long as the caller iterates.
   * Batches may be empty (they move `position` on past unwanted events). The caller's pace is the source's pace.
   * Survives a store that goes away: the iteration waits and goes on by itself.
   */
  follow(options: FollowOptions): AsyncIterable<EventBatch>;

  close(): Promise<void>;
}
