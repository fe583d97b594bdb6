import { type PositionRange, type Shown, withRange } from '../events/shown.ts';

/** How long what was sent may be missing in the audit trail, in milliseconds. */
const EVERY_MS = 60_000;
/** How many events may be. */
const MAX_EVENTS = 10_000;
const MAX_RANGES = 20;

/** How often it is recorded; tests have it sooner. */
export interface SentEventsLimits {
  everyMs?: number;
  maxEvents?: number;
}

/**
 * Keeps account of the events that go to one reader, for the audit trail. What goes after a silence is recorded before
 * it goes; what follows within a minute is recorded together, at the end of that minute or with the 10,000th event. While
 * the trail cannot be written, no more goes than that.
 */
export class SentEvents {
  readonly #record: (sent: Pick<Shown, 'ranges' | 'count'>) => Promise<void>;
  readonly #everyMs: number;
  readonly #maxEvents: number;
  #ranges: PositionRange[] = [];
  #count = 0;
  #recordedAt = Number.NEGATIVE_INFINITY;
  #recording: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    record: (sent: Pick<Shown, 'ranges' | 'count'>) => Promise<void>,
    { everyMs = EVERY_MS, maxEvents = MAX_EVENTS }: SentEventsLimits = {},
  ) {
    this.#record = record;
    this.#everyMs = everyMs;
    this.#maxEvents = maxEvents;
  }

  /** Notes events that are about to be sent; they may be once `recordDue` has resolved. */
  add(range: PositionRange, count = 1): void {
    this.#ranges = withRange(this.#ranges, range, MAX_RANGES);
    this.#count += count;
  }

  /** Records what was noted if it is time, or sees to it that it will be. Rejects with `unavailable`. */
  async recordDue(): Promise<void> {
    const waits = this.#recordedAt + this.#everyMs - performance.now();
    if (waits <= 0 || this.#count >= this.#maxEvents) return this.flush();
    this.#recordIn(waits);
  }

  /** Records what is not recorded yet. Rejects with `unavailable`; what was to be recorded then waits for the next time. */
  async flush(): Promise<void> {
    while (this.#recording) await this.#recording.catch(() => undefined);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#count === 0) return;
    const [ranges, count, recordedAt] = [this.#ranges, this.#count, this.#recordedAt];
    this.#ranges = [];
    this.#count = 0;
    this.#recordedAt = performance.now();
    this.#recording = this.#record({ ranges, count })
      .catch((error) => {
        for (const range of ranges) this.#ranges = withRange(this.#ranges, range, MAX_RANGES);
        this.#count += count;
        this.#recordedAt = recordedAt;
        throw error;
      })
      .finally(() => {
        this.#recording = undefined;
      });
    return this.#recording;
  }

  #recordIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // What is sent next tries again, too, and waits for that.
      this.flush().catch(() => this.#recordIn(this.#everyMs));
    }, ms).unref();
  }
}
