/** Number of consecutive commits of a single append, with nothing waiting behind it. */
const LONE_COMMITS = 3;
/** Maximum average duration of commits, in milliseconds. */
const FAST_MS = 1;
/** The weight of the latest commit in the average, and its maximum value there: a slow one is soon made up for. */
const SHARE = 0.2;
const MOST_MS = 10;

/** Tells when appends come one by one and commits are so fast that the caller's thread had better wait than be woken. */
export class LoneAppends {
  #commits = 0;
  #averageMs = FAST_MS;

  /** Records a commit: how long it took, and whether it was of one append with nothing else to do. */
  committed(ms: number, isLone: boolean): void {
    this.#commits = isLone ? this.#commits + 1 : 0;
    if (isLone) this.#averageMs += SHARE * (Math.min(ms, MOST_MS) - this.#averageMs);
  }

  /** Whether the next append will probably be alone, and committed soon. */
  get isLikely(): boolean {
    return this.#commits >= LONE_COMMITS && this.#averageMs < FAST_MS;
  }
}
