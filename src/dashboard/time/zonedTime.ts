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

/** What a clock in a time zone (IANA) shows at a moment, in milliseconds since 1970. */
function clockAt(moment: number, timeZone: string) {
  const parts = formatOf(timeZone).formatToParts(moment);
  const { year, month, day, hour, minute, second, timeZoneName } = Object.fromEntries(
    parts.map(({ type, value }) => [type, value]),
  );
  return { date: `${year}-${month}-${day}`, clock: `${hour}:${minute}:${second}`, name: timeZoneName };
}

/** A moment (ISO 8601, UTC) in a time zone: `13:20:15 GMT+1`, with the date where that is another one than in UTC. */
export function zonedTime(iso: string, timeZone: string): string {
  const { date, clock, name } = clockAt(Date.parse(iso), timeZone);
  return `${date === iso.slice(0, 10) ? '' : `${date} `}${clock} ${name}`;
}

/** A moment, in milliseconds since 1970, as a field of date and time shows it in a time zone: `2026-11-23T13:20:15`. */
export function zonedClock(moment: number, timeZone: string): string {
  const { date, clock } = clockAt(moment, timeZone);
  return `${date}T${clock}`;
}

/**
 * When the clocks of a time zone show a date and time of day, in milliseconds since 1970. `shown` is that moment if the clocks
 * were those of UTC.
 */
export function momentOfClock(shown: number, timeZone: string): number {
  const offset = offsetAt(shown, timeZone);
  // Clocks may change between that moment, taken as UTC, and the one that is meant.
  return shown - offsetAt(shown - offset, timeZone);
}

/** When the day began in a time zone that has a moment in it; both in milliseconds since 1970. */
export function startOfDay(moment: number, timeZone: string): number {
  const { date } = clockAt(moment, timeZone);
  return momentOfClock(Date.parse(`${date}T00:00:00Z`), timeZone);
}

/** How far a zone's clocks are ahead of UTC, in milliseconds. */
function offsetAt(moment: number, timeZone: string): number {
  const { date, clock } = clockAt(moment, timeZone);
  const shown = Date.parse(`${date}T${clock}Z`);
  return Math.round((shown - moment) / MINUTE_MS) * MINUTE_MS;
}
