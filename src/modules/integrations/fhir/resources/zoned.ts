import { instantOf } from '../../../../domain/records/schema/instantOf.ts';
import { offsetOf, shownOffset } from '../../offsetOf.ts';
import type { Period } from './dataTypes.ts';

/** Matches a time of day without an offset. */
const WITHOUT_OFFSET = /T[\d:.]+$/;

/** Returns a date of any precision, or a time with its offset, or that of the time zone where it has none. */
export function zoned(dateTime: string, timeZone: string): string {
  if (!WITHOUT_OFFSET.test(dateTime)) return dateTime;
  return `${dateTime}${shownOffset(offsetOf(instantOf(dateTime), timeZone))}`;
}

/** Returns a period with both ends in that form. */
export function zonedPeriod({ start, end }: Period, timeZone: string): Period {
  return {
    ...(start !== undefined && { start: zoned(start, timeZone) }),
    ...(end !== undefined && { end: zoned(end, timeZone) }),
  };
}
