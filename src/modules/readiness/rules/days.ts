import { instantOf } from '../../../domain/records/schema/isoDates.ts';
import { clockIn, dayAt, UTC } from '../../../domain/records/schema/timeZones.ts';
import { type BilledRecord, dayOf, type RuleSettings, textOf } from './rule.ts';

type Zone = Pick<RuleSettings, 'timeZone'>;

/** Sent for the day itself by senders who have dates only as times. */
const MIDNIGHT = /T00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:00)?$/;
const TIME_IN_UTC = /T.*(?:Z|[+-]00:00)$/;
const TIME_WITH_OFFSET = /T.*(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Returns the day of service: of a time in UTC, other than midnight, the day of the workspace; of anything else as it was written.
 * Undefined without a date.
 */
export function serviceDay(encounter: BilledRecord, { timeZone }: Zone): string | undefined {
  const date = textOf(encounter, 'date_of_service');
  if (date === undefined) return undefined;
  const isWritten = timeZone === UTC || !TIME_IN_UTC.test(date) || MIDNIGHT.test(date);
  return isWritten ? dayOf(date) : dayAt(instantOf(date), timeZone);
}

/**
 * Returns the moment that a date or time names, in milliseconds since 1970: days begin, and times without an offset are
 * shown, in the workspace.
 */
export function momentOf(date: string, { timeZone }: Zone): number {
  const moment = instantOf(date);
  return TIME_WITH_OFFSET.test(date) && !MIDNIGHT.test(date) ? moment : clockIn(moment, timeZone);
}
