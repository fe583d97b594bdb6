import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { UnknownSchemaVersion } from '../../domain/events/upcast.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { Clock } from '../../storage/clock.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { Change, ChangedFields, ToldChange } from '../eventStream/ChangedFields.ts';
import type { DeliveryState, Waiting } from './DeliveryState.ts';
import type { Failure, Outcome, Telling } from './MessageDelivery.ts';
import type { Wants } from './WantedEvents.ts';
import type { Webhook } from './webhook.ts';
import { messageId } from './webhookMessage.ts';

/** Events of a waiting record that are read at once. */
const PAGE = 20;
/** How long a message waits that only a newer version of the service can build. */
const UPGRADE_MS = 60_000;
/** When to read a record again if the log does not yield what the follower has passed. */
const LAG_MS = 1_000;

/** Of what is waiting but not due, the number begun at each look once the endpoint accepts messages again. */
const WOKEN_AT_ONCE = 5;

interface RetryContext {
  eventLog: EventLog;
  changedFields: ChangedFields;
  state: DeliveryState;
  clock: Clock;
  /** Makes one attempt. */
  deliver(telling: Telling): Promise<Outcome>;
  webhook(): Webhook;
  wants: Wants;
  /** Returns the place up to which the log was followed. */
  followed(): Position;
}

/**
 * Delivers what is waiting for another attempt, one message at a time per stream: when it is due; a little at a time
 * when the endpoint has accepted another message since; and all at once on request. What is tried before it is due
 * keeps its place in the schedule, and is not tried early again before then.
 */
export class Retries {
  readonly #context: RetryContext;
  /** Streams with a message on its way. */
  readonly #busy = new Set<string>();
  /** What is to be tried, the latest in the log first. */
  #next: Waiting[] = [];
  /** On the monotonic clock: when the endpoint last accepted a message, and when everything was requested. */
  #takenAt = Number.NEGATIVE_INFINITY;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(context: RetryContext) {
    this.#context = context;
  }

  /** The number on their way. */
  get busy(): number {
    return this.#busy.size;
  }

  /** To be called when the endpoint accepted a message. */
  taken(): void {
    this.#takenAt = this.#context.clock.elapsed();
  }

  /** Has everything that is waiting now tried now. */
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

  /** Whether an event's record is waiting, and will be delivered from the log including this event. */
  takes({ stream, revision }: RecordedEvent): boolean {
    const waiting = this.#context.state.waiting.get(stream);
    // Events before the one it is waiting with were delivered before the work was interrupted.
    if (waiting && revision >= waiting.next && revision > waiting.last) {
      waiting.last = revision;
      this.#context.state.wait(waiting);
    }
    return waiting !== undefined;
  }

  /**
   * Returns the work for the next one to be tried; undefined when there is none. The work rejects with `unavailable`.
   */
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

  /** It is due, or was last tried with another version of the webhook. */
  #isDue({ due, triedVersion }: Waiting): boolean {
    return due <= this.#context.clock.elapsed() || triedVersion !== this.#context.webhook().version;
  }

  #isWoken({ woken, tried }: Waiting): boolean {
    return !woken && tried < this.#takenAt;
  }

  /**
   * Continues until a message is not accepted, or the record has reached the place up to which the log was followed.
   */
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
        // The follower is about to reach it.
        if (!at.once && event.position > followed()) return this.#context.state.release(at);
        const told = changes[index] as ToldChange;
        if (told instanceof UnknownSchemaVersion) return this.#readAgain(at, UPGRADE_MS);
        // Nobody can report it, nor what follows in the record.
        if (told instanceof UnreadableError) return this.#context.state.release(at);
        const next = await this.#retryOne(at, event, told);
        if (next === undefined) return;
        at = next;
      }
      if (events.length === limit) continue;
      if (at.last < at.next) return this.#context.state.release(at);
      // What the follower passed since the last read is still to be read; a log that does not yield it is not
      // pressed.
      if (events.length === 0) return this.#readAgain(at, LAG_MS);
    }
  }

  /** Resolves with what then is waiting; undefined when it is not to continue with that. */
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

  /** Makes the record wait for this long, whatever the endpoint accepts meanwhile. */
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

/** Returns when to try again what was not accepted, from now on. */
export function tryAgain(
  { delayMs = 0, step, woken }: Failure,
  clock: Clock,
): Pick<Waiting, 'tried' | 'due' | 'delayMs' | 'step' | 'woken'> {
  const tried = clock.elapsed();
  return { tried, due: tried + delayMs, delayMs, step, woken };
}
