/** The time, for code whose behaviour depends on it. */
export interface Clock {
  /** Milliseconds since 1970 in UTC. */
  now(): number;
}

export const systemClock: Clock = { now: Date.now };
