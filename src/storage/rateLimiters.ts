import os from 'node:os';

/** The time, for code whose behavior depends on it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. May be set forward or back at any moment. */
  now(): number;
  /** Milliseconds since a moment that differs in each process; never adjusted, so suited to measuring durations. */
  elapsed(): number;
}

export const systemClock: Clock = { now: Date.now, elapsed: () => performance.now() };

/** Largest step of the machine's clock that is followed: NTP makes such steps. */
const FOLLOWED_MS = 60_000;

/**
 * A clock for what is recorded: it shows the machine's time, but does not follow a step of more than a minute while the process runs.
 * It goes on by the monotonic clock then, until the machine's clock agrees again. The time a machine was suspended is no step.
 */
export class SteadyClock implements Clock {
  readonly #system: Clock;
  readonly #uptime: () => number;
  /** Of the machine's clock ahead of `elapsed`, and ahead of `uptime`. */
  #aheadMs: number;
  #aheadOfUptimeMs: number;

  /** `uptime`: milliseconds since the machine started, those during which it was suspended included. */
  constructor(system: Clock = systemClock, uptime: () => number = () => 1_000 * os.uptime()) {
    this.#system = system;
    this.#uptime = uptime;
    this.#aheadMs = system.now() - system.elapsed();
    this.#aheadOfUptimeMs = system.now() - uptime();
  }

  now(): number {
    const ahead = this.#system.now() - this.#system.elapsed();
    if (isFollowed(ahead - this.#aheadMs)) this.#aheadOfUptimeMs += ahead - this.#aheadMs;
    else if (!isFollowed(this.#system.now() - this.#uptime() - this.#aheadOfUptimeMs))
      return Math.floor(this.#system.elapsed() + this.#aheadMs);
    this.#aheadMs = ahead;
    return this.#system.now();
  }

  elapsed(): number {
    return this.#system.elapsed();
  }

  /** Milliseconds by which the machine's clock is ahead of this one (negative: behind) since a step; 0 without one. */
  stepMs(): number {
    return Math.round(this.#system.now() - this.now());
  }
}

function isFollowed(step: number): boolean {
  return Math.abs(step) <= FOLLOWED_MS;
}

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
