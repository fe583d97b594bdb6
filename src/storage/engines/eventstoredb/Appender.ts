import type { NewEvent } from '../../../domain/events/event.ts';
import { eventIdTime } from '../../../domain/events/eventIdTime.ts';
import { unavailable } from '../../../platform/errors.ts';
import type { Appended, ExpectedRevision } from '../../eventLog.ts';
import { eventRemoved, versionConflict } from '../../eventLogRefusals.ts';
import { appendOnce } from './appendOnce.ts';
import { type DriverClient, isAnswer } from './DriverClient.ts';
import { attempt, type Waiting } from './drivers/attempt.ts';
import { type Driver, WrongStreamEnd } from './drivers/Driver.ts';
import type { Erasures } from './Erasures.ts';
import type { StreamEnd, StreamEnds } from './StreamEnds.ts';

/** Maximum number of appends under way: beyond it, callers are told to come back later, so that memory stays bounded. */
const MAX_APPENDING = 20_000;
/** An append not answered within this time is looked for in its stream, repeatedly. */
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
 * it, and while its append is not answered. A leader that has just begun does not show all that it holds, but counts it: what follows
 * a search expects the end that the search saw, and is refused when the stream has more. A search that shows as much as a refusal
 * counted shows everything. A scavenge makes the server forget removed events, which only their tombstones list then.
 */
export class Appender {
  readonly #client: DriverClient;
  readonly #streamEnds: StreamEnds;
  readonly #erasures: Erasures;
  readonly #underWay = new Map<string, Promise<Appended>>();
  #lostUntil = 0;

  constructor(client: DriverClient, streamEnds: StreamEnds, erasures: Erasures) {
    this.#client = client;
    this.#streamEnds = streamEnds;
    this.#erasures = erasures;
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
          if (mayBeThere || counted !== undefined || this.#mayBeForgotten(event.id, since)) {
            const { found, last, isTruncated } = await this.#search(stream, event.id);
            if (found && isPlaceOf(event, expected, found)) return found;
            if (counted !== undefined && last < counted) return undefined;
            if (counted !== undefined && expected !== 'any') throw versionConflict(counted + 1);
            if (counted === undefined && expected === 'any')
              behind = isTruncated ? NO_REVISION : last === -1 ? 'none' : last;
          }
          try {
            mayBeThere = true;
            return await this.#send({ client, stream, event, expected, waiting }, behind);
          } catch (error) {
            if (!(error instanceof WrongStreamEnd)) throw error;
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
  #send({ client, stream, event, expected, waiting }: Sending, behind: ExpectedRevision): Promise<Appended> {
    const answer = appendOnce(client, stream, event, behind).then(
      (appended) => appended ?? this.#requireRemoved(stream, event.id),
    );
    answer.catch((error) => isAnswer(error) || this.#lost());
    const look = async () => {
      const { found } = await this.#streamEnds.find(stream, event.id);
      return found && isPlaceOf(event, expected, found) ? found : undefined;
    };
    return answeredOrFound(answer, look, waiting);
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
