import type { AuditEntry } from '../../../projections/auditEntry.ts';

/**
 * The status of an access under 45 CFR 164.528:
 * - `accountable`: a disclosure that an accounting includes.
 * - `purpose_not_given`: a disclosure without a stated purpose, so that it is accounted for.
 * - `exempt`: a disclosure for treatment, payment or health care operations.
 * - `internal_use`: by the organization's own workforce, which is a use and not a disclosure (45 CFR 160.103).
 * - `deidentified`: nothing that identified anyone was disclosed (45 CFR 164.502(d), 164.514).
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
 * Returns the status of an entry's access. Users and operators are the workforce, unless they stated a recipient or purpose.
 * Without a purpose nothing is presumed exempt.
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

/** Whether it is a disclosure of protected data: neither a use nor data that identify no one. */
export function isDisclosure(status: DisclosureStatus): boolean {
  return status !== 'internal_use' && status !== 'deidentified';
}

/** Whether an accounting includes what has this status; excludes what is exempt if that is omitted. */
export function isAccounted(status: DisclosureStatus, omitExempt = false): boolean {
  return isDisclosure(status) && !(omitExempt && status === 'exempt');
}
