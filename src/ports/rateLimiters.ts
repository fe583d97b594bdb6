/** How often something may be done: `points` times in `seconds`, from the first time on. */
export interface Limit {
  /** Keeps the counts of this limit apart from those of others. */
  name: string;
  points: number;
  seconds: number;
}

/** What a limiter counted. */
export interface Count {
  /** Whether the limit was passed. */
  refused: boolean;
  /** How often it was refused in this window, this time included; 0 where that is no longer counted, or nothing was. */
  refusals: number;
  /** How often it may be done yet. */
  remaining: number;
  /** Until all counts begin again; never longer than the limit's `seconds`, whatever the clock does. */
  msBeforeReset: number;
}

/** Seconds after which all counts begin again, as callers are told: whole ones, one at least. */
export function secondsUntilReset({ msBeforeReset }: Count): number {
  return Math.max(1, Math.ceil(msBeforeReset / 1_000));
}

/** Counts how often something is done, for each key. */
export interface RateLimiter {
  readonly limit: Limit;
  /**
   * Counts once more, or so many times, at once where it need not ask anybody. Rejects with `unavailable` when it cannot
   * count.
   */
  consume(key: string, times?: number): Count | Promise<Count>;
  /** Lets the counts of a key begin again. */
  reset(key: string): Promise<void>;
}

/** Makes limiters that count in one place. */
export interface RateLimiters {
  limiter(limit: Limit): RateLimiter;
  close(): Promise<void>;
}
