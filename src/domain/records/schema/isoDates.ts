import { z } from 'zod';

const calendarDate = z.regexes.date.source.slice(1, -1);
const timeOfDay = String.raw`(?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d{1,9})?)?`;
const offset = String.raw`(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)`;
/** A date, or a date and a time of day with or without an offset, in the extended format of ISO 8601. */
export const iso8601 = new RegExp(`^${calendarDate}(?:[Tt]${timeOfDay}${offset}?)?$`);

/** The one form in which dates are stored: of `iso8601`, what RFC 3339 takes, with or without seconds and an offset. */
const stored = new RegExp(
  `^${calendarDate}(?:T${timeOfDay.replace('[.,]', String.raw`\.`)}(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)?)?$`,
);

/**
 * A date, a time of day, an offset, and what RFC 9557 allows after one: the name of a time zone in brackets, as in Java's
 * `ZonedDateTime`, or of a calendar.
 */
const written =
  /^([\dWw-]{8,10})(?:[Tt]([\d:.,]{2,18})(?:([Zz]|[+\u2212-]\d\d(?::?\d\d)?)(?:\[[\w+\-/:=]{1,64}\]){0,4})?)?$/;
const monthDate = /^(\d{4})(-?)(\d\d)\2(\d\d)$/;
const weekDate = /^(\d{4})(-?)[Ww](\d\d)\2([1-7])$/;
const ordinalDate = /^(\d{4})-(\d{3})$/;
const clock = /^(\d\d)(?:(:?)(\d\d)(?:\2(\d\d)(?:[.,](\d{1,9}))?)?)?$/;

/** Returns a day of a month (0 to 11) as a date, where both may be beyond the year's; not as one where that is beyond the year 9999. */
function dateOf(year: number, month: number, day: number): string {
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date.toISOString().split('T')[0] as string;
}

/** Returns which day of January the Monday of a year's first week is (ISO 8601); one of December is 0 or lower. */
function firstMonday(year: number): number {
  const weekday = new Date(dateOf(year, 0, 4)).getUTCDay();
  return 4 - ((weekday + 6) % 7);
}

/** Returns a date in the form of `stored`; undefined when it is none. That a month has such a day is not checked. */
function calendarDay(text: string): string | undefined {
  const [, year = '', , month, day] = monthDate.exec(text) ?? [];
  if (month !== undefined) return `${year}-${month}-${day}`;
  const [, ofWeeks, , week, weekday] = weekDate.exec(text) ?? [];
  if (ofWeeks !== undefined) {
    const first = firstMonday(Number(ofWeeks)) + 7 * (Number(week) - 1);
    // Its Thursday decides to which year a week belongs.
    const isOfYear = Number(week) > 0 && dateOf(Number(ofWeeks), 0, first + 3).startsWith(ofWeeks);
    return isOfYear ? dateOf(Number(ofWeeks), 0, first + Number(weekday) - 1) : undefined;
  }
  const [, ofDays, number] = ordinalDate.exec(text) ?? [];
  if (ofDays === undefined) return undefined;
  const date = dateOf(Number(ofDays), 0, Number(number));
  return date.startsWith(ofDays) ? date : undefined;
}

function dayAfter(date: string): string {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  return dateOf(year, month - 1, day + 1);
}

/** Returns an offset with minutes, and an ASCII sign: ISO 8601 prefers the mathematical one. */
function extendedOffset(text: string): string {
  if (/z/i.test(text)) return 'Z';
  const digits = text.slice(1).replace(':', '').padEnd(4, '0');
  return `${text.startsWith('+') ? '+' : '-'}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

/**
 * Returns the form in which a date, or a date and time, is stored; undefined for a text that is no ISO 8601 of a day. Accepts the
 * extended and the basic format, also mixed, week dates, ordinal dates with their hyphen, 24:00 for the end of a day, and a time
 * zone in brackets after an offset (RFC 9557), which is left out.
 */
export function storedDate(text: string): string | undefined {
  if (stored.test(text)) return text;
  const [, date = '', time, zone] = written.exec(text) ?? [];
  let day = calendarDay(date);
  if (day === undefined || time === undefined) return accepted(day);
  const [, hour, , minute = '00', second, fraction] = clock.exec(time) ?? [];
  if (hour === undefined) return undefined;
  const rest = `:${minute}${second === undefined ? '' : `:${second}`}${fraction === undefined ? '' : `.${fraction}`}`;
  const isEnd = hour === '24' && /^[:.0]+$/.test(rest);
  if (isEnd && accepted(day)) day = dayAfter(day);
  return accepted(`${day}T${isEnd ? '00' : hour}${rest}${zone === undefined ? '' : extendedOffset(zone)}`);
}

function accepted(date: string | undefined): string | undefined {
  return date !== undefined && stored.test(date) ? date : undefined;
}

/** `Date.UTC` takes a year below 100 for one of the 20th century; the calendar repeats itself after 400 years. */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * 86_400_000;

const parts = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:Z|([+-])(\d\d):(\d\d))?)?$/;

/**
 * Returns the moment that an ISO 8601 text names, in milliseconds since 1970 UTC; finer fractions are cut off. A
 * plain date means its first moment, and a text without an offset is taken as UTC. The text must have passed the
 * schema of a date (`fields.ts`).
 */
export function instantOf(text: string): number {
  const found = parts.exec(storedDate(text) ?? '');
  if (found === null) throw new Error('not an ISO 8601 date or date-time');
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = '', sign, hours = 0, minutes = 0] =
    found;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const local = Date.UTC(
    Number(year) + CYCLE_YEARS,
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    milliseconds,
  );
  const ahead = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return (sign === '-' ? local + ahead : local - ahead) - CYCLE_MS;
}
