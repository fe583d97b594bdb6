/** The time, for code whose behaviour depends on it. */
export interface Clock {
  /** Milliseconds since 1970 in UTC. It may be set forward or back at any moment. */
  now(): number;
  /** Milliseconds since a moment that is another one in each process; never set: what measures durations. */
  elapsed(): number;
}

export const systemClock: Clock = { now: Date.now, elapsed: () => performance.now() };
