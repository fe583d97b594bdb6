/** The time, for code whose behavior depends on it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. May be set forward or back at any moment. */
  now(): number;
  /** Milliseconds since a moment that differs in each process; never adjusted, so suited to measuring durations. */
  elapsed(): number;
}

export const systemClock: Clock = { now: Date.now, elapsed: () => performance.now() };
