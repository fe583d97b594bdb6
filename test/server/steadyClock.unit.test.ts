import { beforeEach, expect, test } from 'vitest';
import { SteadyClock } from '../../src/storage/rateLimiters.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const START = Date.parse('2026-03-14T09:30:00.000Z');

let [setMs, elapsedMs, suspendedMs] = [0, 0, 0];
let clock: SteadyClock;
beforeEach(() => {
  [setMs, elapsedMs, suspendedMs] = [0, 0, 0];
  const now = () => START + elapsedMs + suspendedMs + setMs;
  clock = new SteadyClock({ now, elapsed: () => elapsedMs }, () => elapsedMs + suspendedMs);
});

const passed = () => clock.now() - START;

test.each([30 * DAY_MS, -30 * DAY_MS, 61_000, -61_000])('a step of %i ms is not followed', (step) => {
  elapsedMs += 5;
  setMs += step;
  expect([passed(), clock.stepMs()]).toEqual([5, step]);
  elapsedMs += DAY_MS;
  expect([passed(), clock.stepMs()]).toEqual([DAY_MS + 5, step]);
  setMs -= step;
  expect([passed(), clock.stepMs()]).toEqual([DAY_MS + 5, 0]);
});

test('steps of up to a minute are followed, also several in the same direction', () => {
  for (let n = 1; n <= 5; n++) {
    setMs += MINUTE_MS;
    expect([passed(), clock.stepMs()]).toEqual([n * MINUTE_MS, 0]);
  }
  setMs -= 3 * MINUTE_MS;
  expect(passed()).toBe(5 * MINUTE_MS);
});

test('time during which the machine was suspended is no step', () => {
  setMs += MINUTE_MS;
  expect(passed()).toBe(MINUTE_MS);
  suspendedMs += DAY_MS;
  expect([passed(), clock.stepMs()]).toEqual([DAY_MS + MINUTE_MS, 0]);
  elapsedMs += 7;
  setMs += DAY_MS;
  expect([passed(), clock.stepMs()]).toEqual([DAY_MS + MINUTE_MS + 7, DAY_MS]);
});
