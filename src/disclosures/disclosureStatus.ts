import type { AuditEntry } from '../../projections/audit/auditEntry.ts';

/**
 * What an access is under 45 CFR 164.528:
 * - `accountable`: a disclosure of which an accounting tells.
 * - `purpose_not_given`: a disclosure, and nobody said what for, so that it is accounted for.
 * - `exempt`: a disclosure for treatment, payment or health care operations.
 * - `internal_use`: by the organisation's own workforce, which is a use and no disclosure (45 CFR 160.103).
 * - `deidentified`: nothing that identified anybody went (45 CFR 164.502(d), 164.514).
 */
export const disclosureStatuses = [
  'accountable',
  'purpose_not_given',
  'exempt',
  'internal_use',
  'deidentified',
] as const;
export type DisclosureStatus = (typeof disclosureStatuses)[number];

/** What exempts disclosures for treatment, payment and health care operations. */
export const EXEMPTION = '45 CFR 164.528(a)(1)(i)';

/**
 * What the access of an entry is. Users and operators are the workforce, unless they said to whom it goes, or what for. Where no
 * purpose was given nothing is taken to be exempt.
 */
export function disclosureStatus({
  principal,
  disclosedTo,
  shown,
}: Pick<AuditEntry, 'principal' | 'disclosedTo' | 'shown'>): DisclosureStatus {
  const isWorkforce = principal.type === 'user' || principal.type === 'operator';
  if (isWorkforce && disclosedTo === undefined) return 'internal_use';
  if (shown?.view === 'deidentified') return 'deidentified';
  const purpose = disclosedTo?.purpose;
  if (purpose === undefined) return 'purpose_not_given';
  return purpose === 'other' ? 'accountable' : 'exempt';
}

/** Whether it is a disclosure of protected data: neither a use nor of what identifies nobody. */
export function isDisclosure(status: DisclosureStatus): boolean {
  return status !== 'internal_use' && status !== 'deidentified';
}

/** Whether an accounting tells of what has this status; without what is exempt where it is omitted. */
export function isAccounted(status: DisclosureStatus, omitExempt = false): boolean {
  return isDisclosure(status) && !(omitExempt && status === 'exempt');
}
