const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Delays between a failed attempt and the next, in milliseconds; there is one attempt more than there are delays. */
export type RetrySchedule = readonly number[];

/** At once, then after these delays: ten attempts in a little over three days. */
export const retrySchedule: RetrySchedule = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** An endpoint that accepted nothing for this long is disabled. */
export const FAILING_MS = 5 * DAY;

/** The longest `Retry-After` that is obeyed. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;

/** Delays vary by a tenth, so that what failed together does not come back together. */
const JITTER = 0.1;

/** What a response says about when to come back. */
interface Answer {
  status?: number;
  retryAfterSeconds?: number;
}

/** Returns for how long an endpoint asked not to be sent anything (429, 503), in milliseconds; 0 when it did not. */
export function retryAfterMs({ status, retryAfterSeconds = 0 }: Answer): number {
  if (status !== 429 && status !== 503) return 0;
  return Math.min(retryAfterSeconds * SECOND, MAX_RETRY_AFTER_MS);
}

/**
 * Returns the milliseconds until the next attempt for a message that failed `tries` times, never less than the
 * endpoint asked for; undefined when that was the last one. `random` is a number from 0 to 1.
 */
export function nextDelay(
  schedule: RetrySchedule,
  tries: number,
  answer: Answer,
  random = Math.random(),
): number | undefined {
  const delay = schedule[tries - 1];
  if (delay === undefined) return undefined;
  return Math.max(delay * (1 - JITTER + 2 * JITTER * random), retryAfterMs(answer));
}
