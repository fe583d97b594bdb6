/**
 * Decides how often erased data is purged from the stores' files. A purge reads the whole file of the read models, in small steps
 * between which requests are served. After a purge, none begins for as long as it took: erasures accumulate, and a caller waits for two
 * purges at most.
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
    this.#nextAt = ended + (ended - begun);
  }
}
