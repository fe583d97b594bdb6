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

/** When the day began in a time zone that has a moment in it; both in milliseconds since 1970. */
export function startOfDay(moment: number, timeZone: string): number {
  const { date } = clockAt(moment, timeZone);
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const offset = offsetAt(midnight, timeZone);
  // Clocks may change between that midnight, taken as UTC, and the one that is meant.
  return midnight - offsetAt(midnight - offset, timeZone);
}

/** How far a zone's clocks are ahead of UTC, in milliseconds. */
function offsetAt(moment: number, timeZone: string): number {
  const { date, clock } = clockAt(moment, timeZone);
  const shown = Date.parse(`${date}T${clock}Z`);
  return Math.round((shown - moment) / MINUTE_MS) * MINUTE_MS;
}
