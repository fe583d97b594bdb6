import { expect, test } from 'vitest';
import { nextDelay, retryAfterMs, retrySchedule } from '../../src/modules/webhooks/attempts.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const delays = [
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

test('a message is tried ten times, after delays that chance changes by a tenth', () => {
  for (const [index, delay] of delays.entries()) {
    expect(nextDelay(retrySchedule, index + 1, {}, 0)).toBeCloseTo(delay * 0.9);
    expect(nextDelay(retrySchedule, index + 1, {}, 0.5)).toBeCloseTo(delay);
    expect(nextDelay(retrySchedule, index + 1, {}, 1)).toBeCloseTo(delay * 1.1);
  }
  expect(nextDelay(retrySchedule, 10, {})).toBeUndefined();
  expect(nextDelay(retrySchedule, 10, { status: 503, retryAfterSeconds: 60 })).toBeUndefined();
});

test.each([
  [{ status: 429, retryAfterSeconds: 60 }, MINUTE],
  [{ status: 503, retryAfterSeconds: 60 }, MINUTE],
  [{ status: 503, retryAfterSeconds: 7 * 86_400 }, 24 * HOUR],
  [{ status: 500, retryAfterSeconds: 60 }, 0],
  [{ status: 429 }, 0],
  [{}, 0],
])('Retry-After is obeyed where it counts: %j', (answer, ms) => {
  expect(retryAfterMs(answer)).toBe(ms);
  expect(nextDelay([SECOND], 1, answer, 0.5)).toBe(Math.max(SECOND, ms));
});
