import { type BilledRecord, textOf } from './rule.ts';

/** Returns the type of a payer in lower case; '' where it has none. */
export function payerType(payer: BilledRecord | undefined): string {
  return (textOf(payer, 'payer_type') ?? '').toLowerCase();
}

/** Whether the patient pays, and no payer gets a claim. */
export function isSelfPay(payer: BilledRecord | undefined): boolean {
  return payerType(payer) === 'self-pay';
}

/** Whether an employer holds the policy. */
export function isWorkersCompensation(payer: BilledRecord | undefined): boolean {
  return payerType(payer) === 'workers compensation';
}
