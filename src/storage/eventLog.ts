import type { MessagePort } from 'node:worker_threads';
import type {
  ErasedEvent,
  NewEvent,
  Position,
  RecordedEvent,
  UnreadableEvent,
} from '../domain/events/event.ts';
import { ServiceError, unavailable } from '../platform/errors.ts';

/**
 * Appends an event whose decision was based on a stream up to a revision, -1 for an empty stream. Returns undefined, and appends
 * nothing, when the stream has later events: decide again then. Any other rejection is that of `EventLog.append`.
 */
export async function appendBehind(
  eventLog: Pick<EventLog, 'append'>,
  stream: string,
  event: NewEvent,
  revision: number,
): Promise<Appended | undefined> {
  try {
    return await eventLog.append(stream, event, revision === -1 ? 'none' : revision);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'version_conflict') return undefined;
    throw error;
  }
}

/** The result of folding the first `version` events of a stream. */
interface Folded {
  version: number;
}

/**
 * Appends the event that `decide` derives from the stream's fold, as returned by `read`, and returns that fold. Decides again
 * when another event was appended in the meantime; appends nothing when `decide` returns undefined. Rejects with what `read` and
 * `decide` throw, and as `EventLog.append` does.
 */
export async function appendDecided<State extends Folded>(
  eventLog: Pick<EventLog, 'append'>,
  stream: string,
  read: () => Promise<State>,
  decide: (state: State) => NewEvent | undefined,
): Promise<State> {
  for (;;) {
    const state = await read();
    const event = decide(state);
    if (event === undefined) return state;
    if (await appendBehind(eventLog, stream, event, state.version - 1)) return state;
  }
}

/** `any`: no expectation; `none`: the stream must not exist; a number: the revision of its last event (0 is the first). */
export type ExpectedRevision = 'any' | 'none' | number;

export interface Appended {
  revision: number;
  position: Position;
  /** Whether earlier events of the stream were removed. */
  erased?: true;
}

/** One of several appends made together. */
export interface Append {
  stream: string;
  event: NewEvent;
  expected: ExpectedRevision;
}

export interface ReadOptions {
  direction?: 'forwards' | 'backwards';
  /** First revision to read; default: the first event forwards, the last event backwards. */
  from?: number;
  /** Maximum number of events. */
  limit: number;
}

/** Which events a follower wants: those of streams whose names start with one of the prefixes, or those of the given types. */
export type EventFilter = { streamPrefixes: string[] } | { eventTypes: string[] };

export interface FollowOptions {
  /** Only events after this position; 0 for all. */
  after: Position;
  filter?: EventFilter;
  /** Whether batches also report erased events of the wanted streams; the filter must then be by stream. */
  erased?: boolean;
  /**
   * Once caught up, lets events gather until this resolves, as it must at the signal. `idleMs`: how long none have come. Default:
   * about 20 ms.
   */
  gather?: ((signal: AbortSignal, idleMs: number) => Promise<void>) | undefined;
  /** Ends the iteration without an error; closing the log does the same. */
  signal: AbortSignal;
}

export interface EventBatch {
  events: RecordedEvent[];
  /** Wanted events that were skipped because they cannot be read. */
  unreadable?: UnreadableEvent[];
  /** Places of erased events, when requested; in log order. */
  erased?: ErasedEvent[];
  /** All wanted events up to and including this position have been delivered: resume after it. */
  position: Position;
  /**
   * True when no wanted event was known to lie beyond `position`. The first time, this covers every append acknowledged before
   * `follow` was called; an empty batch reports it when there are no wanted events.
   */
  caughtUp: boolean;
}

/** A log that cannot be reached waits, and yields nothing. */
const STALLED_MS = 30_000;

/**
 * Yields what `follow` does, up to the end that the log has at the call, or somewhat beyond. Rejects with `unavailable` when nothing
 * comes for 30 seconds.
 */
export async function* followToEnd(
  eventLog: EventLog,
  options: Omit<FollowOptions, 'signal' | 'gather'>,
): AsyncGenerator<EventBatch> {
  const stop = new AbortController();
  let stalled = setTimeout(() => stop.abort(), STALLED_MS);
  try {
    for await (const batch of eventLog.follow({ ...options, signal: stop.signal })) {
      clearTimeout(stalled);
      yield batch;
      if (batch.caughtUp) return;
      stalled = setTimeout(() => stop.abort(), STALLED_MS);
    }
    throw unavailable('event log');
  } finally {
    clearTimeout(stalled);
    stop.abort();
  }
}

/** Streams from which events were removed, and the place in the order of removals up to which the list is complete. */
export interface Removals {
  streams: string[];
  place: number;
}

/** A gap between two positions of a log: those between them belonged to what it lost, or may do so to another continuation of it. */
export interface OmittedPositions {
  after: Position;
  position: Position;
}

/** For an omitted position, returns the last one before the gap; undefined for any other. */
export function lastBeforeOmitted(
  gaps: readonly OmittedPositions[],
  position: Position,
): Position | undefined {
  return gaps.find((gap) => position > gap.after && position < gap.position)?.after;
}

/** A thread's connection to a log's only writer; the port is transferred to the thread. */
export interface WriterLink {
  port: MessagePort;
  /** How many answers the writer has sent; it wakes threads that wait for the count to change. */
  answers: Int32Array;
}

/** How long to wait for the store when opening a log, and a callback for each failed attempt. */
export interface OpenRetry {
  ms: number;
  waiting(problem: string): void;
}

/**
 * The event log: the service's single source of truth.
 *
 * Positions give the order of events, times do not: `recordedAt` comes from the clock of the machine that recorded the event, which may
 * be set back, or differ from that of the leader before. An event's effective time is the latest one so far in its stream.
 *
 * All methods reject with `ServiceError('unavailable')` when the store is unreachable or does not answer within three seconds,
 * EventStoreDB within the time that its URL allows (`defaultDeadline`). An append rejected this way may or may not have been
 * written; repeating it with the same event id and expectation settles that.
 */
export interface EventLog {
  /**
   * UUID that distinguishes this log from every other. Created once, with the log, and kept for its lifetime, in copies too.
   * Followers never receive it as an event.
   */
  identity(): Promise<string>;

  /**
   * Appends one event, which is durable when the promise resolves. The order of its objects' members need not be kept. An event
   * id that the stream holds, or held before it was erased, with `any` or its original expectation, changes nothing and returns the
   * original place, whatever the rest of the event; an event marked as a repeat (`isRepeat`) does so with any expectation. Rejects
   * with `version_conflict` when the expectation does not hold, with `payload_too_large` when the event is larger than
   * `MAX_EVENT_BYTES` (a backend may count up to 1 KiB more, for names), with `gone` when the stream held the event and something
   * else than `erase` removed it, and with `validation_failed` when the id is not a UUID, or the metadata name another workspace
   * than the stream; nothing is written then, and concurrent appends are not affected.
   */
  append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended>;

  /**
   * Appends many events, each as `append` does, at a fraction of its cost. Returns one result per append, in order: its place
   * once durable, or the error that `append` would reject with. Appends do not affect each other; those of one stream are made in
   * order. After an `unavailable` the remaining ones may be `unavailable` too, without having been tried. Never rejects.
   */
  appendEach(appends: readonly Append[]): Promise<(Appended | ServiceError)[]>;

  /**
   * Returns the events of one stream in the requested direction; an empty array when the stream does not exist. Rejects with
   * `unreadable` when one of them cannot be read.
   */
  readStream(stream: string, options: ReadOptions): Promise<RecordedEvent[]>;

  /**
   * Permanently removes the events of a stream before revision `before`. They are listed in `erased`: each once, in stream order,
   * including those removed earlier. The event at revision `before` must exist and name them (`RecordErased`). Once the promise
   * resolves, no read and no follower in any process returns them, except that other processes may for up to a second; followers
   * that ask for it receive their places instead, whenever they get there. A removal that was cut off may have happened;
   * repeating it completes it, and changes nothing if it was complete.
   */
  erase(stream: string, before: number, erased: readonly ErasedEvent[]): Promise<void>;

  /**
   * Streams from which events were removed since a place in the order of removals, and the place to continue from; no streams
   * without a place. Places are specific to this object.
   */
  removals(after?: number): Promise<Removals>;

  /**
   * If the bytes of removed events stay in the log's files until its servers scavenge, which takes long: has them do so. Otherwise
   * undefined, and `purge` removes them.
   */
  readonly scavenger?: Scavenger;

  /**
   * Removes the bytes of removed events from the log's files, unless its server scavenges. Rejects with `unavailable`, also when
   * readers hold the files for more than ten seconds.
   */
  purge(): Promise<void>;

  /**
   * Position of the log's last event; 0 when it is empty. Every append acknowledged before is at or below it. The store's own
   * events do not count, so every follower's `position` reaches it, whatever its filter.
   */
  head(): Promise<Position>;

  /** Whether there may be events of these types behind a position: true as well where finding out would take long. */
  mayHaveBehind(position: Position, eventTypes: readonly string[]): Promise<boolean>;

  /** `recordedAt` of the log's last event; undefined when there is none. */
  lastRecordedAt(): Promise<string | undefined>;

  /**
   * Whether the log can be followed after this position: 0, or the place of an event that it holds, or held before the store
   * removed it. False beyond the end, and where no event begins; a position beyond the end may become valid later.
   */
  hasPosition(position: Position): Promise<boolean>;

  /**
   * For a position that the log lost when it was restored to an earlier state, returns the last position before it that still
   * exists: that of the last event that a restore brought back, or of the log's last event where the position lies beyond its
   * end. Undefined for any other position.
   */
  lastBefore(position: Position): Promise<Position | undefined>;

  /** Returns the positions that the log omits because it was restored or moved, by ascending position. */
  omittedPositions(): Promise<OmittedPositions[]>;

  /**
   * Yields every wanted event after a position, in order, without gaps or repeats, for as long as the caller iterates. Batches
   * may be empty: they advance `position` past unwanted events, within milliseconds of the append. Reading proceeds at the
   * caller's pace. Skips events that are not this service's (without JSON data, or without a workspace in the metadata), and, with a
   * filter by type, bookkeeping (`isBookkeeping`). Events whose metadata contradict their stream (`mayContain`) are `unreadable`.
   * When the store becomes unreachable, the iteration waits and resumes; when the store turns out to be damaged, it rejects with
   * `unavailable`; when the store refuses for a reason that does not pass, with `internal`. Rejects with `validation_failed` when `after` is not, or no longer, a position of the log: a log restored to
   * an earlier state will have other events at the places beyond it.
   */
  follow(options: FollowOptions): AsyncIterable<EventBatch>;

  /**
   * Where one writer serves all threads of a process: returns a connection to it with which another thread opens the log. Rejects
   * with `unavailable`.
   */
  linkWriter?(): Promise<WriterLink>;

  /**
   * Resolves when events can be appended and read, judging by the latest appends and reads of this connection; if there were none
   * recently it tries, without adding an event. Rejects with `unavailable`, whose `problem` tells operators the cause, where
   * known.
   */
  check(): Promise<void>;

  close(): Promise<void>;
}

/** The error for an event whose id is not a UUID. */
export function idNotUuid(): ServiceError {
  return new ServiceError('validation_failed', 'The id of an event must be a UUID.');
}

/** The error for an event whose metadata name another workspace than its stream does. */
export function otherWorkspace(): ServiceError {
  return new ServiceError('validation_failed', 'The stream belongs to another workspace than the event.');
}

/** The error for an event larger than `MAX_EVENT_BYTES`. */
export function eventTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', 'The event is larger than 1 MiB.');
}

/** The error for an append whose expectation does not hold; `version` is the stream's actual version, 0 for none. */
export function versionConflict(version: number | bigint): ServiceError {
  if (Number(version) === 0) return new ServiceError('version_conflict', 'The record does not exist.');
  return new ServiceError('version_conflict', `The record is at version ${version}.`, {
    version: Number(version),
  });
}

/** The error for repeating the append of an event that was removed from its stream by something else than the service. */
export function eventRemoved(): ServiceError {
  return new ServiceError('gone', 'The event was removed from the event log.');
}

/** The error for following a log after a position that it does not have. */
export function positionUnknown(): ServiceError {
  return new ServiceError('validation_failed', 'The log has no event at that position.');
}

/**
 * Returns all events of a batch in log order: entries without `data` are unreadable events, entries with a `leaf` the places of
 * erased ones.
 */
export function inLogOrder({
  events,
  unreadable = [],
  erased = [],
}: Pick<EventBatch, 'events' | 'unreadable' | 'erased'>): (RecordedEvent | UnreadableEvent | ErasedEvent)[] {
  // Almost always both are empty.
  if (unreadable.length === 0 && erased.length === 0) return events;
  return [...events, ...unreadable, ...erased].sort((a, b) => a.position - b.position);
}

/** Where a log has an event. */
export type Place = Pick<RecordedEvent, 'position' | 'stream' | 'revision' | 'id'>;

/** An event with its data and metadata as the texts in the log. */
export interface CopiedEvent extends Place, Pick<RecordedEvent, 'type' | 'recordedAt'> {
  data: string;
  metadata: string;
}

/** What a place in a log holds: an event, an unreadable one, or what is left of an erased one. */
export type CopiedPlace = CopiedEvent | UnreadableEvent | ErasedEvent;

/**
 * A new event log that receives the contents of another, each event at its position and with its time. Nobody else may use it before
 * it is complete. Methods reject with `unavailable`.
 */
export interface LogCopy {
  /** Whether `finish` was called: the log is in use. */
  isComplete(): Promise<boolean>;

  /**
   * Returns the last places of a copy that was cut off, in log order; empty when it has none. Places before them have been added
   * without a gap; of the last ones some may be missing.
   */
  tail(): Promise<Place[]>;

  /**
   * Adds the next places, in log order; durable when it resolves. Rejects with `conflict` when the store does not take them in
   * this order, or not at all; its `problem` tells operators why.
   */
  add(places: readonly CopiedPlace[]): Promise<void>;

  /** Removes events, as `EventLog.erase` does, which may have been added without their contents. */
  erase(stream: string, before: number, erased: readonly ErasedEvent[]): Promise<void>;

  /**
   * Completes the copy, to which all positions up to the last gap's `after` belong, except those in `omitted`. It records one more
   * event at the end of that gap, which no other continuation of the log has reached; later events are appended after it.
   */
  finish(stream: string, event: NewEvent, omitted: readonly OmittedPositions[]): Promise<void>;

  close(): Promise<void>;
}

/** How a scavenge ended: `covered` if everything removed before the mark is out of the node's files, otherwise `not_covered`. */
export type ScavengeOutcome = 'running' | 'covered' | 'not_covered' | 'failed';

/** Has the servers of an event log remove the bytes of removed events from their files: each node has its own. */
export interface Scavenger {
  /** Returns the nodes, as `host:port`, including unreachable ones. Rejects with `unavailable`. */
  nodes(): Promise<string[]>;
  /** Returns a place in the server's log: every removal until now is before it. Rejects with `unavailable`. */
  mark(): Promise<Position>;
  /**
   * Starts a scavenge on a node, unless one is running there, and returns the id of the one that is running. Rejects with
   * `unavailable`, whose `problem` says so when the user lacks permission.
   */
  start(node: string): Promise<string>;
  /** Returns the outcome of a scavenge, and whether it covers what was removed before a mark. Rejects with `unavailable`. */
  outcome(scavenge: string, mark: Position): Promise<ScavengeOutcome>;
}
