/** How often something may be done: `points` times in `seconds`, counted from the first time. */
export interface Limit {
  /** Keeps the counts of this limit separate from those of others. */
  name: string;
  points: number;
  seconds: number;
}

/** The result of a limiter's count. */
export interface Count {
  /** Whether the limit was exceeded. */
  refused: boolean;
  /** How often it was refused in this window, including this time; 0 when no longer counted, or nothing was counted. */
  refusals: number;
  /** How often it may still be done. */
  remaining: number;
  /** Time until all counts restart; never longer than the limit's `seconds`, whatever the clock does. */
  msBeforeReset: number;
}

/** Seconds until all counts restart, as reported to callers: a whole number, at least one. */
export function secondsUntilReset({ msBeforeReset }: Count): number {
  return Math.max(1, Math.ceil(msBeforeReset / 1_000));
}

/** Counts how often something is done, by key. */
export interface RateLimiter {
  readonly limit: Limit;
  /**
   * Counts once, or `times` times; synchronous when no other party is involved. Rejects with `unavailable` when it cannot count.
   */
  consume(key: string, times?: number): Count | Promise<Count>;
  /** Restarts the counts of a key. */
  reset(key: string): Promise<void>;
}

/** Creates limiters that count in one place. */
export interface RateLimiters {
  limiter(limit: Limit): RateLimiter;
  close(): Promise<void>;
}
