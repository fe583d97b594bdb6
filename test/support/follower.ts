import type { RecordedEvent } from '../../src/domain/events/event.ts';
import type { EventBatch, EventLog, FollowOptions } from '../../src/storage/eventLog.ts';

/** A follower that collects what it is given, in the background, until it is stopped. */
export class Follower {
  readonly batches: EventBatch[] = [];
  readonly #abort = new AbortController();
  /** Resolves when the iteration has ended; rejects when it failed. */
  readonly ended: Promise<void>;

  /** `pace` is awaited after each batch. */
  constructor(
    log: EventLog,
    options: Omit<FollowOptions, 'signal'>,
    pace: () => Promise<unknown> = async () => undefined,
  ) {
    this.ended = this.#collect(log.follow({ ...options, signal: this.#abort.signal }), pace);
    this.ended.catch(() => undefined);
  }

  get events(): RecordedEvent[] {
    return this.batches.flatMap(({ events }) => events);
  }

  get position(): number {
    return this.batches.at(-1)?.position ?? 0;
  }

  get caughtUp(): boolean {
    return this.batches.at(-1)?.caughtUp ?? false;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.ended;
  }

  async #collect(batches: AsyncIterable<EventBatch>, pace: () => Promise<unknown>): Promise<void> {
    for await (const batch of batches) {
      this.batches.push(batch);
      await pace();
    }
  }
}

/** Follows until everything acknowledged before the call has been delivered. */
export async function followToEnd(
  log: EventLog,
  options: Omit<FollowOptions, 'signal'>,
): Promise<EventBatch[]> {
  const batches: EventBatch[] = [];
  for await (const batch of log.follow({ ...options, signal: new AbortController().signal })) {
    batches.push(batch);
    if (batch.caughtUp) break;
  }
  return batches;
}
