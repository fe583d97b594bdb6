import { offsetOf } from '../../modules/integrations/offsetOf.ts';

const MINUTE_MS = 60_000;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    timeZoneName: 'short',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formats.set(timeZone, format);
  return format;
}

/** Returns what a clock in a time zone (IANA) shows at a moment, in milliseconds since 1970. */
function clockAt(moment: number, timeZone: string) {
  const parts = formatOf(timeZone).formatToParts(moment);
  const { year, month, day, hour, minute, second, timeZoneName } = Object.fromEntries(
    parts.map(({ type, value }) => [type, value]),
  );
  return { date: `${year}-${month}-${day}`, clock: `${hour}:${minute}:${second}`, name: timeZoneName };
}

/**
 * Returns a moment (ISO 8601, UTC) in a time zone: `13:20:15 GMT+1`, with the date where that differs from the one in
 * UTC.
 */
export function zonedTime(iso: string, timeZone: string): string {
  const { date, clock, name } = clockAt(Date.parse(iso), timeZone);
  return `${date === iso.slice(0, 10) ? '' : `${date} `}${clock} ${name}`;
}

/**
 * Returns a moment, in milliseconds since 1970, as a date and time field shows it in a time zone:
 * `2026-11-23T13:20:15`.
 */
export function zonedClock(moment: number, timeZone: string): string {
  const { date, clock } = clockAt(moment, timeZone);
  return `${date}T${clock}`;
}

/**
 * Returns when the clocks of a time zone show a date and time of day, in milliseconds since 1970. `shown` is that
 * moment if the clocks were those of UTC.
 */
export function momentOfClock(shown: number, timeZone: string): number {
  return shown - offsetOf(shown, timeZone) * MINUTE_MS;
}

/** Returns when the day that contains a moment began in a time zone; both in milliseconds since 1970. */
export function startOfDay(moment: number, timeZone: string): number {
  const { date } = clockAt(moment, timeZone);
  return momentOfClock(Date.parse(`${date}T00:00:00Z`), timeZone);
}
