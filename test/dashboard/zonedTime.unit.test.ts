import { expect, test } from 'vitest';
import { startOfDay, zonedClock, zonedTime } from '../../src/dashboard/components/page.ts';
import { clockIn } from '../../src/domain/records/schema/timeZones.ts';

test.each([
  ['2026-11-23T12:20:15.000Z', 'America/Chicago', 'Nov 23, 2026, 06:20 CST'],
  ['2026-11-23T23:20:15.000Z', 'Asia/Kathmandu', 'Nov 24, 2026, 05:05 GMT+5:45'],
  ['2026-07-01T00:00:00.000Z', 'America/New_York', 'Jun 30, 2026, 20:00 EDT'],
])('%s in %s is %s', (iso, timeZone, shown) => {
  expect(zonedTime(iso, timeZone)).toBe(shown);
});

// Clocks go forward in New York on 8 March 2026 at two in the morning.
test.each([
  ['2026-11-23T03:00:00.000Z', 'America/New_York', '2026-11-22T05:00:00.000Z'],
  ['2026-03-08T12:00:00.000Z', 'America/New_York', '2026-03-08T05:00:00.000Z'],
  ['2026-03-09T12:00:00.000Z', 'America/New_York', '2026-03-09T04:00:00.000Z'],
  ['2026-11-23T20:00:00.000Z', 'Asia/Kathmandu', '2026-11-23T18:15:00.000Z'],
  ['2026-11-23T20:00:00.000Z', 'UTC', '2026-11-23T00:00:00.000Z'],
  // There clocks go forward at midnight, and back to midnight.
  ['2026-03-08T12:00:00.000Z', 'America/Havana', '2026-03-08T05:00:00.000Z'],
  ['2026-11-01T12:00:00.000Z', 'America/Havana', '2026-11-01T04:00:00.000Z'],
])('the day of %s in %s began at %s', (moment, timeZone, began) => {
  expect(new Date(startOfDay(Date.parse(moment), timeZone)).toISOString()).toBe(began);
});

// The second one is at an hour that clocks pass over, the third one at an hour that they show twice.
test.each([
  ['2026-11-23T21:00:00', 'America/New_York', '2026-11-24T02:00:00.000Z'],
  ['2026-03-08T02:30:00', 'America/New_York', '2026-03-08T07:30:00.000Z'],
  ['2026-11-01T01:30:00', 'America/New_York', '2026-11-01T05:30:00.000Z'],
  ['2026-11-23T13:20:15', 'UTC', '2026-11-23T13:20:15.000Z'],
])('clocks show %s in %s at %s', (shown, timeZone, moment) => {
  expect(new Date(clockIn(Date.parse(`${shown}Z`), timeZone)).toISOString()).toBe(moment);
});

test('what a field shows of a moment is that moment when it is sent back', () => {
  const moment = Date.parse('2026-07-01T03:04:05Z');
  expect(zonedClock(moment, 'Asia/Kathmandu')).toBe('2026-07-01T08:49:05');
  expect(clockIn(Date.parse('2026-07-01T08:49:05Z'), 'Asia/Kathmandu')).toBe(moment);
});
