import { z } from 'zod';
import { dayOf } from './rules/faults.ts';
import type { WorklistEntry } from './worklistEntry.ts';

const day = z.iso.date().optional();

/** First and last day of service, such as `2026-03-14`; as the date was sent. */
export const serviceDaysSchema = z.object({ from: day, to: day });
export type ServiceDays = z.infer<typeof serviceDaysSchema>;

/**
 * Whether an encounter's service was within a range of days; one without a date is within any range without a first
 * day.
 */
export function isWithin({ date_of_service }: WorklistEntry, { from = '', to = '9999-12-31' }: ServiceDays) {
  const day = date_of_service === undefined ? '' : dayOf(date_of_service);
  return day >= from && day <= to;
}
