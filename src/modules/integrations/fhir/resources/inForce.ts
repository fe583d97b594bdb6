import { instantOf } from '../../../../domain/records/schema/instantOf.ts';
import type { Period } from './dataTypes.ts';

const WHOLE_DAY = '2026-03-14'.length;

/**
 * Whether a period includes a moment, in milliseconds since 1970; without a period, or where an end is open, it does.
 * Its last day is included.
 */
export function inForce({ period }: { period?: Period | undefined }, at: number): boolean {
  const { start, end } = period ?? {};
  return (start === undefined || startOf(start) <= at) && (end === undefined || at <= endOf(end));
}

/**
 * Returns the first moment of a date of any precision: `2026`, `2026-03`, `2026-03-14` or with a time (FHIR R4,
 * 2.24.0.1).
 */
export function startOf(date: string): number {
  const [year = '', month = '01', day = '01'] = date.slice(0, 10).split('-');
  return date.includes('T') ? instantOf(date) : Date.UTC(Number(year), Number(month) - 1, Number(day));
}

/** Returns the last moment of such a date. */
export function endOf(date: string): number {
  if (date.includes('T')) return instantOf(date);
  const [year = '', month, day] = date.split('-');
  const next =
    month === undefined
      ? Date.UTC(Number(year) + 1, 0, 1)
      : day === undefined
        ? Date.UTC(Number(year), Number(month), 1)
        : Date.UTC(Number(year), Number(month) - 1, Number(day) + 1);
  return next - 1;
}

/** Returns the first day of a date that may lack its day or month; one that has both, or a time, as it is. */
export function firstDay(date: string): string {
  return date.length < WHOLE_DAY ? `${date}-01-01`.slice(0, WHOLE_DAY) : date;
}

/** Returns the last day of such a date. */
export function lastDay(date: string): string {
  if (date.length >= WHOLE_DAY) return date;
  const [year = '', month = '12'] = date.split('-');
  // The month has the same length 400 years later; `Date` interprets years before 100 differently.
  const days = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  return `${year}-${month}-${days}`;
}
