import { setImmediate as nextTurn } from 'node:timers/promises';
import { earliestPossibleTime, eventIdTime, type NewEvent } from '../../../domain/events/event.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import {
  type Append,
  type Appended,
  type ExpectedRevision,
  eventRemoved,
  eventTooLarge,
  versionConflict,
} from '../../eventLog.ts';
import { type DriverClient, isAnswer } from './client.ts';
import { attempt, type Driver, isDriverError, type Waiting, WrongStreamEnd } from './drivers/driver.ts';
import type { Erasures } from './erase.ts';
import { type Positions, toPosition } from './positions.ts';
import type { LogReader } from './read.ts';

const encoder = new TextEncoder();

/**
 * Tries once to append an event; rejects with `WrongStreamEnd` when the stream ends elsewhere, and with a `ServiceError` when the
 * server refuses the event. Returns undefined when the stream held the event, which was removed since: the server recognizes the
 * repeat, but does not know the position any more.
 */
async function appendOnce(
  driver: Driver,
  stream: string,
  { id, type, data, metadata }: NewEvent,
  expected: ExpectedRevision,
): Promise<Appended | undefined> {
  const end = expected === 'any' ? 'any' : expected === 'none' ? 'no_stream' : BigInt(expected);
  // The driver would convert an object to text, that to base64, and that to bytes, twice.
  const event = { id, type, data, metadata: encoder.encode(JSON.stringify(metadata)) };
  try {
    const { nextExpectedRevision, position } = await driver.append(stream, event, end);
    return position && { revision: Number(nextExpectedRevision), position: toPosition(position) };
  } catch (error) {
    throw isDriverError(error, 'maximum-append-size-exceeded') ? eventTooLarge() : error;
  }
}

/** Maximum number of appends under way: beyond it, callers are told to come back later, so that memory stays bounded. */
const MAX_APPENDING = 20_000;
/** An append of what may be in its stream is looked for there, repeatedly, if not answered within this time. */
const UNANSWERED_MS = 500;
/**
 * An expectation that no stream meets: the server answers how far the stream goes. Only an append without an expectation makes it
 * compare the id with those that it remembers, among which may be removed ones that no tombstone lists.
 */
const NO_REVISION = 2 ** 52;

/**
 * Appends events, each exactly once. The server alone does not ensure that: it knows the ids of events appended without an
 * expectation only until it is restarted, and it drops a repeat that arrives before its original is replicated. So the end of the
 * stream is searched for an event's id before the event is sent again, if it may have been sent to a server that has forgotten
 * it, and while its append is not answered. The first try of a new event needs no search, nor does one with an expectation: where the
 * event is in the stream, the server refuses it, and the search follows. A leader that has just begun does not show all that it holds, but counts it: what follows
 * a search expects the end that the search saw, and is refused when the stream has more. A search that shows as much as a refusal
 * counted shows everything. A scavenge makes the server forget removed events, which only their tombstones list then.
 */
export class Appender {
  readonly #client: DriverClient;
  readonly #streamEnds: TailLookup;
  readonly #erasures: Erasures;
  readonly #positions: Positions;
  readonly #underWay = new Map<string, Promise<Appended>>();
  #lostUntil = 0;

  constructor(client: DriverClient, streamEnds: TailLookup, erasures: Erasures, positions: Positions) {
    this.#client = client;
    this.#streamEnds = streamEnds;
    this.#erasures = erasures;
    this.#positions = positions;
  }

  /** Appends a validated event; concurrent appends of the same event share the result. */
  append(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended> {
    const key = `${event.id} ${expected} ${stream}`;
    const same = this.#underWay.get(key);
    if (same) return same;
    if (this.#underWay.size >= MAX_APPENDING) return Promise.reject(unavailable('event log'));
    const appending = this.#appendNew(stream, event, expected).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, appending);
    return appending;
  }

  async #appendNew(stream: string, event: NewEvent, expected: ExpectedRevision): Promise<Appended> {
    if (this.#erasures.before(stream) > 0) {
      const removed = await this.#findRemoved(stream, event.id);
      if (removed && isPlaceOf(event, expected, removed)) return removed;
    }
    let mayBeThere = event.isRepeat === true;
    return attempt(this.#client, async (waiting) => {
      const appended = await this.#client.call(waiting, async (client, since) => {
        /** Revision of the stream's last event, as this server counted it when it refused the append. */
        let counted: number | undefined;
        while (!waiting.aborted) {
          let behind = expected;
          const isNew = !mayBeThere && !this.#mayBeForgotten(event.id, since);
          const isFirst = counted === undefined && !mayBeThere && (isNew || expected !== 'any');
          if (!isFirst) {
            const { found, last, isTruncated } = await this.#search(stream, event.id);
            if (found && isPlaceOf(event, expected, found)) return found;
            if (counted !== undefined && last < counted) return undefined;
            if (counted !== undefined && expected !== 'any') throw versionConflict(counted + 1);
            if (counted === undefined && expected === 'any')
              behind = isTruncated ? NO_REVISION : last === -1 ? 'none' : last;
          }
          try {
            mayBeThere = true;
            return await this.#send({ client, stream, event, expected, isFirst, waiting }, behind);
          } catch (error) {
            if (!(error instanceof WrongStreamEnd)) throw error;
            if (isNew && expected !== 'any') throw versionConflict(error.last + 1);
            counted = error.last;
          }
        }
        return undefined;
      });
      if (appended === undefined) throw new Error('the server does not show all of the stream yet');
      return appended;
    });
  }

  /** Searches a stream for an event, also among those that were removed from it. Rejects with `unavailable`. */
  async #search(stream: string, id: string): Promise<StreamEnd> {
    const seen = await this.#streamEnds.find(stream, id);
    if (seen.found || !seen.isTruncated) return seen;
    await this.#erasures.refresh();
    return { ...seen, found: await this.#findRemoved(stream, id) };
  }

  /** Sends an event once. Rejects as `appendOnce` does. */
  #send(
    { client, stream, event, expected, isFirst, waiting }: Sending,
    behind: ExpectedRevision,
  ): Promise<Appended> {
    const answer = appendOnce(client, stream, event, behind).then((appended) =>
      this.#placed(stream, event.id, appended),
    );
    answer.catch((error) => isAnswer(error) || this.#lost());
    if (isFirst) return answer;
    const look = async () => {
      const { found } = await this.#streamEnds.find(stream, event.id);
      return found && isPlaceOf(event, expected, found) ? found : undefined;
    };
    return answeredOrFound(answer, look, waiting);
  }

  /**
   * Returns the place of an event that the server has at a place of its own; `undefined` if it does not know the place any more.
   * Rejects as `appendOnce` does.
   */
  async #placed(stream: string, id: string, appended: Appended | undefined): Promise<Appended> {
    const position = appended && this.#positions.ofPlace(appended.position);
    if (appended && position) return { ...appended, position };
    // The event is a repeat of a copied or of a removed one.
    const { found } = await this.#streamEnds.find(stream, id);
    return found ?? this.#requireRemoved(stream, id);
  }

  /** Returns the place of an event that is known to have been removed from a stream. Rejects with `unavailable`. */
  async #findRemoved(stream: string, id: string): Promise<Appended | undefined> {
    const before = this.#erasures.before(stream);
    const events = before > 0 ? await this.#erasures.eventsOf({ stream, before }) : [];
    const removed = events.find((event) => event.id === id);
    return removed && { revision: removed.revision, position: removed.position };
  }

  /** The same for an event that another process may have removed just now. Rejects with `gone` when no tombstone lists it. */
  async #requireRemoved(stream: string, id: string): Promise<Appended> {
    await this.#erasures.refresh();
    const removed = await this.#findRemoved(stream, id);
    if (removed === undefined) throw eventRemoved();
    return removed;
  }

  /** An append was not answered: whatever was sent until now may have been written by a server that is no longer there. */
  #lost(): void {
    this.#lostUntil = Date.now();
  }

  /** Whether an event is older than the connection, so that it may have been sent over an earlier one. */
  #mayBeForgotten(id: string, connectedSince: number): boolean {
    const now = Date.now();
    this.#lostUntil = Math.min(this.#lostUntil, now); // the clock may have been set back
    const made = eventIdTime(id);
    return made <= Math.max(this.#lostUntil, connectedSince) || made > now;
  }
}

/** An append that is under way, as it was asked for. */
interface Sending {
  client: Driver;
  stream: string;
  event: NewEvent;
  expected: ExpectedRevision;
  /** Whether it is the first try of a new event, or of an append with an expectation. */
  isFirst: boolean;
  waiting: Readonly<Waiting>;
}

/** Whether an append with this expectation may have written an event at this place. */
function isPlaceOf({ isRepeat }: NewEvent, expected: ExpectedRevision, { revision }: Appended): boolean {
  return isRepeat || expected === 'any' || revision === (expected === 'none' ? 0 : expected + 1);
}

/** The answer, or the result of a search for the event while there is none and someone is waiting. */
function answeredOrFound(
  answer: Promise<Appended>,
  look: () => Promise<Appended | undefined>,
  waiting: Readonly<Waiting>,
): Promise<Appended> {
  const { promise, resolve, reject } = Promise.withResolvers<Appended>();
  let answered = false;
  const lookAgain = async () => {
    const found = await look().catch(() => undefined);
    if (found) resolve(found);
    else if (!answered && !waiting.aborted) timer = setTimeout(lookAgain, UNANSWERED_MS);
  };
  let timer = setTimeout(lookAgain, UNANSWERED_MS);
  answer.then(resolve, reject).finally(() => {
    answered = true;
    clearTimeout(timer);
  });
  return promise;
}

/** Minimum and maximum number of events of a stream to search. */
const LEAST_EVENTS = 32;
const MOST_EVENTS = 1_000;

/** What a search of a stream's end saw. */
interface StreamEnd {
  /** The place of the event that was searched for. */
  found: Appended | undefined;
  /**
   * Revision of the last event up to which the server shows the stream without a gap; -1 for none. The stream may have more, which
   * a leader that has just begun does not show yet.
   */
  last: number;
  /** Whether the search came to a place before which events were removed. */
  isTruncated: boolean;
}

/** The same for several events. */
type TailEvents = Omit<StreamEnd, 'found'> & { found: Map<string, Appended> };

interface PendingLookup {
  ids: Set<string>;
  seen: Promise<TailEvents>;
}

/**
 * Searches for events at the ends of streams. A stream is read once at a time: those who search it meanwhile share the next read.
 * Otherwise many appends to one stream that are answered late would keep the server busy with reads of it, and be answered later still.
 */
export class TailLookup {
  readonly #reader: Pick<LogReader, 'searchBackwards'>;
  /** By stream: what is being read, and what is to be read after it. */
  readonly #reading = new Map<string, Promise<void>>();
  readonly #next = new Map<string, PendingLookup>();

  constructor(reader: Pick<LogReader, 'searchBackwards'>) {
    this.#reader = reader;
  }

  /**
   * Searches for an event among the newest of a stream: at most 1,000, and only those that may be newer than the id. Rejects with
   * `unavailable`.
   */
  async find(stream: string, id: string): Promise<StreamEnd> {
    let look = this.#next.get(stream);
    if (look === undefined) {
      const ids = new Set<string>();
      look = { ids, seen: this.#findInTail(stream, ids) };
      this.#next.set(stream, look);
    }
    look.ids.add(id);
    const { found, ...end } = await look.seen;
    return { ...end, found: found.get(id) };
  }

  async #findInTail(stream: string, ids: Set<string>): Promise<TailEvents> {
    await (this.#reading.get(stream) ?? nextTurn());
    this.#next.delete(stream);
    const seen = this.#read(stream, ids);
    const over = seen.then(
      () => undefined,
      () => undefined,
    );
    this.#reading.set(stream, over);
    try {
      return await seen;
    } finally {
      if (this.#reading.get(stream) === over) this.#reading.delete(stream);
    }
  }

  async #read(stream: string, ids: ReadonlySet<string>): Promise<TailEvents> {
    const found = new Map<string, Appended>();
    const oldestWanted = Math.min(...Array.from(ids, earliestPossibleTime));
    let last = -1;
    let oldest = 0;
    let isTruncated = false;
    await this.#reader.searchBackwards(
      stream,
      MOST_EVENTS,
      ({ id, revision, position, recordedAt }, seen) => {
        if (seen === 1 || revision !== oldest - 1) last = revision;
        oldest = revision;
        if (ids.has(id)) found.set(id, { revision, position });
        const goesOn =
          found.size < ids.size && (seen < LEAST_EVENTS || Date.parse(recordedAt) >= oldestWanted);
        isTruncated = goesOn && seen < MOST_EVENTS && revision > 0;
        return goesOn;
      },
    );
    return { found, last, isTruncated };
  }
}

/** Number of concurrent appends: enough to keep a server busy, while leaving room for those of others. */
const AT_ONCE = 64;

/**
 * As `EventLog.appendEach`; `append` appends one, as `EventLog.append` does. The server processes the events of a stream one at a
 * time, so those of one stream wait for each other. Once the server is found to be unreachable, the rest are not tried.
 */
export async function appendAll(
  appends: readonly Append[],
  append: (one: Append) => Promise<Appended>,
): Promise<(Appended | ServiceError)[]> {
  const results: (Appended | ServiceError)[] = [];
  const latest = new Map<string, Promise<unknown>>();
  let away: ServiceError | undefined;
  let next = 0;
  const appendOne = async (one: Append) => {
    if (away) return away;
    try {
      return await append(one);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === 'unavailable') away = error;
      return error;
    }
  };
  const work = async () => {
    while (next < appends.length) {
      const at = next++;
      const one = appends[at] as Append;
      const before = latest.get(one.stream);
      const appending = before ? before.then(() => appendOne(one)) : appendOne(one);
      latest.set(one.stream, appending);
      results[at] = await appending;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, appends.length) }, work));
  return results;
}
