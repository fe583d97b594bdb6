import type { Position } from '../../domain/events/event.ts';
import { isBookkeeping } from '../../domain/events/streams.ts';
import type { EventBatch, EventLog, FollowOptions } from '../../storage/eventLog.ts';

/** Batches that wait for the reader; one that is further behind reads the log itself. */
const MOST_KEPT = 4;

/**
 * Hands the batches that the projector has folded to one reader behind it in the same thread, so that an event is read and parsed
 * once for both.
 */
export class ProjectedBatches {
  /** Each begins where the one before it ends. */
  #kept: { after: Position; batch: EventBatch }[] = [];
  /** Where the last one ends; undefined when the projector does not read all events, or none yet. */
  #end: Position | undefined;
  #next = Promise.withResolvers<void>();

  /** Adds a batch of all events after a position, which were folded. */
  add(after: Position, batch: EventBatch): void {
    if (after !== this.#end || this.#kept.length === MOST_KEPT) this.#kept = [];
    this.#kept.push({ after, batch });
    this.#end = batch.position;
    this.#wake();
  }

  /** Has the reader go on in the log until the next batch. */
  clear(): void {
    this.#kept = [];
    this.#end = undefined;
    this.#wake();
  }

  /**
   * Yields events of some types as `EventLog.follow` does, as soon as the projector has folded them, but without unreadable and erased
   * ones; those before the batches at hand are from the log.
   */
  async *follow(
    eventLog: EventLog,
    eventTypes: string[],
    { after, signal, gather }: Pick<FollowOptions, 'after' | 'signal' | 'gather'>,
  ): AsyncGenerator<EventBatch> {
    const wanted = new Set(eventTypes);
    signal.addEventListener('abort', () => this.#wake());
    let position = after;
    while (!signal.aborted) {
      const batch = this.#take(position);
      if (batch) {
        const from = position;
        const events = batch.events.filter(
          (event) => event.position > from && wanted.has(event.type) && !isBookkeeping(event.stream),
        );
        position = batch.position;
        yield { events, position, caughtUp: batch.caughtUp };
      } else if (this.#isWithin(position)) {
        await this.#next.promise;
      } else {
        const filter = { eventTypes };
        for await (const read of eventLog.follow({ after: position, filter, gather, signal })) {
          position = read.position;
          yield read;
          if (this.#isWithin(position)) break;
        }
      }
    }
  }

  /** Whether all events after a position are among the batches at hand, or have not been folded yet. */
  #isWithin(position: Position): boolean {
    return this.#end !== undefined && position >= (this.#kept[0]?.after ?? this.#end);
  }

  /** Removes the batch with the events after a position, and those before it; undefined where they are not at hand. */
  #take(position: Position): EventBatch | undefined {
    if (!this.#isWithin(position)) return undefined;
    while (this.#kept[0] && this.#kept[0].batch.position <= position) this.#kept.shift();
    return this.#kept.shift()?.batch;
  }

  #wake(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }
}
