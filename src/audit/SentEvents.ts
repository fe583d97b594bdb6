import { isDeepStrictEqual } from 'node:util';
import type { DisclosureTerms } from '../events/disclosureTerms.ts';
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

/** What went under the same terms. */
interface Account {
  ranges: PositionRange[];
  count: number;
  terms: DisclosureTerms | undefined;
}

/** Writes into the audit trail what was sent under some terms. Rejects with `unavailable`. */
type RecordSent = (
  sent: Pick<Shown, 'ranges' | 'count'>,
  terms: DisclosureTerms | undefined,
) => Promise<void>;

/**
 * Keeps account of the events that go to one reader, for the audit trail. What goes after a silence is recorded before
 * it goes; what follows within a minute is recorded together, at the end of that minute or with the 10,000th event. While
 * the trail cannot be written, no more goes than that. What goes under other terms than what went before is recorded apart.
 */
export class SentEvents {
  readonly #record: RecordSent;
  readonly #everyMs: number;
  readonly #maxEvents: number;
  /** What is not recorded yet; what is sent now belongs to the last one. */
  #accounts: Account[] = [];
  #recordedAt = Number.NEGATIVE_INFINITY;
  #recording: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(record: RecordSent, { everyMs = EVERY_MS, maxEvents = MAX_EVENTS }: SentEventsLimits = {}) {
    this.#record = record;
    this.#everyMs = everyMs;
    this.#maxEvents = maxEvents;
  }

  /** Notes events that are about to be sent, under terms that may differ from earlier ones; they may be once `recordDue` has resolved. */
  add(range: PositionRange, count = 1, terms?: DisclosureTerms): void {
    this.#note({ ranges: [range], count, terms });
  }

  /** Records what was noted if it is time, or sees to it that it will be. Rejects with `unavailable`. */
  async recordDue(): Promise<void> {
    const waits = this.#recordedAt + this.#everyMs - performance.now();
    const count = this.#accounts.reduce((sum, account) => sum + account.count, 0);
    if (waits <= 0 || count >= this.#maxEvents || this.#accounts.length > 1) return this.flush();
    this.#recordIn(waits);
  }

  /** Records what is not recorded yet. Rejects with `unavailable`; what was to be recorded then waits for the next time. */
  async flush(): Promise<void> {
    while (this.#recording) await this.#recording.catch(() => undefined);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#accounts.length === 0) return;
    const accounts = this.#accounts;
    const recordedAt = this.#recordedAt;
    this.#accounts = [];
    this.#recordedAt = performance.now();
    this.#recording = this.#recordAll(accounts)
      .catch((error) => {
        const since = this.#accounts;
        this.#accounts = accounts;
        for (const account of since) this.#note(account);
        this.#recordedAt = recordedAt;
        throw error;
      })
      .finally(() => {
        this.#recording = undefined;
      });
    return this.#recording;
  }

  /** What is recorded leaves the list. */
  async #recordAll(accounts: Account[]): Promise<void> {
    for (let [first] = accounts; first !== undefined; [first] = accounts) {
      const { ranges, count, terms } = first;
      await this.#record({ ranges, count }, terms);
      accounts.shift();
    }
  }

  #note({ ranges, count, terms }: Account): void {
    let last = this.#accounts.at(-1);
    if (last === undefined || !isDeepStrictEqual(last.terms, terms)) {
      last = { ranges: [], count: 0, terms };
      this.#accounts.push(last);
    }
    for (const range of ranges) last.ranges = withRange(last.ranges, range, MAX_RANGES);
    last.count += count;
  }

  #recordIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // What is sent next tries again, too, and waits for that.
      this.flush().catch(() => this.#recordIn(this.#everyMs));
    }, ms).unref();
  }
}
