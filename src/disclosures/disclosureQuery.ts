/** Who saw data of a patient, or an accounting of disclosures as 45 CFR 164.528 has it, which is drawn from that. */
export const disclosureForms = ['access_report', 'accounting'] as const;
export type DisclosureForm = (typeof disclosureForms)[number];

/** What a report is to tell. Times are ISO 8601, UTC, to the millisecond. */
export interface DisclosureQuery {
  patientId: string;
  form: DisclosureForm;
  /** Disclosed at or after this; default of an accounting: `accountedFrom`, of an access report: the beginning. */
  from?: string | undefined;
  /** Disclosed before this; default: until now. */
  to?: string | undefined;
  /** Of an accounting: without what is exempt. */
  omitExempt?: boolean | undefined;
}

const YEARS_ACCOUNTED = 6;

/** From when on an accounting tells that is asked for at a moment, unless said otherwise: the same day six years before, UTC. */
export function accountedFrom(now: Date): string {
  const from = new Date(now);
  from.setUTCHours(0, 0, 0, 0);
  from.setUTCFullYear(from.getUTCFullYear() - YEARS_ACCOUNTED);
  // There may be no 29 February.
  if (from.getUTCDate() !== now.getUTCDate()) from.setUTCDate(0);
  return from.toISOString();
}

/** The query with the time from which it tells, which every report names. */
export function withPeriod(query: DisclosureQuery): DisclosureQuery {
  const isOpen = query.form === 'accounting' && query.from === undefined;
  return isOpen ? { ...query, from: accountedFrom(new Date()) } : query;
}
