/** Who saw a patient's data, or an accounting of disclosures according to 45 CFR 164.528, which is derived from that. */
export const disclosureForms = ['access_report', 'accounting'] as const;
export type DisclosureForm = (typeof disclosureForms)[number];

/** What a report is to cover. Times are ISO 8601, UTC, to the millisecond. */
export interface DisclosureQuery {
  patientId: string;
  form: DisclosureForm;
  /** Disclosed at or after this; default for an accounting: `accountedFrom`, for an access report: the beginning. */
  from?: string | undefined;
  /** Disclosed before this; default: until now. */
  to?: string | undefined;
  /** For an accounting: omits what is exempt. */
  omitExempt?: boolean | undefined;
}

const YEARS_ACCOUNTED = 6;

/** Returns the default start of an accounting requested at a moment: the same day six years earlier, UTC. */
export function accountedFrom(now: Date): string {
  const from = new Date(now);
  from.setUTCHours(0, 0, 0, 0);
  from.setUTCFullYear(from.getUTCFullYear() - YEARS_ACCOUNTED);
  // There may be no 29 February.
  if (from.getUTCDate() !== now.getUTCDate()) from.setUTCDate(0);
  return from.toISOString();
}

/** Returns the query with its start time, which every report states. */
export function withPeriod(query: DisclosureQuery): DisclosureQuery {
  const isOpen = query.form === 'accounting' && query.from === undefined;
  return isOpen ? { ...query, from: accountedFrom(new Date()) } : query;
}
