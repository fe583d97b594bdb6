import type { DisclosureTerms } from './payloads.ts';

/** How data were disclosed other than by the service. */
export const disclosureMeans = ['telephone', 'fax', 'mail', 'paper', 'email', 'in_person', 'other'] as const;

/** Data of `DisclosureAdded`: a disclosure of a patient's data that the service did not make. */
export interface DisclosureAdded extends DisclosureTerms {
  patient_id: string;
  /** A date or date-time, as sent. */
  disclosed_at: string;
  means: (typeof disclosureMeans)[number];
  /** What was disclosed, in words. */
  description: string;
  recipient: string;
}

/** Data of `DisclosurePurposeStated`: the purpose of a disclosure of a patient's data for which none was given. */
export interface DisclosurePurposeStated extends Pick<DisclosureTerms, 'purpose' | 'purpose_statement'> {
  patient_id: string;
  /** The entry of the audit trail. */
  event_id: string;
}

/** Types of the events in a `disclosuresStream`, other than its tombstones. */
export const disclosureTypes: readonly string[] = ['DisclosureAdded', 'DisclosurePurposeStated'];
