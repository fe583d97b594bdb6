import type { ErasedEvent, Position, RecordedEvent, UnreadableEvent } from '../../../domain/events/event.ts';
import { erasureStep, placesListedIn, type RecordErased } from '../../../domain/events/payloads.ts';
import { unavailable } from '../../../platform/errors.ts';
import type { EventBatch, ScavengeOutcome, Scavenger } from '../../eventLog.ts';
import { type DriverClient, hostsOf, nodeUrl } from './client.ts';
import { attempt } from './drivers/driver.ts';
import { ERASURES_STREAM, type Erasure, type LogReader, toErasure, toRecordedEvent } from './read.ts';

/** Number of streams whose tombstones are read concurrently. */
const AT_ONCE = 16;
/** Number of events and erased places in one part of a batch. */
const PART = 500;

interface Stream {
  erasure: Erasure;
  /** Undefined until its tombstones are read. */
  places?: ErasedEvent[];
}

/**
 * Tells one follower where events were erased, whether the server still delivers them or a scavenge removed them. The places are
 * in the tombstones, which are read when the follower reaches the first of a stream's.
 */
export class ErasedPositions {
  readonly #erasures: Erasures;
  readonly #wants: (stream: string) => boolean;
  /** Number of notes processed. */
  #taken = 0;
  /** Streams that may have places beyond those reported. */
  readonly #streams = new Map<string, Stream>();

  constructor(erasures: Erasures, wants: (stream: string) => boolean) {
    this.#erasures = erasures;
    this.#wants = wants;
  }

  /**
   * Yields a batch that begins after a position, in parts: without the erased events, with their places. Everything removed
   * before the batch was read must be known by now. Rejects with `unavailable`.
   */
  async *parts(batch: EventBatch, after: Position): AsyncGenerator<EventBatch> {
    let position = after;
    while (position < batch.position) {
      const missing = this.#missing(position, batch.position);
      const end = missing[0] ? missing[0].erasure.first - 1 : batch.position;
      if (end > position) {
        const { events, unreadable, erased } = this.#told(batch, position, end);
        const places = [...events, ...unreadable, ...erased]
          .map((place) => place.position)
          .sort((a, b) => a - b);
        const last = places[PART - 1] ?? (end === batch.position ? end : places.at(-1));
        position = last ?? end;
        if (last !== undefined) yield part(batch, { events, unreadable, erased }, last);
      } else {
        const read = async (stream: Stream) => {
          stream.places = await this.#erasures.eventsOf(stream.erasure);
        };
        await Promise.all(missing.slice(0, AT_ONCE).map(read));
        // Any removal of a tombstone during the read has been noted by now.
        await this.#erasures.refresh();
      }
    }
    if (after === batch.position) yield batch;
  }

  /** Returns streams with unknown places in a range; those that begin first come first. */
  #missing(after: Position, upTo: Position): Stream[] {
    const { notes } = this.#erasures;
    for (; this.#taken < notes.length; this.#taken += 1) {
      const erasure = notes[this.#taken] as Erasure;
      if (this.#wants(erasure.stream)) this.#streams.set(erasure.stream, { erasure });
    }
    const missing: Stream[] = [];
    for (const [name, stream] of this.#streams) {
      if (stream.erasure.last <= after) this.#streams.delete(name);
      else if (stream.places === undefined && stream.erasure.first <= upTo) missing.push(stream);
    }
    return missing.sort((a, b) => a.erasure.first - b.erasure.first);
  }

  #told(batch: EventBatch, after: Position, end: Position) {
    const within = ({ position }: { position: Position }) => position > after && position <= end;
    const isPresent = (event: UnreadableEvent) => within(event) && !this.#erasures.has(event);
    const events = batch.events.filter(isPresent);
    const unreadable = (batch.unreadable ?? []).filter(isPresent);
    const erased = [...this.#streams.values()].flatMap(({ places = [] }) => places.filter(within));
    return { events, unreadable, erased: erased.sort((a, b) => a.position - b.position) };
  }
}

/** Returns the part of a batch up to a position, from what is to be reported of it. */
function part(
  batch: EventBatch,
  told: Required<Pick<EventBatch, 'events' | 'unreadable' | 'erased'>>,
  position: Position,
): EventBatch {
  const fits = (place: { position: Position }) => place.position <= position;
  const unreadable = told.unreadable.filter(fits);
  const erased = told.erased.filter(fits);
  return {
    events: told.events.filter(fits),
    ...(unreadable.length > 0 && { unreadable }),
    ...(erased.length > 0 && { erased }),
    position,
    caughtUp: batch.caughtUp && position === batch.position,
  };
}

const PAGE = 1_000;

/**
 * What was removed from which streams. The server delivers such events with the whole log until they are scavenged; readers use
 * this to drop them. It knows everything that it has read or was told.
 */
export class Erasures {
  readonly #reader: LogReader;
  readonly #before = new Map<string, number>();
  readonly #notes: Erasure[] = [];
  /** Revision of the first unread note. */
  #next = 0;
  /** When the last complete read began, on the monotonic clock. */
  readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<unknown> = Promise.resolve();
  #asked: Promise<void> | undefined;

  constructor(reader: LogReader) {
    this.#reader = reader;
  }

  /** All notes, in the order in which they became known; a stream's later note covers its earlier ones. */
  get notes(): readonly Erasure[] {
    return this.#notes;
  }

  /** Returns the revision before which a stream's events were removed; 0 when none were. */
  before(stream: string): number {
    return this.#before.get(stream) ?? 0;
  }

  /** Whether an event was removed. */
  has({ stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>): boolean {
    return this.#before.size > 0 && revision < this.before(stream);
  }

  add(erasure: Erasure): void {
    if (erasure.before <= this.before(erasure.stream)) return;
    this.#before.set(erasure.stream, erasure.before);
    this.#notes.push(erasure);
  }

  /** Returns the events that a removal took from a stream, as the tombstones behind it list them. Rejects with `unavailable`. */
  async eventsOf({ stream, before }: Pick<Erasure, 'stream' | 'before'>): Promise<ErasedEvent[]> {
    const [first] = await this.#reader.readStream(stream, { from: before, limit: 1 }, toRecordedEvent);
    const { parts = 1 } = (first?.data ?? {}) as Partial<RecordErased>;
    const options = { from: (first?.revision ?? before) + 1, limit: parts - 1 };
    const others = parts > 1 ? await this.#reader.readStream(stream, options, toRecordedEvent) : [];
    return [first, ...others].flatMap((event) => (event && erasureStep(event) ? listed(event, before) : []));
  }

  /** Reads the notes written until now. Concurrent calls share one read. Rejects with `unavailable`. */
  refresh(): Promise<void> {
    this.#asked ??= this.#reading.then(() => {
      this.#asked = undefined;
      const reading = this.#readOn();
      this.#reading = reading.catch(() => undefined);
      return reading;
    });
    return this.#asked;
  }

  async #readOn(): Promise<void> {
    const begunAt = performance.now();
    for (let full = true; full; ) {
      const options = { from: this.#next, limit: PAGE };
      const events = await this.#reader.readStream(ERASURES_STREAM, options, toRecordedEvent);
      for (const { data, revision } of events) {
        const erasure = toErasure(data);
        if (erasure) this.add(erasure);
        this.#next = revision + 1;
      }
      full = events.length === PAGE;
    }
    this.readAt = begunAt;
  }
}

function listed(tombstone: RecordedEvent, before: number): ErasedEvent[] {
  return placesListedIn(tombstone).filter(({ revision }) => revision < before);
}

/** gRPC's status numbers for calls that the user may not make. */
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

const MAY_NOT =
  'The server does not let the user in EVENT_LOG_URL start a scavenge: make it a member of $admins or $ops, or start it by other means.';

/**
 * Starts a scavenge on the connected node, unless one is running, and returns the id of the one that is. Rejects with `unavailable`,
 * whose `problem` says so when the user lacks permission.
 */
export function startScavenge(client: DriverClient): Promise<string> {
  return attempt(client, (waiting) =>
    client.call(waiting, async (driver) => {
      try {
        return await driver.startScavenge();
      } catch (error) {
        const { code } = error as { code?: number };
        if (code === PERMISSION_DENIED || code === UNAUTHENTICATED)
          throw unavailable('event log', error, MAY_NOT);
        throw error;
      }
    }),
  );
}

const POINTS_STREAM = '$scavengePoints';
/** Number of the newest scavenge points that are read: each scavenge adds one at most. */
const POINTS = 1_000;

/**
 * The scavenges of a server, or of each node of a cluster. A scavenge executes the cluster's latest scavenge point, unless its node
 * has already done that: then it adds one, and fails if another node does so at the same time. Only what was removed before the
 * point goes. So what was removed before a mark is gone for certain where a scavenge succeeds that began after a point behind the
 * mark.
 */
export class NodeScavenger implements Scavenger {
  readonly #reader: LogReader;
  readonly #url: string;

  constructor(reader: LogReader, url: string) {
    this.#reader = reader;
    this.#url = url;
  }

  async nodes(): Promise<string[]> {
    const { client } = this.#reader;
    const nodes = await attempt(client, (waiting) => client.call(waiting, (driver) => driver.nodes()));
    return nodes.length > 1 ? nodes : hostsOf(this.#url).slice(0, 1);
  }

  mark(): Promise<Position> {
    return this.#reader.lastPosition();
  }

  async start(node: string): Promise<string> {
    const { client } = this.#reader;
    // A single server is reached over the existing connection.
    if ((await this.nodes()).length === 1) return startScavenge(client);
    const connected = client.at(nodeUrl(this.#url, node));
    try {
      return await startScavenge(connected);
    } finally {
      await connected.close();
    }
  }

  async outcome(scavenge: string, mark: Position): Promise<ScavengeOutcome> {
    const stream = `$scavenges-${scavenge}`;
    const [first] = await this.#read(stream, 'forwards', 1);
    const [last] = await this.#read(stream, 'backwards', 1);
    if (first === undefined || last?.type !== '$scavengeCompleted') return 'running';
    if (last.data.result !== 'Success') return 'failed';
    const points = await this.#read(POINTS_STREAM, 'backwards', POINTS);
    const isCovered = points.some(({ position }) => position > mark && position < first.position);
    return isCovered ? 'covered' : 'not_covered';
  }

  #read(stream: string, direction: 'forwards' | 'backwards', limit: number): Promise<RecordedEvent[]> {
    return this.#reader.readStream(stream, { direction, limit }, toRecordedEvent);
  }
}
