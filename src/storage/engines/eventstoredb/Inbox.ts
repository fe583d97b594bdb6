import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Position, RecordedEvent, UnreadableEvent } from '../../../domain/events/event.ts';
import type { EventBatch } from '../../eventLog.ts';
import type { LogEntry } from './recordedEvent.ts';

const BATCH_EVENTS = 500;
const MAX_EVENTS = 2_000;
/** How long live events are gathered: taking many at once costs a follower little more than taking one. */
const GATHER_MS = 20;

/**
 * Connects a source that pushes with a follower that pulls. It holds only what the follower wants. It ends when the follower lags
 * too far behind: what it holds is still delivered, and the rest has to be requested again.
 */
export class Inbox implements AsyncIterable<EventBatch> {
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
