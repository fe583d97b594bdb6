import type { Clock } from '../storage/clock.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { ReadModels } from '../storage/readModels.ts';
import type { Finding } from './finding.ts';
import { type ReadModelLag, readModelLag } from './records/queries/readModelLag.ts';

/** How often it checks on its own. */
const LOOK_MS = 10_000;
/** How long a result is reused for callers. */
const FRESH_MS = 1_000;
/** How far read models may be behind: because the projector is busy, or another instance is taking over. */
const TOLERATED_SECONDS = 60;
const STANDSTILL_MS = 60_000;

/** Monitors how far the read models are behind the log, and whether they are making progress. */
export class ReadModelWatch {
  readonly #look: () => Promise<ReadModelLag[]>;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  /** Where each was seen, and since when, on the monotonic clock. */
  readonly #seen = new Map<string, { position: number; since: number }>();
  #last: { lags: Promise<ReadModelLag[]>; at: number } | undefined;

  constructor(eventLog: EventLog, readModels: ReadModels, clock: Clock) {
    this.#clock = clock;
    this.#look = () => readModelLag(eventLog, readModels, clock.now());
    this.#timer = setInterval(() => this.lags().catch(() => undefined), LOOK_MS);
  }

  /** Returns how far they are behind, as of at most a second ago. Rejects with `unavailable`. */
  lags(): Promise<ReadModelLag[]> {
    const now = this.#clock.elapsed();
    if (this.#last === undefined || now - this.#last.at > FRESH_MS) {
      const lags = this.#look().then((found) => this.#note(found));
      this.#last = { lags, at: now };
    }
    return this.#last.lags;
  }

  /** Whether some are behind and have not advanced for a while, although they could be checked. */
  get standStill(): boolean {
    const now = this.#clock.elapsed();
    return [...this.#seen.values()].some(({ since }) => now - since >= STANDSTILL_MS);
  }

  /** Returns the findings for those that are far behind. Rejects with `unavailable`. */
  async findings(): Promise<Finding[]> {
    const behind = (await this.lags()).filter(({ seconds = 0 }) => seconds > TOLERATED_SECONDS);
    if (behind.length === 0) return [];
    const names = behind.map(({ model, seconds = 0 }) => `${model} by ${Math.round(seconds)} s`).join(', ');
    const how = this.standStill
      ? 'Some make no progress: check that a process with the role projector is running, and check its log.'
      : 'They are making progress; after a rebuild, an upgrade or an import, this takes a while.';
    return [
      { code: 'read_models_behind', message: `Read models are behind the event log: ${names}. ${how}` },
    ];
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #note(lags: ReadModelLag[]): ReadModelLag[] {
    const now = this.#clock.elapsed();
    for (const { model, position, behind } of lags) {
      const seen = this.#seen.get(model);
      if (behind === 0) this.#seen.delete(model);
      else if (seen?.position !== position) this.#seen.set(model, { position, since: now });
    }
    return lags;
  }
}
