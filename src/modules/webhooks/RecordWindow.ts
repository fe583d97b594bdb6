import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import type { ToldOfChange } from './webhookMessage.ts';

/** A message that was read from the log and is still to be delivered. */
export interface Pending {
  event: RecordedEvent;
  /** What the event did. */
  change: ToldOfChange;
  /** The place in the log before the event: following from here yields it. */
  before: Position;
}

/**
 * The messages in memory that are not delivered yet, in the order of the log: those of one record are handed out one
 * after the other, those of different records in parallel.
 */
export class RecordWindow {
  /** By stream; the first of each is on its way, or the next to be handed out. */
  readonly #records = new Map<string, Pending[]>();
  /** Streams whose first message is to be handed out. */
  readonly #ready = new Set<string>();
  /** All messages by their place, in the order of the log. */
  readonly #unfinished = new Map<Position, Pending>();

  /** How many messages are in memory. */
  get size(): number {
    return this.#unfinished.size;
  }

  /** The place before the oldest message; undefined when there is none. */
  get floor(): Position | undefined {
    const [oldest] = this.#unfinished.values();
    return oldest?.before;
  }

  /** When the event of the oldest message was recorded, milliseconds since 1970; undefined when there is none. */
  get oldestAt(): number | undefined {
    const [oldest] = this.#unfinished.values();
    return oldest && Date.parse(oldest.event.recordedAt);
  }

  add(pending: Pending): void {
    const { stream, position } = pending.event;
    this.#unfinished.set(position, pending);
    const record = this.#records.get(stream);
    if (record) {
      record.push(pending);
    } else {
      this.#records.set(stream, [pending]);
      this.#ready.add(stream);
    }
  }

  /**
   * Returns the next message to send; none when the others wait for one of their record. `finish` or `block`
   * completes it.
   */
  next(): Pending | undefined {
    const [stream] = this.#ready;
    if (stream === undefined) return undefined;
    this.#ready.delete(stream);
    return this.#records.get(stream)?.[0];
  }

  /** Completes a message; the next one of its record may be sent. */
  finish({ event: { stream, position } }: Pending): void {
    this.#unfinished.delete(position);
    const record = this.#records.get(stream);
    record?.shift();
    if (record?.length) this.#ready.add(stream);
    else this.#records.delete(stream);
  }

  /** Forgets the message and all that follow it in its record; returns the revision of the last one. */
  block({ event: { stream, revision } }: Pending): number {
    const record = this.#records.get(stream) ?? [];
    for (const { event } of record) this.#unfinished.delete(event.position);
    this.#records.delete(stream);
    return record.at(-1)?.event.revision ?? revision;
  }
}
