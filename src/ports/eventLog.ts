import type { MessagePort } from 'node:worker_threads';
import type { ServiceError } from '../errors.ts';
import type { ErasedEvent, NewEvent, Position, RecordedEvent, UnreadableEvent } from '../events/event.ts';

/** `any`: whatever is there; `none`: the stream must not exist; a number: the revision of its last event (0 is the first). */
export type ExpectedRevision = 'any' | 'none' | number;

export interface Appended {
  revision: number;
  position: Position;
  /** Earlier events of the stream were removed. */
  erased?: true;
}

/** One of several appends that are made together. */
export interface Append {
  stream: string;
  event: NewEvent;
  expected: ExpectedRevision;
}

export interface ReadOptions {
  direction?: 'forwards' | 'backwards';
  /** First revision to read; default: the first event forwards, the last one backwards. */
  from?: number;
  /** At most so many events. */
  limit: number;
}

/** Which events a follower wants: of streams whose names begin with one of the prefixes, or of exactly one of the types. */
export type EventFilter = { streamPrefixes: string[] } | { eventTypes: string[] };

export interface FollowOptions {
  /** Events after this position; 0 for all. */
  after: Position;
  filter?: EventFilter;
  /** Whether batches tell of events that were erased, too, those of wanted streams; a filter is by streams then. */
  erased?: boolean;
  /**
   * Allows events to gather once all were given, for at most `ms` milliseconds and only while they keep coming, unless
   * `isAwaited` says that somebody waits for what the follower makes of them. Left out: they gather for some 20 ms.
   */
  gather?: { ms: number; isAwaited(): boolean } | undefined;
  /** Ends the iteration, without an error; so does closing the log. */
  signal: AbortSignal;
}

export interface EventBatch {
  events: RecordedEvent[];
  /** Wanted events that were passed over because they cannot be read. */
  unreadable?: UnreadableEvent[];
  /** Where events were erased, of those asked for; in log order. */
  erased?: ErasedEvent[];
  /** All wanted events up to and including this position have been delivered: the place to resume after. */
  position: Position;
  /**
   * True when nothing wanted was known to lie beyond `position`. The first time covers every append acknowledged
   * before `follow` was called; it is told with an empty batch when nothing is wanted.
   */
  caughtUp: boolean;
}

/** Streams of which events were removed, and the place in the order of removals up to which these are all. */
export interface Removals {
  streams: string[];
  place: number;
}

/** A thread's way to the one writer of a log; the port is transferred to the thread. */
export interface WriterLink {
  port: MessagePort;
  /** How many answers the writer has sent: it wakes who waits for that to change. */
  answers: Int32Array;
}

/** How long who opens a log waits for its store, and what it is told each time that it was not there. */
export interface Patience {
  ms: number;
  waiting(problem: string): void;
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
   * UUID that tells this log from every other one. It is made once, with the log, and stays for as long as the log does,
   * also in copies of it. No follower is given it as an event.
   */
  identity(): Promise<string>;

  /**
   * Whether `recordedAt` never falls from one event of the log to the next, because one writer sees to it. Where several
   * machines write, a change of leader can bring an earlier clock: the time that counts for an event is then the latest
   * one up to there in its stream.
   */
  readonly timesRise: boolean;

  /**
   * Appends one event; when the promise resolves, the event is durable. The order of its objects' members need not be kept.
   * An event id that the stream already holds, with `any` or its original expectation, changes nothing and answers
   * with the original place, whatever else the event says. Rejects with `version_conflict` when the expectation does
   * not hold, with `payload_too_large` when the event is larger than `MAX_EVENT_BYTES` (a backend may count up to
   * 1 KiB more, for names) and with `validation_failed` when the id is no UUID; nothing was written then, and
   * appends made at the same time are not touched.
   */
  append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended>;

  /**
   * Appends many events, each as `append` does, at a fraction of its cost; answers each by itself, in their order: with its
   * place when it is durable, or with the error that `append` would reject with. What becomes of one does not touch the others;
   * those of one stream are appended in their order. After one that is answered with `unavailable` the rest may be so too
   * without having been tried. Never rejects.
   */
  appendEach(appends: readonly Append[]): Promise<(Appended | ServiceError)[]>;

  /**
   * The events of one stream, in the asked direction; an empty array when the stream does not exist. Rejects with
   * `unreadable` when one of them cannot be read.
   */
  readStream(stream: string, options: ReadOptions): Promise<RecordedEvent[]>;

  /**
   * Removes for good the events of a stream before revision `before`, which are `erased`: each once, in the order of the
   * stream; those that were removed earlier are among them. The stream must go on behind them: the event of revision
   * `before` is there, and names them (`RecordErased`). When the promise resolves, no read and no follower gives them any
   * more, in any process, except that other processes may for a second; a follower that asks for it is told their places instead,
   * whenever it comes by. A removal that was cut off may have happened; repeating it completes it, and changes nothing where it was complete.
   */
  erase(stream: string, before: number, erased: readonly ErasedEvent[]): Promise<void>;

  /**
   * Streams of which events were removed since a place in the order of removals, and the place to go on from; without a
   * place none. Places are this object's own.
   */
  removals(after?: number): Promise<Removals>;

  /**
   * Whether the bytes of removed events stay in the log's files until the server is asked to scavenge them, which takes long;
   * else `purge` is called after each removal.
   */
  readonly scavenges: boolean;

  /**
   * Takes the bytes of removed events out of the log's files. True when none is left there; false when the server goes on
   * with it by itself, or readers hold the files: then it is called again later.
   */
  purge(): Promise<boolean>;

  /**
   * Position of the log's last event; 0 when it is empty. Every append acknowledged before is at or below it. Events
   * that a store writes for itself do not count, so every follower's `position` reaches it, whatever it wants.
   */
  head(): Promise<Position>;

  /** `recordedAt` of the log's last event; undefined when there is none. */
  lastRecordedAt(): Promise<string | undefined>;

  /**
   * Whether the log can be followed after this position: 0, or the place of an event that it holds, or held before the
   * store took it out. False beyond the end, and where no event begins; what is beyond the end may come to be a place.
   */
  hasPosition(position: Position): Promise<boolean>;

  /**
   * Of a position that the log no longer has, as it was put back to an earlier state, the last one before that it has: that of
   * the last event that a restore brought back, or of the log's last event where the position lies beyond its end. Undefined of any
   * other position.
   */
  lastBefore(position: Position): Promise<Position | undefined>;

  /**
   * Every wanted event after a position, in order, without gaps or repeats, for as long as the caller iterates.
   * Batches may be empty: they move `position` on past unwanted events, within milliseconds of the append. The
   * caller's pace is the source's pace. Events that are not this service's (without JSON data, or a workspace in
   * the metadata) are passed over. Survives a store that goes away: the iteration waits and goes on by itself,
   * unless it is found to be damaged: that rejects with `unavailable`. Rejects with `validation_failed` when `after` is no position of the log, also when it no longer is: a log that was
   * put back to an earlier state has other events to come at the places beyond it.
   */
  follow(options: FollowOptions): AsyncIterable<EventBatch>;

  /**
   * Where one writer serves all threads of a process: a way to it for another thread, which opens the log with it. Rejects with
   * `unavailable`.
   */
  linkWriter?(): Promise<WriterLink>;

  /**
   * Resolves when events can be appended and read, as the latest appends and reads of this connection showed; where there
   * were none of late it tries, without adding an event. Rejects with `unavailable`, whose `problem` tells operators what
   * is the matter, where that is known.
   */
  check(): Promise<void>;

  close(): Promise<void>;
}
