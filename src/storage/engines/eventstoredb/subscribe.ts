import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Filter } from '@eventstore/db-client';
import type { Position, RecordedEvent, UnreadableEvent } from '../../../domain/events/event.ts';
import { isBookkeeping } from '../../../domain/events/streams.ts';
import { type EventBatch, type EventFilter, type FollowOptions, positionUnknown } from '../../eventLog.ts';
import { type Driver, lastingRefusal, TIMEOUT_MS } from './drivers/driver.ts';
import { ErasedPositions, type Erasures } from './erase.ts';
import {
  eventTypes,
  fromPlace,
  type LogEntry,
  type LogReader,
  streamNames,
  toLogEntry,
  userStreams,
} from './read.ts';

const BATCH_EVENTS = 500;
const MAX_EVENTS = 2_000;
/** How long live events are gathered: taking many at once costs a follower little more than taking one. */
const GATHER_MS = 20;

/**
 * Connects a source that pushes with a follower that pulls. It holds only what the follower wants. It ends when the follower lags
 * too far behind: what it holds is still delivered, and the rest has to be requested again.
 */
class AsyncQueue implements AsyncIterable<EventBatch> {
  readonly #wants: (event: RecordedEvent | UnreadableEvent) => boolean;
  readonly #events: (RecordedEvent | UnreadableEvent)[] = [];
  #position: Position;
  #liveFrom = Number.POSITIVE_INFINITY;
  #changed = false;
  #ended = false;
  #error: unknown;
  #wake: () => void = () => undefined;
  #atEnd: () => void = () => undefined;

  constructor(after: Position, wants: (event: RecordedEvent | UnreadableEvent) => boolean) {
    this.#position = after;
    this.#wants = wants;
  }

  /** Everything wanted up to here was pushed. */
  get position(): Position {
    return this.#position;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether its source reports everything that is appended. */
  get isLive(): boolean {
    return this.#liveFrom < Number.POSITIVE_INFINITY;
  }

  /** The source's failure, if one ended it. */
  get error(): unknown {
    return this.#error;
  }

  /** Adds the next entry; one that is not beyond the position is already known. */
  push({ position, event }: LogEntry): void {
    if (this.#ended || position <= this.#position) return;
    this.#position = position;
    if (event && this.#wants(event)) this.#events.push(event);
    this.#signal();
    if (this.#events.length >= MAX_EVENTS) this.end();
  }

  /** Sets what its source does when it ends. */
  atEnd(stop: () => void): void {
    if (this.#ended) stop();
    else this.#atEnd = stop;
  }

  /** From now on the source reports everything that is appended: a follower that reaches `head` has caught up. */
  live(head: Position): void {
    this.#liveFrom = head;
    this.#signal();
  }

  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wake();
    this.#atEnd();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EventBatch> {
    for (;;) {
      while (!this.#changed && !this.#ended) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        // What arrived together is delivered together.
        await (this.#position >= this.#liveFrom ? sleep(GATHER_MS) : nextTurn());
      }
      if (!this.#changed) return;
      const held = this.#events.splice(0, BATCH_EVENTS);
      this.#changed = this.#events.length > 0;
      const position = this.#changed ? (held.at(-1) as RecordedEvent).position : this.#position;
      const events = held.filter((event) => 'data' in event);
      const unreadable = held.filter((event): event is UnreadableEvent => !('data' in event));
      const some = { events, ...(unreadable.length > 0 && { unreadable }) };
      yield { ...some, position, caughtUp: !this.#changed && !this.#ended && position >= this.#liveFrom };
    }
  }

  #signal(): void {
    this.#changed = true;
    this.#wake();
  }
}

/** Receives what a subscription reports, sequentially and in log order. */
interface Subscriber {
  confirmed?(): void;
  /** An event that passed the filter, or a place up to which none is left. */
  entry(entry: LogEntry): void;
  /** Everything that the log held when the subscription began has been reported. */
  caughtUp?(): void;
  /** Called last, unless the subscriber ended the subscription. */
  ended(error: unknown): void;
}

/** Subscribes to the log after a position; calling the result ends the subscription. The driver never reconnects one. */
export function subscribe(
  reader: Pick<LogReader, 'client' | 'positions'>,
  after: Position,
  filter: Filter,
  subscriber: Subscriber,
): () => void {
  const { client } = reader;
  const closing = new AbortController();
  const { signal } = closing;
  const confirmed = Promise.withResolvers<void>();
  // Nobody awaits it if there was no connection to subscribe on.
  confirmed.promise.catch(() => undefined);
  const ended = (error: unknown) => {
    if (signal.aborted) return;
    closing.abort();
    confirmed.reject(error);
    subscriber.ended(error);
  };
  const unconfirmed = setTimeout(() => ended(new Error('no answer')), TIMEOUT_MS);
  signal.addEventListener('abort', () => clearTimeout(unconfirmed));
  const replaced = () => ended(new Error('its client was replaced'));
  const told = {
    ...subscriber,
    confirmed() {
      clearTimeout(unconfirmed);
      confirmed.resolve();
      subscriber.confirmed?.();
    },
    ended,
  };
  client
    .call(signal, (driver) => {
      client.replaced.addEventListener('abort', replaced, { signal });
      listen(driver, { reader, after, filter }, told, signal);
      return confirmed.promise;
    })
    .catch(ended);
  return () => closing.abort();
}

interface Subscribed {
  reader: Pick<LogReader, 'positions'>;
  after: Position;
  filter: Filter;
}

/** Reports what was copied to the server from a place before `after` on. */
function listen(
  driver: Driver,
  { reader: { positions }, after, filter }: Subscribed,
  subscriber: Subscriber,
  signal: AbortSignal,
): void {
  let delivered = 0;
  const notices: { after: number; tell(): void }[] = [];
  const tellNotices = () => {
    while (!signal.aborted && notices[0] && notices[0].after <= delivered) notices.shift()?.tell();
  };
  // The driver calls these while earlier events are still in its buffer: they wait for those.
  const notice = (tell: () => void) => {
    notices.push({ after: delivered + subscription.readableLength, tell });
    tellNotices();
  };
  const checkpointReached = (_: unknown, position: { commit: bigint }) =>
    notice(() =>
      subscriber.entry({ position: positions.ofPlace(Number(position.commit)), event: undefined }),
    );
  const place = fromPlace(positions.placeOf(after) ?? after);
  const subscription = driver.subscribeToAll(place, { ...filter, checkpointReached });
  signal.addEventListener('abort', () => subscription.unsubscribe().catch(() => undefined));
  subscription.on('confirmation', () => signal.aborted || subscriber.confirmed?.());
  subscription.on('data', (resolved) => {
    if (signal.aborted) return;
    subscriber.entry(toLogEntry(resolved, positions));
    delivered += 1;
    tellNotices();
  });
  subscription.on('caughtUp', () => notice(() => subscriber.caughtUp?.()));
  subscription.on('error', subscriber.ended);
  subscription.on('end', () => subscriber.ended(new Error('the server ended the subscription')));
}

/** Number of entries kept, so that a follower that has almost caught up finds no gap. */
const BUFFER_SIZE = 1_000;

/**
 * The growing end of the log, for all followers of a process: a single subscription without a filter, because only then does
 * every follower learn at once how far the log is, even when nothing that it wants was appended. It runs while there are
 * followers. When it fails, so do the inboxes that joined, and the next follower restarts it.
 */
export class LiveTail {
  readonly #reader: LogReader;
  readonly #erasures: Erasures;
  readonly #inboxes = new Set<AsyncQueue>();
  #followers = 0;
  #recent: LogEntry[] = [];
  /** Everything after it is in `#recent` or yet to come; undefined while not subscribed. */
  #from: Position | undefined;
  #starting: Promise<void> | undefined;
  /** Since when every append has been reported, on the monotonic clock; infinite while not subscribed. */
  liveSince = Number.POSITIVE_INFINITY;
  #giveUp: (error: unknown) => void = () => undefined;

  /** `erasures` is notified of every removal seen here. */
  constructor(reader: LogReader, erasures: Erasures) {
    this.#reader = reader;
    this.#erasures = erasures;
  }

  enter(): void {
    this.#followers += 1;
  }

  leave(): void {
    this.#followers -= 1;
    if (this.#followers === 0) this.#stop(new Error('no followers'));
  }

  /** Resolves when it is subscribed; rejects when that fails. */
  started(): Promise<void> {
    if (this.#starting) return this.#starting;
    const starting = this.#start();
    this.#starting = starting;
    starting.catch(() => {
      if (this.#starting === starting) this.#starting = undefined;
    });
    return starting;
  }

  /** The end of the log, as known here; 0 while not subscribed. */
  get position(): Position {
    return this.#recent.at(-1)?.position ?? this.#from ?? 0;
  }

  /** Whether a follower that has everything up to this position misses nothing by joining. */
  covers(position: Position): boolean {
    return this.#from !== undefined && position >= this.#from;
  }

  /** Pushes the kept entries beyond the inbox's position, and from then on every entry. */
  join(inbox: AsyncQueue): void {
    this.#inboxes.add(inbox);
    inbox.atEnd(() => this.#inboxes.delete(inbox));
    for (const entry of this.#recent) inbox.push(entry);
  }

  async #start(): Promise<void> {
    const confirmed = Promise.withResolvers<void>();
    const givenUp = Promise.withResolvers<never>();
    this.#giveUp = givenUp.reject;
    const from = await Promise.race([this.#reader.lastPosition(), givenUp.promise]);
    this.#from = from;
    const unsubscribe = subscribe(this.#reader, from, streamNames(userStreams), {
      confirmed: confirmed.resolve,
      entry: (entry) => this.#add(entry),
      ended: (error) => this.#stop(error),
    });
    this.#giveUp = (error) => {
      unsubscribe();
      givenUp.reject(error);
    };
    await Promise.race([confirmed.promise, givenUp.promise]);
    this.liveSince = performance.now();
  }

  #add(entry: LogEntry): void {
    if (entry.erasure) this.#erasures.add(entry.erasure);
    this.#recent.push(entry);
    if (this.#recent.length >= 2 * BUFFER_SIZE) {
      const forgotten = this.#recent.splice(0, BUFFER_SIZE);
      this.#from = (forgotten.at(-1) as LogEntry).position;
    }
    for (const inbox of this.#inboxes) inbox.push(entry);
  }

  #stop(error: unknown): void {
    this.#giveUp(error);
    this.#starting = undefined;
    this.liveSince = Number.POSITIVE_INFINITY;
    this.#from = undefined;
    this.#recent = [];
    for (const inbox of this.#inboxes) inbox.end(error);
  }
}

const LONGEST_PAUSE_MS = 1_000;
/** Number of events that the server examines between two checkpoints; its default of 32 makes sparse filters slow. */
const SEARCH_WINDOW = 500;
const ANCHOR_PAGE = 500;

interface Source {
  reader: LogReader;
  erasures: Erasures;
  tail: LiveTail;
}

/**
 * Follows the log: a filtered subscription of its own catches up until the tail, shared by all followers, takes over. Whatever
 * ends either of them, the follower continues from its last position, unless it is a refusal that repeats do not change.
 */
export async function* follow(source: Source, options: FollowOptions): AsyncGenerator<EventBatch> {
  const { signal, filter } = options;
  const wants = matcher(filter);
  const told = createNotifier(source, options);
  let position = options.after;
  let announced = false;
  let failures = 0;
  source.tail.enter();
  try {
    while (!signal.aborted) {
      const inbox = new AsyncQueue(position, (event) => wants(event) && !source.erasures.has(event));
      const end = () => inbox.end();
      signal.addEventListener('abort', end, { once: true });
      fill(inbox, source, filter).catch((error) => inbox.end(error));
      let failure: unknown;
      try {
        for await (const batch of told(inbox, position)) {
          if (signal.aborted) return;
          failures = 0;
          if (batch.position === position && (announced || !batch.caughtUp)) continue;
          position = batch.position;
          announced = batch.caughtUp;
          yield batch;
        }
      } catch (error) {
        failure = error;
      } finally {
        signal.removeEventListener('abort', end);
        inbox.end();
      }
      failure ??= inbox.error;
      if (failure === undefined) continue;
      const refusal = lastingRefusal(failure);
      if (refusal) throw refusal;
      const pause = Math.min(10 * 2 ** failures, LONGEST_PAUSE_MS);
      failures += 1;
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    source.tail.leave();
  }
}

/**
 * Converts an inbox's batches to what a follower is told: without what has been erased since, and, if requested, with where that
 * was.
 */
function createNotifier({ erasures }: Source, { filter, erased }: FollowOptions) {
  const isStream = matcherOfStreams(filter);
  const places = erased ? new ErasedPositions(erasures, isStream) : undefined;
  return async function* (inbox: AsyncQueue, after: Position): AsyncGenerator<EventBatch> {
    let position = after;
    for await (const batch of inbox) {
      if (places) {
        // What a scavenge removed before the inbox was filled is not in the batch: it must be known to be reported.
        if (!inbox.isLive) await erasures.refresh();
        yield* places.parts(batch, position);
      } else {
        yield { ...batch, events: batch.events.filter((event) => !erasures.has(event)) };
      }
      position = batch.position;
    }
  };
}

async function fill(inbox: AsyncQueue, source: Source, filter: EventFilter | undefined): Promise<void> {
  const { reader, tail, erasures } = source;
  await tail.started();
  // The tail reports later ones.
  await erasures.refresh();
  if (inbox.position > 0) await anchor(inbox, source);
  const [head] = await Promise.all([reader.head(), erasures.refresh()]);
  if (inbox.ended) return;
  // Do not await anything between these: the tail could forget entries, or end.
  if (tail.covers(inbox.position)) {
    tail.join(inbox);
    inbox.live(head);
  } else {
    catchUp(inbox, source, filter);
  }
}

/**
 * Pushes the entries at and after the inbox's position, up to a place that stays. A server resumes after the first event at or
 * beyond the given place: if the event at that place is gone (scavenged), or about to go, that would skip the one after it.
 */
async function anchor(inbox: AsyncQueue, { reader, erasures }: Source): Promise<void> {
  for (let count = 1; !inbox.ended; count = ANCHOR_PAGE) {
    const page = await reader.entriesFrom(inbox.position, count);
    if (page.length === 0) throw positionUnknown();
    for (const entry of page) {
      inbox.push(entry);
      if (entry.lasts && !(entry.event && erasures.has(entry.event))) return;
    }
    if (count > 1 && page.length < count) return;
  }
}

/**
 * Pushes what is wanted until the tail covers the rest. The end of the log was known before the subscription began, and
 * `caughtUp` is reported only after everything that the log held by then: so nothing wanted is left up to that place.
 */
function catchUp(inbox: AsyncQueue, { reader, tail }: Source, filter: EventFilter | undefined): void {
  const known = tail.position;
  const unsubscribe = subscribe(reader, inbox.position, serverFilter(filter), {
    entry(entry) {
      inbox.push(entry);
      if (tail.covers(inbox.position)) inbox.end();
    },
    caughtUp() {
      inbox.push({ position: known, event: undefined });
      inbox.end();
    },
    ended: (error) => inbox.end(error),
  });
  inbox.atEnd(unsubscribe);
}

/** Returns a filter for the server, which knows only prefixes: a type is also the prefix of longer types. */
function serverFilter(filter: EventFilter | undefined): Filter {
  if (filter && 'eventTypes' in filter && filter.eventTypes.length > 0) {
    return eventTypes(filter.eventTypes, SEARCH_WINDOW);
  }
  if (filter && 'streamPrefixes' in filter && filter.streamPrefixes.length > 0) {
    return streamNames({ prefixes: filter.streamPrefixes }, SEARCH_WINDOW);
  }
  return streamNames(userStreams, SEARCH_WINDOW);
}

function matcher(filter: EventFilter | undefined): (event: Omit<UnreadableEvent, 'id'>) => boolean {
  if (filter && 'eventTypes' in filter) {
    const types = new Set(filter.eventTypes);
    return ({ type, stream }) => types.has(type) && !isBookkeeping(stream);
  }
  const isStream = matcherOfStreams(filter);
  return ({ stream }) => isStream(stream);
}

function matcherOfStreams(filter: EventFilter | undefined): (stream: string) => boolean {
  if (filter === undefined) return () => true;
  if ('eventTypes' in filter) return () => false;
  return (stream) => filter.streamPrefixes.some((prefix) => stream.startsWith(prefix));
}
