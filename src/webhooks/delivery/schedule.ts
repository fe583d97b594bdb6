const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long after a failed try the next one follows, in milliseconds; there is one try more than there are delays. */
export type RetrySchedule = readonly number[];

/** At once, then after these delays: ten tries in a good three days. */
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

/** An endpoint that took nothing for so long is disabled. */
export const FAILING_MS = 5 * DAY;

/** The longest that a `Retry-After` is obeyed. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;

/** Delays are spread by a tenth, so that what failed together does not come back together. */
const JITTER = 0.1;

/** What an answer says of when to come back. */
interface Answer {
  status?: number;
  retryAfterSeconds?: number;
}

/** For how long an endpoint asked not to be sent anything (429, 503), in milliseconds; 0 when it did not. */
export function retryAfterMs({ status, retryAfterSeconds = 0 }: Answer): number {
  if (status !== 429 && status !== 503) return 0;
  return Math.min(retryAfterSeconds * SECOND, MAX_RETRY_AFTER_MS);
}

/**
 * Milliseconds until the next try of a message that failed `tries` times, never less than what the endpoint asked for;
 * undefined when that was the last one. `random` is a number from 0 to 1.
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
