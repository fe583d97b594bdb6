import { instantOf } from '../../../domain/records/schema/instantOf.ts';
import { dayOf, textOf } from './faults.ts';
import type { BillingFacts } from './rule.ts';

/** For how many days after the date of service payers take a claim. */
export interface FilingLimits {
  /** Of payers without a limit of their own. */
  default?: number;
  /** By the ids of the payers. */
  byPayer: ReadonlyMap<string, number>;
}

/** Data of `FilingLimitSet`: the limit of a payer, or the default without one; `null` takes it away. */
export interface FilingLimitSet {
  days: number | null;
  payer_id?: string;
}

const DAY_MS = 86_400_000;

/** The limits with what an event sets; those before stay as they are. */
export function withFilingLimit(
  limits: FilingLimits,
  { days, payer_id: payerId }: FilingLimitSet,
): FilingLimits {
  if (payerId === undefined) {
    return { byPayer: limits.byPayer, ...(days !== null && { default: days }) };
  }
  const byPayer = new Map(limits.byPayer);
  if (days === null) byPayer.delete(payerId);
  else byPayer.set(payerId, days);
  return { ...limits, byPayer };
}

/**
 * The first moment at which the payer of the primary insurance takes no claim any more, in milliseconds since 1970: the
 * midnight (UTC) after the last day. Undefined where there is no limit, date of service or payer, or the payer has had a claim before.
 */
export function filingEnd(
  { encounter, patient, firstBilled }: BillingFacts,
  limits: FilingLimits,
): number | undefined {
  const service = textOf(encounter, 'date_of_service');
  const payerId = textOf(patient, 'primary_insurance.payer_id');
  if (service === undefined || payerId === undefined) return undefined;
  const days = limits.byPayer.get(payerId) ?? limits.default;
  if (days === undefined) return undefined;
  const end = instantOf(dayOf(service)) + (days + 1) * DAY_MS;
  return (firstBilled?.get(payerId) ?? end) < end ? undefined : end;
}
