/** The pause after a purge, as a multiple of the purge's duration. */
const REST = 9;

/**
 * Decides how often erased data is purged from the stores' files. A purge reads the whole file of the read models: erasures
 * accumulate, so that purging takes a tenth of the time at most.
 */
export class PurgePace {
  readonly #now: () => number;
  #nextAt = 0;

  /** `now` returns milliseconds that never decrease. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  get isDue(): boolean {
    return this.#now() >= this.#nextAt;
  }

  /** Awaits a purge, and schedules the next one by its duration. Rejects as the purge does; another one is then due at once. */
  async during(purge: Promise<void>): Promise<void> {
    const begun = this.#now();
    await purge;
    const ended = this.#now();
    this.#nextAt = ended + REST * (ended - begun);
  }
}
