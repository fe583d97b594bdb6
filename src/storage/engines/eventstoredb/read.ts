import type {
  AllStreamResolvedEvent,
  RecordedEvent as DriverEvent,
  Position as DriverPosition,
  Filter,
  ReadPosition,
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
import { attempt, type Driver, isDriverError, unusable, type Waiting } from './drivers/driver.ts';

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
function isSystemStream(name: string): boolean {
  return name.startsWith('$');
}

/** Returns the commit position: it fits a safe integer up to logs of 9 petabytes, and equals the prepare position. */
export function toPosition(position: DriverPosition | undefined): Position {
  if (position === undefined) {
    const problem =
      'The server of the event log reports no positions: EventStoreDB 23.10 or newer is needed.';
    throw unusable(undefined, problem);
  }
  return Number(position.commit);
}

/** Returns the driver's form of a position; 0 is before the first event. */
export function fromPosition(position: Position): ReadPosition {
  return position === 0 ? 'start' : { commit: BigInt(position), prepare: BigInt(position) };
}

export function toRecordedEvent(event: DriverEvent): RecordedEvent {
  return {
    id: event.id,
    type: event.type,
    data: event.data as JsonObject,
    metadata: dataAs<EventMetadata>(event.metadata as object),
    stream: event.streamId,
    revision: Number(event.revision),
    position: toPosition(event.position),
    recordedAt: event.created.toISOString(),
  };
}

/** Converts an event in one of this service's streams. Throws `DamagedEvent` for what the service did not write there. */
function toStreamEvent(event: DriverEvent): RecordedEvent {
  if (!isOurs(event) || isMisplaced(event))
    throw new DamagedEvent({ stream: event.streamId, position: toPosition(event.position) });
  return toRecordedEvent(event);
}

/** Converts an entry of the whole log. Other applications may write anything to the same server. */
export function toLogEntry({ event }: Pick<AllStreamResolvedEvent, 'event'>): LogEntry {
  const position = toPosition(event?.position);
  if (event === undefined || isSystemStream(event.streamId))
    return { position, event: undefined, lasts: false };
  if (event.streamId === ERASURES_STREAM) {
    const erasure = isJsonObject(event.data) ? toErasure(event.data) : undefined;
    return { position, event: undefined, lasts: true, erasure };
  }
  if (!isOurs(event)) return { position, event: undefined, lasts: true };
  const recorded = toRecordedEvent(event);
  return { position, event: isMisplaced(event) ? toMisplaced(recorded) : recorded, lasts: true };
}

function toMisplaced({ id, type, stream, revision, position }: RecordedEvent): UnreadableEvent {
  return { id, type, stream, revision, position, misplaced: true };
}

function isMisplaced({ streamId, metadata }: DriverEvent): boolean {
  return !mayContain(streamId, dataAs<EventMetadata>(metadata as object).workspace);
}

function isOurs({ streamId, isJson, data, metadata }: DriverEvent): boolean {
  if (isSystemStream(streamId) || !isJson || !isJsonObject(data) || !isJsonObject(metadata)) return false;
  return typeof metadata.workspace === 'string';
}

const FIRST_PAGE = 8;
const LARGEST_PAGE = 1_024;
/** Number of events searched for the last one of this service. */
const FARTHEST_LOOK = 10_000;

/** Bounded reads. In a cluster they ask the leader, so that they see everything it acknowledged. */
export class LogReader {
  readonly client: DriverClient;
  /** The last user event at or below a place, so that system events are skipped once and not in each call. */
  #known: { below: Position; head: Position } = { below: 0, head: 0 };

  constructor(client: DriverClient) {
    this.client = client;
  }

  /** `toEvent` converts what is in the stream; by default it accepts only this service's events. */
  readStream(
    stream: string,
    { direction, from, limit }: ReadOptions,
    toEvent = toStreamEvent,
  ): Promise<RecordedEvent[]> {
    const backwards = direction === 'backwards';
    const options = {
      direction: backwards ? 'backwards' : 'forwards',
      from: from === undefined ? (backwards ? 'end' : 'start') : BigInt(from),
      maxCount: limit,
    } as const;
    return this.#read(async (driver, waiting) => {
      try {
        const found = await collect(driver.readStream(stream, options), waiting);
        return found.flatMap(({ event }) => (event ? [toEvent(event)] : []));
      } catch (error) {
        if (isDriverError(error, 'stream-not-found')) return [];
        throw error;
      }
    });
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
        event === undefined || goOn(toRecordedEvent(event), seen);
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
    for await (const event of this.#backwards()) {
      const position = toPosition(event.position);
      newest ||= position;
      if (position <= this.#known.below) return this.#found(newest, this.#known.head);
      if (!isSystemStream(event.streamId)) return this.#found(newest, position);
    }
    return this.#found(newest, 0);
  }

  /** Returns the last of this service's events; undefined when so many others follow it that the search would take too long. */
  async lastEvent(): Promise<RecordedEvent | undefined> {
    let seen = 0;
    for await (const event of this.#backwards()) {
      const entry = toLogEntry({ event });
      if (entry.event && 'data' in entry.event) return entry.event;
      seen += 1;
      if (seen === FARTHEST_LOOK) return undefined;
    }
    return undefined;
  }

  /** Returns the position of the very last event, including the server's own; 0 when there is none. */
  async lastPosition(): Promise<Position> {
    const [last] = await this.#readBackwards('end', 1);
    return last ? toPosition(last.position) : 0;
  }

  /**
   * Returns the first entry at a position, or after it if that event was scavenged; undefined beyond the end of the log, and
   * where no event begins.
   */
  async firstEntry(position: Position): Promise<LogEntry | undefined> {
    return (await this.entriesFrom(position, 1))[0];
  }

  /** Returns up to `maxCount` entries at and after a position, as `firstEntry` does. */
  entriesFrom(position: Position, maxCount: number): Promise<LogEntry[]> {
    return this.#read(async (driver, waiting) => {
      const options = { direction: 'forwards', from: fromPosition(position), maxCount } as const;
      try {
        return (await collect(driver.readAll(options), waiting)).map(toLogEntry);
      } catch (error) {
        if (isNoPosition(error)) return [];
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
  async *#backwards() {
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
    return head;
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
