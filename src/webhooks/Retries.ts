import { asUnreadable, UnreadableError } from '../errors.ts';
import type { ChangedFields } from '../feed/ChangedFields.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, Position, RecordedEvent } from '../ports/eventLog.ts';
import { UnknownSchemaVersion } from '../records/upcast.ts';
import type { DeliveryState, Waiting } from './DeliveryState.ts';
import type { Outcome, Telling } from './MessageDelivery.ts';
import { messageId } from './message.ts';
import type { Webhook } from './webhook.ts';

/** Events of a record that waits, read at once. */
const PAGE = 20;
/** How long a message waits that only a newer version of the service can make. */
const UPGRADE_MS = 60_000;

interface RetryContext {
  eventLog: EventLog;
  changedFields: ChangedFields;
  state: DeliveryState;
  clock: Clock;
  /** Tries once. */
  deliver(telling: Telling): Promise<Outcome>;
  webhook(): Webhook;
  wants(event: RecordedEvent): boolean;
  /** The place up to which the log was followed. */
  followed(): Position;
}

/** Delivers what waits for another try when it is due, one message at a time for each stream. */
export class Retries {
  readonly #context: RetryContext;
  /** Streams of which a message is on its way. */
  readonly #busy = new Set<string>();
  /** Of each record that waits, the revision up to which the log was followed meanwhile. */
  readonly #passed = new Map<string, number>();
  /** What is due, the latest in the log first. */
  #due: Waiting[] = [];

  constructor(context: RetryContext) {
    this.#context = context;
  }

  /** How many are on their way. */
  get busy(): number {
    return this.#busy.size;
  }

  /** Looks for what is due by now, or was last tried with another version of the webhook. */
  look(now: number): void {
    const { version } = this.#context.webhook();
    this.#due = [...this.#context.state.waiting.values()]
      .filter(({ dueAt, triedVersion }) => dueAt <= now || triedVersion !== version)
      .sort((a, b) => b.position - a.position);
  }

  /** A record waits from now on; the log was followed up to `passed` in it. */
  wait(waiting: Waiting, passed: number): void {
    this.#passed.set(waiting.stream, passed);
    this.#context.state.wait(waiting);
  }

  /** Whether an event's record waits, and will be delivered from the log with this event. */
  takes({ stream, revision }: RecordedEvent): boolean {
    const waiting = this.#context.state.waiting.get(stream);
    // What comes before the event that it waits with was delivered before the work was cut off.
    if (waiting && revision >= waiting.next) this.#passed.set(stream, revision);
    return waiting !== undefined;
  }

  /** The work of the next one that is due; undefined when there is none. It rejects with `unavailable`. */
  next(): (() => Promise<void>) | undefined {
    for (let one = this.#due.pop(); one; one = this.#due.pop()) {
      const { stream } = one;
      if (this.#busy.has(stream) || !this.#context.state.has(one)) continue;
      this.#busy.add(stream);
      const waiting = one;
      return () => this.#retry(waiting).finally(() => this.#busy.delete(stream));
    }
    return undefined;
  }

  /** Goes on until a message is not taken, or the record has come to where the log was followed to. */
  async #retry(waiting: Waiting): Promise<void> {
    const { eventLog, changedFields, followed } = this.#context;
    for (let at = waiting; ; ) {
      const limit = at.once ? 1 : PAGE;
      const events = await eventLog.readStream(at.stream, { from: at.next, limit }).catch(asUnreadable);
      if (events instanceof UnreadableError) return this.#release(at);
      const changed = await changedFields.of(events);
      for (const [index, event] of events.entries()) {
        // The follower is about to come to it.
        if (!at.once && event.position > followed()) return this.#release(at);
        const told = changed[index] ?? [];
        if (told instanceof UnknownSchemaVersion) return this.#waitForUpgrade(at);
        // Nobody can tell of it, nor of what follows in the record.
        if (told instanceof UnreadableError) return this.#release(at);
        const next = await this.#retryOne(at, event, told);
        if (next === undefined) return;
        at = next;
      }
      // What the follower passed since it was read is still to be read.
      if (events.length < limit && (this.#passed.get(at.stream) ?? -1) < at.next) return this.#release(at);
    }
  }

  /** What then waits; undefined when it is not to go on with that. */
  async #retryOne(waiting: Waiting, event: RecordedEvent, changed: string[]): Promise<Waiting | undefined> {
    const { state, deliver, wants, webhook } = this.#context;
    const { tries, once } = waiting;
    if (once || wants(event)) {
      const outcome = await deliver({ event, changed, tries });
      if (outcome.kind === 'ended') return undefined;
      const triedVersion = webhook().version;
      if (outcome.kind === 'failed' && outcome.dueAt !== undefined) {
        state.wait({ ...waiting, tries: tries + 1, dueAt: outcome.dueAt, triedVersion });
        return undefined;
      }
      if (outcome.kind === 'delivered' && once) state.recover(messageId(webhook().id, event.id));
    }
    if (once) {
      this.#release(waiting);
      return undefined;
    }
    const { position } = event;
    const next = { ...waiting, next: event.revision + 1, position, tries: 0, dueAt: 0 };
    state.wait(next);
    return next;
  }

  /** Only an instance of a newer version can make the message. */
  #waitForUpgrade(waiting: Waiting): void {
    const { state, clock, webhook } = this.#context;
    state.wait({ ...waiting, dueAt: clock.now() + UPGRADE_MS, triedVersion: webhook().version });
  }

  #release(waiting: Waiting): void {
    this.#context.state.release(waiting);
    if (!waiting.once) this.#passed.delete(waiting.stream);
  }
}
