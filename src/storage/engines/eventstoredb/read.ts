import type {
  AllStreamResolvedEvent,
  RecordedEvent as DriverEvent,
  Filter,
  ReadPosition,
  ReadRevision,
  ResolvedEvent,
  StreamingRead,
} from '@eventstore/db-client';
import {
  DamagedEvent,
  dataAs,
  type EventMetadata,
  isJsonObject,
  type JsonObject,
  type Position,
  type RecordedEvent,
  type UnreadableEvent,
} from '../../../domain/events/event.ts';
import { mayContain } from '../../../domain/events/streams.ts';
import type { ReadOptions } from '../../eventLog.ts';
import type { DriverClient } from './client.ts';
import { attempt, type Driver, isDriverError, type Read, type Waiting } from './drivers/driver.ts';
import { COPY_STREAM, ORIGINAL, Positions, toPosition } from './positions.ts';

/**
 * Notes of what was removed, by all processes. Its events have no workspace, so they belong to nobody; nor does the name have a
 * dot.
 */
export const ERASURES_STREAM = 'erasures';

/** States that the events of a stream before a revision were removed; `first` and `last` are their first and last positions. */
export interface Erasure {
  stream: string;
  before: number;
  first: Position;
  last: Position;
}

/** Returns the note in an event of the notes' stream; undefined when it is not one. */
export function toErasure({ stream, before, first, last }: JsonObject): Erasure | undefined {
  if (typeof stream !== 'string' || typeof before !== 'number') return undefined;
  if (typeof first !== 'number' || typeof last !== 'number') return undefined;
  return { stream, before, first, last };
}

/** A place in the log; `event` is undefined when it does not hold one of this service's events, nor claims to. */
export interface LogEntry {
  position: Position;
  event: RecordedEvent | UnreadableEvent | undefined;
  /** False for the server's own events, which it removes by itself. */
  lasts?: boolean;
  /** The note of a removal at this place. */
  erasure?: Erasure | undefined;
}

/** Names of the server's own streams start with this. */
export function isSystemStream(name: string): boolean {
  return name.startsWith('$');
}

/** Returns the driver's form of a place of the server; 0 is before the first event. */
export function fromPlace(place: Position): ReadPosition {
  return place === 0 ? 'start' : { commit: BigInt(place), prepare: BigInt(place) };
}

export function toRecordedEvent(event: DriverEvent, positions: Positions): RecordedEvent {
  const recorded = {
    id: event.id,
    type: event.type,
    data: event.data as JsonObject,
    metadata: dataAs<EventMetadata>(event.metadata as object),
    stream: event.streamId,
    revision: Number(event.revision),
    position: positions.of(event),
    recordedAt: event.created.toISOString(),
  };
  const original = positions.original(event);
  if (original === undefined) return recorded;
  const { [ORIGINAL]: _, ...metadata } = event.metadata as JsonObject;
  const { recordedAt = recorded.recordedAt } = original;
  return { ...recorded, metadata: dataAs<EventMetadata>(metadata), recordedAt };
}

/** Converts an event in one of this service's streams. Throws `DamagedEvent` for what the service did not write there. */
function toStreamEvent(event: DriverEvent, positions: Positions): RecordedEvent {
  if (!isOurs(event) || isMisplaced(event))
    throw new DamagedEvent({ stream: event.streamId, position: positions.of(event) });
  return toRecordedEvent(event, positions);
}

/** Converts an entry of the whole log. Other applications may write anything to the same server. */
export function toLogEntry({ event }: Pick<AllStreamResolvedEvent, 'event'>, positions: Positions): LogEntry {
  const position = event ? positions.of(event) : toPosition(undefined);
  if (event === undefined || isSystemStream(event.streamId))
    return { position, event: undefined, lasts: false };
  if (event.streamId === ERASURES_STREAM) {
    const erasure = isJsonObject(event.data) ? toErasure(event.data) : undefined;
    return { position, event: undefined, lasts: true, erasure };
  }
  const isLost = positions.original(event)?.unreadable;
  if (!isOurs(event) && !isLost) return { position, event: undefined, lasts: true };
  const recorded = toRecordedEvent(event, positions);
  if (isLost) return { position, event: toUnreadable(recorded), lasts: true };
  if (!isMisplaced(event)) return { position, event: recorded, lasts: true };
  return { position, event: { ...toUnreadable(recorded), misplaced: true }, lasts: true };
}

function toUnreadable({ id, type, stream, revision, position }: RecordedEvent): UnreadableEvent {
  return { id, type, stream, revision, position };
}

function isMisplaced({ streamId, metadata }: DriverEvent): boolean {
  return !mayContain(streamId, dataAs<EventMetadata>(metadata as object).workspace);
}

function isOurs({ streamId, isJson, data, metadata }: DriverEvent): boolean {
  if (isSystemStream(streamId) || !isJson || !isJsonObject(data) || !isJsonObject(metadata)) return false;
  return typeof metadata.workspace === 'string';
}

/** Number of notes of a copy that are read together. */
const NOTES = 1_000;
const FIRST_PAGE = 8;
const LARGEST_PAGE = 1_024;
/** Number of copied events read together in search of a position: a busy server answers in time. */
const COPIED_PAGE = 256;
/** Number of events searched for the last one of this service. */
const FARTHEST_LOOK = 10_000;

/** Bounded reads. In a cluster they ask the leader, so that they see everything it acknowledged. */
export class LogReader {
  readonly client: DriverClient;
  readonly positions = new Positions();
  /** The server's place of the last user event at or below another, so that system events are skipped once and not in each call. */
  #known: { below: Position; head: Position } = { below: 0, head: 0 };
  /** The last note of a copy that was read. */
  #lastNote: DriverEvent | undefined;

  constructor(client: DriverClient) {
    this.client = client;
  }

  /**
   * Reads the notes of a copy of another log to the server, from which its positions follow; returns the last one, if there is any.
   * Rejects with `unavailable`.
   */
  async readCopy(): Promise<DriverEvent | undefined> {
    for (let full = true; full; ) {
      const from = this.#lastNote === undefined ? 'start' : this.#lastNote.revision + 1n;
      const notes = await this.#readStream(COPY_STREAM, { direction: 'forwards', from, maxCount: NOTES });
      this.positions.take(notes);
      this.#lastNote = notes.at(-1) ?? this.#lastNote;
      full = notes.length === NOTES;
    }
    return this.#lastNote;
  }

  /** `toEvent` converts what is in the stream; by default it accepts only this service's events. */
  async readStream(
    stream: string,
    { direction, from, limit }: ReadOptions,
    toEvent = toStreamEvent,
  ): Promise<RecordedEvent[]> {
    const backwards = direction === 'backwards';
    const found = await this.#readStream(stream, {
      direction: backwards ? 'backwards' : 'forwards',
      from: from === undefined ? (backwards ? 'end' : 'start') : BigInt(from),
      maxCount: limit,
    });
    return found.map((event) => toEvent(event, this.positions));
  }

  /**
   * Visits a stream's events backwards from its end: at most `limit`, and while `goOn`, called with the number visited, returns
   * true. A failed read starts again.
   */
  searchBackwards(
    stream: string,
    limit: number,
    goOn: (event: RecordedEvent, seen: number) => boolean,
  ): Promise<void> {
    const options = { direction: 'backwards', from: 'end', maxCount: limit } as const;
    return this.#read(async (driver, waiting) => {
      const take = ({ event }: ResolvedEvent, seen: number) =>
        event === undefined || goOn(toRecordedEvent(event, this.positions), seen);
      try {
        await collect(driver.readStream(stream, options), waiting, take);
      } catch (error) {
        if (!isDriverError(error, 'stream-not-found')) throw error;
      }
    });
  }

  /** Returns the position of the last event outside the server's own streams; 0 when there is none. */
  async head(): Promise<Position> {
    let newest = 0;
    for await (const event of this.backwards()) {
      const place = toPosition(event.position);
      newest ||= place;
      if (place <= this.#known.below) return this.#found(newest, this.#known.head);
      if (!isSystemStream(event.streamId)) return this.#found(newest, place);
    }
    return this.#found(newest, 0);
  }

  /** Returns the last of this service's events; undefined when so many others follow it that the search would take too long. */
  async lastEvent(): Promise<RecordedEvent | undefined> {
    let seen = 0;
    for await (const event of this.backwards()) {
      const entry = toLogEntry({ event }, this.positions);
      if (entry.event && 'data' in entry.event) return entry.event;
      seen += 1;
      if (seen === FARTHEST_LOOK) return undefined;
    }
    return undefined;
  }

  /** Returns the position of the very last event, including the server's own; 0 when there is none. */
  async lastPosition(): Promise<Position> {
    const [last] = await this.#readBackwards('end', 1);
    return last ? this.positions.ofPlace(toPosition(last.position)) : 0;
  }

  /**
   * Returns the first entry at a position, or after it if that event was scavenged or the position is among those of a copied log;
   * undefined beyond the end of the log, and where no event begins.
   */
  async firstEntry(position: Position): Promise<LogEntry | undefined> {
    return (await this.entriesFrom(position, 1))[0];
  }

  /** Returns up to `maxCount` entries at and after a position, as `firstEntry` does. */
  async entriesFrom(position: Position, maxCount: number): Promise<LogEntry[]> {
    const place = this.positions.placeOf(position);
    if (place === undefined) return [];
    if (!this.positions.isKnown(position)) return this.#copiesFrom(position, place, maxCount);
    return (await this.#readForwards(place, maxCount)).map((entry) => toLogEntry(entry, this.positions));
  }

  /** Returns the entries at and after the position of a copied event, reading from a place before it. */
  async #copiesFrom(position: Position, place: Position, maxCount: number): Promise<LogEntry[]> {
    const found: LogEntry[] = [];
    for (let from = place, full = true; full && found.length < maxCount; ) {
      const page = await this.#readForwards(from, COPIED_PAGE);
      for (const entry of page.map((one) => toLogEntry(one, this.positions))) {
        // The last entry of a page is the first one of the next.
        if (entry.position >= position && entry.position > (found.at(-1)?.position ?? 0)) found.push(entry);
      }
      full = page.length === COPIED_PAGE;
      from = toPosition(page.at(-1)?.event?.position);
    }
    return found.slice(0, maxCount);
  }

  #readForwards(place: Position, maxCount: number): Promise<AllStreamResolvedEvent[]> {
    const options = { direction: 'forwards', from: fromPlace(place), maxCount } as const;
    return this.#read(async (driver, waiting) => {
      try {
        return await collect(driver.readAll(options), waiting);
      } catch (error) {
        if (isNoPosition(error)) return [];
        throw error;
      }
    });
  }

  #readStream(stream: string, options: Read<ReadRevision>): Promise<DriverEvent[]> {
    return this.#read(async (driver, waiting) => {
      try {
        const found = await collect(driver.readStream(stream, options), waiting);
        return found.flatMap(({ event }) => (event ? [event] : []));
      } catch (error) {
        if (isDriverError(error, 'stream-not-found')) return [];
        throw error;
      }
    });
  }

  #read<Result>(make: (driver: Driver, waiting: Waiting) => Promise<Result>): Promise<Result> {
    return attempt(this.client, (waiting) =>
      this.client.call(waiting, async (driver) => {
        const { replaced } = this.client;
        const result = await make(driver, waiting);
        // The driver cancels the reads of an abandoned client, and ends them as if they were complete.
        if (replaced.aborted) throw new Error('its client was replaced');
        return result;
      }),
    );
  }

  /** Yields all events backwards from the end of the log, in pages of growing size. */
  async *backwards() {
    let from: ReadPosition = 'end';
    for (let count = FIRST_PAGE; ; count = Math.min(count * 4, LARGEST_PAGE)) {
      const page = await this.#readBackwards(from, count);
      yield* page;
      const last = page.at(-1)?.position;
      if (last === undefined || page.length < count) return;
      from = last;
    }
  }

  #readBackwards(from: ReadPosition, maxCount: number) {
    return this.#read(async (driver, waiting) => {
      const page = await collect(driver.readAll({ direction: 'backwards', from, maxCount }), waiting);
      return page.flatMap(({ event }) => (event ? [event] : []));
    });
  }

  #found(newest: Position, head: Position): Position {
    if (newest > this.#known.below) this.#known = { below: newest, head };
    return this.positions.ofPlace(head);
  }
}

/** Whether the server reports that no event begins at the place to read from. */
function isNoPosition(error: unknown): boolean {
  return isDriverError(error, 'unknown') && error.message.includes('Unexpected ReadAllResult');
}

/** Returns all items of a read, or those up to the one for which `goOn` is false. */
function collect<Item>(
  read: StreamingRead<Item>,
  waiting: Waiting,
  goOn: (item: Item, seen: number) => boolean = () => true,
): Promise<Item[]> {
  return new Promise((resolve, reject) => {
    const items: Item[] = [];
    const cancel = () => read.cancel().catch(() => undefined);
    let enough = false;
    read.on('data', (item: Item) => {
      if (enough) return;
      items.push(item);
      enough = !goOn(item, items.length);
      if (enough) cancel();
      if (enough) resolve(items);
    });
    read.on('end', () => resolve(items));
    read.on('error', reject);
    waiting.cancel = cancel;
  });
}

/** Which streams or types are meant: those with these prefixes, or those that match. */
type Names = { prefixes: string[] } | { regex: string };

/** Filters events in streams with these names; the server reports its progress after `maxSearchWindow` other events. */
export function streamNames(names: Names, maxSearchWindow?: number): Filter {
  return filter('streamName', names, maxSearchWindow);
}

/** Filters events whose types have these prefixes. */
export function eventTypes(prefixes: string[], maxSearchWindow?: number): Filter {
  return filter('eventType', { prefixes }, maxSearchWindow);
}

/** Streams other than the server's own. */
export const userStreams = { regex: '^[^$]' };

function filter(filterOn: Filter['filterOn'], names: Names, maxSearchWindow: number | undefined): Filter {
  const window = maxSearchWindow === undefined ? {} : { maxSearchWindow };
  return { filterOn, checkpointInterval: 1, ...window, ...names } as Filter;
}
