import { offsetOf, shownOffset } from '../offsetOf.ts';

/** HL7 v2.5.1, 2.A.77: YYYY[MM[DD[HH[MM[SS[.S[S[S[S]]]]]]]]][+/-ZZZZ]. */
const TIMESTAMP =
  /^([12]\d{3})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:\.(\d{1,4}))?)?)?)?)?)?([+-]\d{4})?$/;

/** The largest offset in use, in minutes. */
const MOST_OFFSET = 14 * 60;

/**
 * Returns a time in ISO 8601, with its offset, or that of the time zone where it has none; a plain date, where no
 * more is given. Undefined for an invalid time, or one less precise than a day.
 */
export function momentOf(text: string, timeZone: string): string | undefined {
  const [, year, month, day, hour, minute = '00', second = '00', fraction, offset] =
    TIMESTAMP.exec(text.trim()) ?? [];
  const date = dateOf(year, month, day);
  if (date === undefined || hour === undefined) return date;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const clock = `${date}T${hour}:${minute}:${second}`;
  const zone = offset ? sentOffset(offset) : offsetOf(Date.parse(`${clock}Z`), timeZone);
  if (zone === undefined) return undefined;
  return `${clock}${fraction === undefined ? '' : `.${fraction}`}${shownOffset(zone)}`;
}

/**
 * Returns the day of a time as a plain date, wherever that is. Undefined for an invalid time, or one less precise
 * than a day.
 */
export function dayOf(text: string): string | undefined {
  const [, year, month, day] = TIMESTAMP.exec(text.trim()) ?? [];
  return dateOf(year, month, day);
}

function dateOf(year?: string, month?: string, day?: string): string | undefined {
  const date = `${year}-${month}-${day}`;
  const time = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date) ? date : undefined;
}

/** In minutes. */
function sentOffset(text: string): number | undefined {
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(3))];
  const offset = hours * 60 + minutes;
  if (minutes > 59 || offset > MOST_OFFSET) return undefined;
  return text.startsWith('-') ? -offset : offset;
}
