const parts =
  /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:Z|([+-])(\d\d):?(\d\d)?)?)?$/i;

/** `Date.UTC` takes a year below 100 for one of the 20th century; the calendar repeats itself after 400 years. */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * 86_400_000;

/**
 * Returns the moment that an ISO 8601 text names, in milliseconds since 1970 UTC; finer fractions are cut off. A
 * plain date means its first moment, and a text without an offset is taken as UTC. The text must have passed the
 * schema of a date (`fields.ts`).
 */
export function instantOf(text: string): number {
  const found = parts.exec(text);
  if (found === null) throw new Error('not an ISO 8601 date or date-time');
  const [
    ,
    year,
    month,
    day,
    hour = 0,
    minute = 0,
    second = 0,
    fraction = '',
    sign,
    offsetHours,
    offsetMinutes,
  ] = found;
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
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60_000;
  return (sign === '-' ? local + offset : local - offset) - CYCLE_MS;
}
