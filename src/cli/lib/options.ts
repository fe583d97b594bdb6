import { InvalidArgumentError } from 'commander';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';

/** Parses a number of days, at most 9,999; `null` for `none`. */
export function parseDays(text: string): number | null {
  if (text === 'none') return null;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Specify a whole number of days from 1 to 9999, or none.');
}

/** Parses an ISO 8601 date or date-time to the log's time format. */
export function parseInstant(text: string): string {
  const result = requiredDate(text).safeParse(text);
  if (!result.success) throw new InvalidArgumentError(`It ${result.error.issues[0]?.message}.`);
  return new Date(instantOf(text)).toISOString();
}

/** Checks an ISO 8601 date or date-time, and returns it as given. */
export function parseMoment(text: string): string {
  if (requiredDate('').safeParse(text).success) return text;
  throw new InvalidArgumentError(
    'Specify an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z.',
  );
}

/** Parses an integer of 1 or more. */
export function parsePositive(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Specify a whole number of 1 or more.');
}
