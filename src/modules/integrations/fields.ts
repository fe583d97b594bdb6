import type { Operation } from './operations.ts';

/**
 * Returns what is said about a field, as a sentence: some messages continue from the name of the field; others are
 * sentences of their own.
 */
export function fieldSentence(field: string, message: string): string {
  if (field === '') return message;
  return /^[A-Z]/.test(message) ? `${field}: ${message}` : `${field} ${message}.`;
}

/** Returns the fields of a record one by one, those of an insurance dotted. */
export function flatFields(fields: object): [field: string, value: unknown][] {
  return Object.entries(fields).flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one])
      : [[name, value]],
  );
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const formats = new Map<string, Intl.DateTimeFormat>();

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

/** Returns an offset, in minutes, in ISO 8601. */
export function shownOffset(offset: number): string {
  if (offset === 0) return 'Z';
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.abs(offset);
  return `${offset < 0 ? '-' : '+'}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

/** Returns how far they are ahead at a moment, in minutes. */
function offsetAt(moment: number, timeZone: string): number {
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

/** Returns what an operation says about its record, or about its document, by fields: dotted inside an insurance. */
export function sourcedFields(operation: Operation): [field: string, value: unknown][] {
  if (operation.type === 'removal') return [['document_id', operation.documentId]];
  if (operation.type !== 'document') return flatFields(operation.fields);
  const { documentId, category, fileName: filename } = operation;
  return flatFields({ document_id: documentId, category, filename, file: undefined });
}
