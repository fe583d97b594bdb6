import { startOfDayIn } from '../../../domain/records/schema/timeZones.ts';
import { serviceDay } from './days.ts';
import { type FilingLimit, lastDayOf, limitFor } from './filingLimits.ts';
import { isSelfPay, payerType } from './insurance.ts';
import { type BillingFacts, type RuleSettings, textOf } from './rule.ts';

/** Until when the payer of the primary insurance takes a claim. */
export interface Filing {
  limit: FilingLimit;
  /** In the workspace, such as `2027-03-14`. */
  lastDay: string;
  /** The moment at which that day has ended, in milliseconds since 1970. */
  end: number;
}

/** Returns the payer that is to get the claim, with the limit that is known of it. Undefined where there is none. */
export function filingTo(
  { patient, payer }: BillingFacts,
  { filingLimits }: RuleSettings,
): { payerId: string; limit: FilingLimit | undefined } | undefined {
  const payerId = textOf(patient, 'primary_insurance.payer_id');
  if (payerId === undefined || isSelfPay(payer)) return undefined;
  return { payerId, limit: limitFor(filingLimits, payerId, payerType(payer)) };
}

/**
 * Returns until when the payer of the primary insurance takes a claim. Undefined where there is no limit, date of service or payer,
 * where the patient pays, or the payer got a claim in time.
 */
export function filingOf(facts: BillingFacts, settings: RuleSettings): Filing | undefined {
  const service = serviceDay(facts.encounter, settings);
  const { payerId, limit } = filingTo(facts, settings) ?? {};
  if (service === undefined || payerId === undefined || limit === undefined) return undefined;
  const lastDay = lastDayOf(service, limit);
  const end = startOfDayIn(lastDay, settings.timeZone, 1);
  return (facts.firstBilled?.get(payerId) ?? end) < end ? undefined : { limit, lastDay, end };
}
