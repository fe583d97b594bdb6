import { ServiceError, unavailable } from '../../errors.ts';
import type { NewEvent } from '../../events/event.ts';
import { eventIdTime } from '../../events/eventIdTime.ts';
import type { Appended, ExpectedRevision } from '../../ports/eventLog.ts';
import { eventRemoved } from '../../ports/eventLogRefusals.ts';
import { appendOnce } from './appendOnce.ts';
import { attempt, type Waiting } from './attempt.ts';
import type { DriverClient } from './DriverClient.ts';
import type { Erasures } from './Erasures.ts';
import type { StreamEnds } from './StreamEnds.ts';

/** Maximum number of appends under way: beyond it, callers are told to come back later, so that memory stays bounded. */
const MAX_APPENDING = 20_000;
/** An append not answered within this time is looked for in its stream, repeatedly. */
const UNANSWERED_MS = 500;

/**
 * Appends events, each exactly once. The server alone does not ensure that: it knows the ids of events appended without an
 * expectation only until it is restarted, and it drops a repeat that arrives before its original is replicated. So the end of the
 * stream is searched for an event's id before the event is sent again, if it may have been sent to a server that has forgotten
 * it, and while its append is not answered. A scavenge makes the server forget removed events, which only their tombstones list then.
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
    const look = async () => {
      const found = await this.#streamEnds.find(stream, event.id);
      return found && isPlaceOf(expected, found) ? found : undefined;
    };
    if (this.#erasures.before(stream) > 0) {
      const removed = await this.#findRemoved(stream, event.id);
      if (removed && isPlaceOf(expected, removed)) return removed;
    }
    let sent = false;
    return attempt((waiting) =>
      this.#client.call(waiting, async (client, since) => {
        const found = sent || this.#mayBeForgotten(event.id, since) ? await look() : undefined;
        if (found) return found;
        sent = true;
        const answer = appendOnce(client, stream, event, expected).then(
          (appended) => appended ?? this.#requireRemoved(stream, event.id),
        );
        answer.catch((error) => error instanceof ServiceError || this.#lost());
        return answeredOrFound(answer, look, waiting);
      }),
    );
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

/** Whether an append with this expectation may have written an event at this place. */
function isPlaceOf(expected: ExpectedRevision, { revision }: Appended): boolean {
  return expected === 'any' || revision === (expected === 'none' ? 0 : expected + 1);
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
