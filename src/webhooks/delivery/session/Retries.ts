import { asUnreadable, UnreadableError } from '../../../errors.ts';
import type { Position, RecordedEvent } from '../../../events/event.ts';
import { UnknownSchemaVersion } from '../../../events/upcast.ts';
import type { Change, ChangedFields, ToldChange } from '../../../feed/format/ChangedFields.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { EventLog } from '../../../ports/eventLog.ts';
import type { Webhook } from '../../settings/webhook.ts';
import { messageId } from '../webhookMessage.ts';
import type { DeliveryState, Waiting } from './DeliveryState.ts';
import type { Failure, Outcome, Telling } from './MessageDelivery.ts';
import type { Wants } from './WantedEvents.ts';

/** Events of a record that waits, read at once. */
const PAGE = 20;
/** How long a message waits that only a newer version of the service can make. */
const UPGRADE_MS = 60_000;
/** When a record is read again of which the log does not give what the follower passed. */
const LAG_MS = 1_000;

/** Of what waits although it is not due, begun at each look once the endpoint takes messages again. */
const WOKEN_AT_ONCE = 5;

interface RetryContext {
  eventLog: EventLog;
  changedFields: ChangedFields;
  state: DeliveryState;
  clock: Clock;
  /** Tries once. */
  deliver(telling: Telling): Promise<Outcome>;
  webhook(): Webhook;
  wants: Wants;
  /** The place up to which the log was followed. */
  followed(): Position;
}

/**
 * Delivers what waits for another try, one message at a time for each stream: when it is due; a little at a time when the
 * endpoint took another message since; and all at once on request. What is tried before it is due keeps its place in the
 * schedule, and is not tried so again before that.
 */
export class Retries {
  readonly #context: RetryContext;
  /** Streams of which a message is on its way. */
  readonly #busy = new Set<string>();
  /** What is to be tried, the latest in the log first. */
  #next: Waiting[] = [];
  /** On the clock that is never set: when the endpoint took a message last, and when all was asked for. */
  #takenAt = Number.NEGATIVE_INFINITY;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(context: RetryContext) {
    this.#context = context;
  }

  /** How many are on their way. */
  get busy(): number {
    return this.#busy.size;
  }

  /** The endpoint took a message. */
  taken(): void {
    this.#takenAt = this.#context.clock.elapsed();
  }

  /** All that waits now is to be tried now. */
  retryAll(): void {
    this.#askedAt = this.#context.clock.elapsed();
  }

  /** Looks for what is to be tried by now. */
  look(): void {
    const waiting = [...this.#context.state.waiting.values()];
    const isWanted = (one: Waiting) => this.#isDue(one) || one.tried < this.#askedAt;
    const woken = waiting.filter((one) => !isWanted(one) && this.#isWoken(one)).sort(latestFirst);
    const wanted = waiting.filter(isWanted);
    this.#next = [...wanted, ...woken.slice(-WOKEN_AT_ONCE)].sort(latestFirst);
  }

  /** Whether an event's record waits, and will be delivered from the log with this event. */
  takes({ stream, revision }: RecordedEvent): boolean {
    const waiting = this.#context.state.waiting.get(stream);
    // What comes before the event that it waits with was delivered before the work was cut off.
    if (waiting && revision >= waiting.next && revision > waiting.last) {
      waiting.last = revision;
      this.#context.state.wait(waiting);
    }
    return waiting !== undefined;
  }

  /** The work of the next one that is to be tried; undefined when there is none. It rejects with `unavailable`. */
  next(): (() => Promise<void>) | undefined {
    for (let one = this.#next.pop(); one; one = this.#next.pop()) {
      const { stream } = one;
      if (this.#busy.has(stream) || !this.#context.state.has(one)) continue;
      this.#busy.add(stream);
      const waiting = one;
      return () => this.#retry(waiting).finally(() => this.#busy.delete(stream));
    }
    return undefined;
  }

  /** Its time has come, or it was last tried with another version of the webhook. */
  #isDue({ due, triedVersion }: Waiting): boolean {
    return due <= this.#context.clock.elapsed() || triedVersion !== this.#context.webhook().version;
  }

  #isWoken({ woken, tried }: Waiting): boolean {
    return !woken && tried < this.#takenAt;
  }

  /** Goes on until a message is not taken, or the record has come to where the log was followed to. */
  async #retry(waiting: Waiting): Promise<void> {
    const { eventLog, changedFields, followed } = this.#context;
    for (let at = waiting; ; ) {
      const limit = at.once ? 1 : PAGE;
      const events = await eventLog.readStream(at.stream, { from: at.next, limit }).catch(asUnreadable);
      if (events instanceof UnreadableError) return this.#context.state.release(at);
      const changes = await changedFields.changes(events);
      for (const [index, event] of events.entries()) {
        // Its event was erased.
        if (at.once && event.revision !== at.next) return this.#context.state.release(at);
        // The follower is about to come to it.
        if (!at.once && event.position > followed()) return this.#context.state.release(at);
        const told = changes[index] as ToldChange;
        if (told instanceof UnknownSchemaVersion) return this.#readAgain(at, UPGRADE_MS);
        // Nobody can tell of it, nor of what follows in the record.
        if (told instanceof UnreadableError) return this.#context.state.release(at);
        const next = await this.#retryOne(at, event, told);
        if (next === undefined) return;
        at = next;
      }
      if (events.length === limit) continue;
      if (at.last < at.next) return this.#context.state.release(at);
      // What the follower passed since it was read is still to be read; a log that does not give it is not pressed.
      if (events.length === 0) return this.#readAgain(at, LAG_MS);
    }
  }

  /** What then waits; undefined when it is not to go on with that. */
  async #retryOne(waiting: Waiting, event: RecordedEvent, change: Change): Promise<Waiting | undefined> {
    const { state, clock, deliver, wants, webhook } = this.#context;
    const { tries, step, once } = waiting;
    if (once || wants(event, change)) {
      const heldMs = this.#isDue(waiting) ? undefined : waiting.due - clock.elapsed();
      const outcome = await deliver({ event, change, tries, step, heldMs });
      if (outcome.kind === 'ended') return undefined;
      if (outcome.kind === 'failed' && outcome.delayMs !== undefined) {
        state.wait({
          ...waiting,
          ...tryAgain(outcome, clock),
          tries: tries + 1,
          triedVersion: webhook().version,
        });
        return undefined;
      }
      if (outcome.kind === 'delivered' && once) state.recover(messageId(webhook().id, event.id));
    }
    if (once) {
      state.release(waiting);
      return undefined;
    }
    const { position, revision, recordedAt } = event;
    const since = Date.parse(recordedAt);
    const due = clock.elapsed();
    const sent = { position, before: position, since, tries: 0, step: 0, woken: false, due, delayMs: 0 };
    const next = { ...waiting, ...sent, next: revision + 1 };
    state.wait(next);
    return next;
  }

  /** The record waits for so long, whatever the endpoint takes meanwhile. */
  #readAgain(waiting: Waiting, delayMs: number): void {
    const { state, clock, webhook } = this.#context;
    const tried = clock.elapsed();
    const wait = { tried, due: tried + delayMs, delayMs, triedVersion: webhook().version };
    state.wait({ ...waiting, ...wait, woken: true });
  }
}

function latestFirst(a: Waiting, b: Waiting): number {
  return b.position - a.position;
}

/** When what was not taken is tried again, from now on. */
export function tryAgain(
  { delayMs = 0, step, woken }: Failure,
  clock: Clock,
): Pick<Waiting, 'tried' | 'due' | 'delayMs' | 'step' | 'woken'> {
  const tried = clock.elapsed();
  return { tried, due: tried + delayMs, delayMs, step, woken };
}
