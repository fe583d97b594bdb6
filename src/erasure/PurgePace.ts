/** A purge is followed by so many times the time that it took, without one. */
const REST = 9;

/**
 * How often what was erased is taken out of the files of the stores. That rewrites the file of the read models, and the longer that
 * takes, the longer nothing is projected: erasures gather, so that it takes a tenth of the time at most.
 */
export class PurgePace {
  readonly #now: () => number;
  #nextAt = 0;

  /** `now` gives milliseconds that never go back. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  get isDue(): boolean {
    return this.#now() >= this.#nextAt;
  }

  /** Waits for a purge, and sets by what it took when the next one is due. Rejects as that does; it is due again then. */
  async during(purge: Promise<void>): Promise<void> {
    const begun = this.#now();
    await purge;
    const ended = this.#now();
    this.#nextAt = ended + REST * (ended - begun);
  }
}
