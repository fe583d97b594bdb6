/** Billing state of an encounter. */
export const readinessStates = [
  'ready',
  'self_pay',
  'blocked',
  'rejected',
  'not_completed',
  'voided',
] as const;
export type ReadinessState = (typeof readinessStates)[number];

/** The roles that records have in a claim for an encounter. */
export const claimParts = [
  'encounter',
  'patient',
  'payer',
  'provider',
  'rendering_provider',
  'facility',
] as const;
export type ClaimPart = (typeof claimParts)[number];

/** A record, in the version on which a claim is based. */
export interface UsedVersion {
  part: ClaimPart;
  kind: string;
  id: string;
  version: number;
}

/** Data of `EncounterBilled`: what was sent to the payer, and on which versions it is based. Contains no field values. */
export interface EncounterBilled {
  encounter_id: string;
  claim_id: string;
  /** In the order of `claimParts`, omitting those absent from the claim. */
  versions: UsedVersion[];
}

/** Data of `BillingChangeAcknowledged`: changes made since, up to these versions, are accepted. */
export interface BillingChangeAcknowledged {
  encounter_id: string;
  /** The reason, in the caller's words. */
  reason: string;
  versions: UsedVersion[];
}

/** What becomes of a claim: `rejected` before the payer took it in, `denied` by the payer. */
export const claimOutcomes = ['accepted', 'rejected', 'denied', 'paid'] as const;
export type ClaimOutcome = (typeof claimOutcomes)[number];

/** Where an outcome comes from: a claim acknowledgment or a remittance advice of X12, or anything else. */
export const outcomeSources = ['277CA', '835', 'other'] as const;

/** What a payer or clearinghouse answered to a claim; codes without what they mean, as they were sent. */
export interface ClaimAnswer {
  source: (typeof outcomeSources)[number];
  outcome: ClaimOutcome;
  /** Of a claim acknowledgment: category, status and entity. */
  statuses?: { category: string; code: string; entity?: string | undefined }[] | undefined;
  /** Of a remittance advice: group and reason. */
  adjustments?: { group: string; code: string }[] | undefined;
  remarks?: string[] | undefined;
  /** The number that the payer gave the claim: a replacement refers to it. */
  payer_claim_number?: string | undefined;
}

/** Data of `ClaimOutcomeReported`. */
export interface ClaimOutcomeReported extends ClaimAnswer {
  encounter_id: string;
  claim_id: string;
}

/** What can be answered to a finding; `reopened` ends that it is accepted or snoozed. */
export const findingAnswers = ['accepted', 'assigned', 'noted', 'snoozed', 'reopened'] as const;

/** Data of `FindingAnswered`: somebody has dealt with what a rule finds in a record, for one encounter. */
export interface FindingAnswered {
  encounter_id: string;
  /** Code of the rule. */
  rule: string;
  /** The record at fault, in the version that was evaluated. */
  record: { kind: string; id: string; version: number };
  answer: (typeof findingAnswers)[number];
  /** Of what is accepted. */
  reason?: string;
  /** The last day, in the workspace's time zone, for which it is accepted or snoozed: `2026-03-14`. */
  until?: string;
  /** Of what is assigned; `null` for nobody. */
  assigned_to?: string | null;
  note?: string;
}

/**
 * The write that caused a change of readiness: a version of a record, of a document of the encounter, or of its billing
 * (`readiness`).
 */
export interface ReadinessCause {
  event_id: string;
  kind: string;
  /** The id assigned by the caller. */
  id: string;
  version: number;
}

/** Data of `EncounterReadinessChanged`, appended by the service itself. */
export interface EncounterReadinessChanged {
  encounter_id: string;
  /** Absent if nothing was reported for the encounter before. */
  from?: string;
  to: string;
  /** The codes of the rules that found something, each once. */
  rules: string[];
  /** Absent if a finding began or ended without a write. */
  cause?: ReadinessCause;
  /** Identifies the rules: changes whenever the rules, or the workspace's settings for them, change. */
  rules_version: string;
}

/**
 * Data of `ReadinessRulesApplied`, in a workspace's stream of settings: the effect of a change of the rules' inputs. Appended by
 * the service itself, instead of an event for each encounter.
 */
export interface ReadinessRulesApplied {
  /** Id of the event that made the change. */
  cause: string;
  /** Number of the workspace's encounters in each state. */
  before: Partial<Record<ReadinessState, number>>;
  after: Partial<Record<ReadinessState, number>>;
}

/**
 * Data of `ReadinessCounted`, in a separate stream of the workspace: how many encounters there were at the end of a day. Appended
 * by the service itself.
 */
export interface ReadinessCounted {
  /** UTC: `2026-03-14`. */
  day: string;
  /** Number of encounters in each state. */
  states: Partial<Record<string, number>>;
  /** For each state, how many encounters have a finding of each rule. */
  rules: Partial<Record<string, Record<string, number>>>;
}

/** Types of the events in an `encounterReadinessStream`, other than its tombstones. */
export const encounterReadinessTypes: readonly string[] = [
  'EncounterBilled',
  'BillingChangeAcknowledged',
  'FindingAnswered',
  'ClaimOutcomeReported',
  'EncounterReadinessChanged',
];
