import { instantOf } from './isoDates.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Clocks are set at whole quarters of an hour. */
const QUARTER_MS = 15 * MINUTE_MS;
const offsets = new Map<string, number>();
const MOST_KEPT = 10_000;

/**
 * Returns how far the clocks of a time zone (IANA) are ahead of UTC, in minutes, when they show a date and time of
 * day, given as the moment, in milliseconds since 1970, at which clocks in UTC show it. A time shown twice, as clocks
 * are set back, means the first; one never shown, as they are set forward, is interpreted with the offset before the
 * change (RFC 5545, 3.3.5).
 */
export function offsetOf(shown: number, timeZone: string): number {
  const before = offsetAt(shown - DAY_MS, timeZone);
  const after = offsetAt(shown + DAY_MS, timeZone);
  const isShown = (offset: number) => offsetAt(shown - offset * MINUTE_MS, timeZone) === offset;
  return !isShown(before) && isShown(after) ? after : before;
}

/** Returns how far they are ahead at a moment, in minutes. */
function offsetAt(moment: number, timeZone: string): number {
  const key = `${Math.floor(moment / QUARTER_MS)} ${timeZone}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  if (offsets.size === MOST_KEPT) offsets.clear();
  const offset = readOffset(moment, timeZone);
  offsets.set(key, offset);
  return offset;
}

function readOffset(moment: number, timeZone: string): number {
  const { value = '' } = formatOf(timeZone)
    .formatToParts(moment)
    .find(({ type }) => type === 'timeZoneName') ?? { value: '' };
  const [, sign, hours = 0, minutes = 0] = /^GMT(?:([+-])(\d\d):(\d\d))?/.exec(value) ?? [];
  const offset = Number(hours) * 60 + Number(minutes);
  return sign === '-' ? -offset : offset;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  formats.set(timeZone, format);
  return format;
}

/** Whether a text is the name of a time zone (IANA). */
export function isTimeZone(name: string): boolean {
  return name === UTC || Intl.supportedValuesOf('timeZone').includes(name);
}

/** The time zone of whoever has set none. */
export const UTC = 'UTC';

/** Returns the day, such as `2026-03-14`, that the clocks of a time zone show at a moment in milliseconds since 1970. */
export function dayAt(moment: number, timeZone: string): string {
  return new Date(clockAt(moment, timeZone)).toISOString().slice(0, 10);
}

/** Returns the moment at which the clocks of UTC show what those of a time zone show at another; both in milliseconds since 1970. */
export function clockAt(moment: number, timeZone: string): number {
  return timeZone === UTC ? moment : moment + offsetAt(moment, timeZone) * MINUTE_MS;
}

/**
 * Returns the moment, in milliseconds since 1970, at which a day begins in a time zone that is a number of days after one such as
 * `2026-03-14`.
 */
export function startOfDayIn(day: string, timeZone: string, daysAfter = 0): number {
  return clockIn(instantOf(day) + daysAfter * DAY_MS, timeZone);
}

/** Returns the moment at which the clocks of a time zone show what those of UTC show at another; both in milliseconds since 1970. */
export function clockIn(shown: number, timeZone: string): number {
  return timeZone === UTC ? shown : shown - offsetOf(shown, timeZone) * MINUTE_MS;
}
