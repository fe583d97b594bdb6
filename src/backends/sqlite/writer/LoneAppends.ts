/** So many commits one after the other were of one append, which nothing waited behind. */
const LONE_COMMITS = 3;
/** What commits take on average at the most, in milliseconds. */
const FAST_MS = 1;
/** The share of the latest commit in the average, and what it counts for at the most: a slow one is made up for. */
const SHARE = 0.2;
const MOST_MS = 10;

/** Tells when appends come one by one and commits are so fast that their caller's thread had better wait than be woken. */
export class LoneAppends {
  #commits = 0;
  #averageMs = FAST_MS;

  /** Takes note of a commit: how long it took, and whether it was of one append with nothing else to do. */
  committed(ms: number, isLone: boolean): void {
    this.#commits = isLone ? this.#commits + 1 : 0;
    if (isLone) this.#averageMs += SHARE * (Math.min(ms, MOST_MS) - this.#averageMs);
  }

  /** Whether the next append will probably be alone, and soon be committed. */
  get isLikely(): boolean {
    return this.#commits >= LONE_COMMITS && this.#averageMs < FAST_MS;
  }
}
