import { isDeepStrictEqual } from 'node:util';
import type { DisclosureTerms } from '../../domain/events/disclosureTerms.ts';
import { type PositionRange, type Shown, withRange } from '../../domain/events/shown.ts';

/** How long the audit trail may lack what was sent, in milliseconds. */
const EVERY_MS = 60_000;
/** How many events it may lack. */
const MAX_EVENTS = 10_000;
const MAX_RANGES = 20;

/** How often to record; shorter in tests. */
export interface SentEventsLimits {
  everyMs?: number;
  maxEvents?: number;
}

/** What was sent under the same terms. */
interface Account {
  ranges: PositionRange[];
  count: number;
  terms: DisclosureTerms | undefined;
}

/** Writes what was sent under some terms to the audit trail. Rejects with `unavailable`. */
type RecordSent = (
  sent: Pick<Shown, 'ranges' | 'count'>,
  terms: DisclosureTerms | undefined,
) => Promise<void>;

/**
 * Keeps account of the events sent to one reader, for the audit trail. What is sent after a pause is recorded first; what follows
 * within a minute is recorded together, at the end of that minute or with the 10,000th event. While the trail cannot be written,
 * nothing beyond that is sent. Events sent under different terms are recorded separately.
 */
export class SentEvents {
  readonly #record: RecordSent;
  readonly #everyMs: number;
  readonly #maxEvents: number;
  /** What is not recorded yet; new events are added to the last one. */
  #accounts: Account[] = [];
  #recordedAt = Number.NEGATIVE_INFINITY;
  #recording: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(record: RecordSent, { everyMs = EVERY_MS, maxEvents = MAX_EVENTS }: SentEventsLimits = {}) {
    this.#record = record;
    this.#everyMs = everyMs;
    this.#maxEvents = maxEvents;
  }

  /**
   * Notes events that are about to be sent, under terms that may differ from earlier ones; they may be sent once `recordDue` has
   * resolved.
   */
  add(range: PositionRange, count = 1, terms?: DisclosureTerms): void {
    this.#note({ ranges: [range], count, terms });
  }

  /** Records what was noted if it is due, or schedules that. Rejects with `unavailable`. */
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

  /** Removes each account from the list as it is recorded. */
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
      // Whatever is sent next also tries again, and waits for that.
      this.flush().catch(() => this.#recordIn(this.#everyMs));
    }, ms).unref();
  }
}
