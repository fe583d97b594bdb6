/** How an encounter stands in billing. */
export const readinessStates = ['ready', 'blocked', 'not_completed', 'voided'] as const;
export type ReadinessState = (typeof readinessStates)[number];

/** The parts that records have in a claim for an encounter. */
export const claimParts = [
  'encounter',
  'patient',
  'payer',
  'provider',
  'rendering_provider',
  'facility',
] as const;
export type ClaimPart = (typeof claimParts)[number];

/** A record in the version that a claim rests on. */
export interface UsedVersion {
  part: ClaimPart;
  kind: string;
  id: string;
  version: number;
}

/** Data of `EncounterBilled`: what was sent to the payer, and on which versions it rests. No field's value is copied. */
export interface EncounterBilled {
  encounter_id: string;
  claim_id: string;
  /** In the order of `claimParts`; without those that the claim does not have. */
  versions: UsedVersion[];
}

/** Data of `BillingChangeAcknowledged`: what has changed since may stay as it is, up to these versions. */
export interface BillingChangeAcknowledged {
  encounter_id: string;
  /** Why, in the caller's words. */
  reason: string;
  versions: UsedVersion[];
}

/**
 * The write that led to a change of readiness: a version of a record, of a document of the encounter, or of what was billed of it (`readiness`).
 */
export interface ReadinessCause {
  event_id: string;
  kind: string;
  /** The caller's id. */
  id: string;
  version: number;
}

/** Data of `EncounterReadinessChanged`, which the service appends by itself. */
export interface EncounterReadinessChanged {
  encounter_id: string;
  /** Left out where nothing was told of the encounter before. */
  from?: string;
  to: string;
  /** The codes of the rules that found something, each once. */
  rules: string[];
  /** Left out where a finding began or ended by itself. */
  cause?: ReadinessCause;
  /** Which rules: another text after a change of the rules or of what the workspace has set of them. */
  rules_version: string;
}

/**
 * Data of `ReadinessRulesApplied`, in a workspace's stream of settings: what a change of what the rules go by came to. The service appends
 * it by itself, in place of an event for each encounter.
 */
export interface ReadinessRulesApplied {
  /** Id of the event that changed it. */
  cause: string;
  /** Encounters of the workspace in each state. */
  before: Partial<Record<ReadinessState, number>>;
  after: Partial<Record<ReadinessState, number>>;
}

/**
 * Data of `ReadinessCounted`, in a stream of the workspace's own: how many encounters there were when a day ended. The service appends it
 * by itself.
 */
export interface ReadinessCounted {
  /** UTC: `2026-03-14`. */
  day: string;
  /** Encounters in each state. */
  states: Partial<Record<string, number>>;
  /** By state, how many of them have a finding of each rule. */
  rules: Partial<Record<string, Record<string, number>>>;
}

/** Types of the events in an `encounterReadinessStream`, its tombstones aside. */
export const encounterReadinessTypes: readonly string[] = [
  'EncounterBilled',
  'BillingChangeAcknowledged',
  'EncounterReadinessChanged',
];
