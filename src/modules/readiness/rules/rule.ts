import type { UsedVersion } from '../../../domain/events/encounterReadiness.ts';
import type { RecordFields } from '../../../domain/records/catalog.ts';
import type { DocumentCategory } from '../../../domain/records/document.ts';
import type { RuleSettings } from './ruleSettings.ts';

/** `blocks`: the payer would refuse the claim. `warns`: it may. */
export const severities = ['blocks', 'warns'] as const;
export type Severity = (typeof severities)[number];

/** A record on which a claim is based, as callers see it in that version. */
export interface BilledRecord {
  kind: string;
  id: string;
  version: number;
  fields: RecordFields;
}

/**
 * What a claim for an encounter is based on. Anything that the encounter does not name, or that was erased, is
 * undefined.
 */
export interface BillingFacts {
  encounter: BilledRecord;
  /** The patient it names, or the one into whom that patient was merged. */
  patient?: BilledRecord | undefined;
  /** The patients in the chain of merges from the one it names to `patient`, or in a circle. */
  merged?: readonly BilledRecord[] | undefined;
  /** The billing provider. */
  provider?: BilledRecord | undefined;
  /** The provider who gave the care: often the same. */
  renderingProvider?: BilledRecord | undefined;
  facility?: BilledRecord | undefined;
  /** The payer of the patient's primary insurance. */
  payer?: BilledRecord | undefined;
  /** The categories of the encounter's documents; undefined where they were not looked up, as none is required. */
  documents?: ReadonlySet<DocumentCategory> | undefined;
  /** The other encounters of its visit, in the order of creation; undefined where they were not looked up. */
  sameVisit?: readonly BilledRecord[] | undefined;
  /** What was last billed for the encounter, or acknowledged since. Undefined where it was not billed. */
  billed?: readonly BilledVersion[] | undefined;
  /**
   * When it was first billed to each payer, in milliseconds since 1970, by the payers' ids. Undefined where it was
   * not, or was not looked up, as no filing limit applies.
   */
  firstBilled?: FirstBilled | undefined;
}

export type FirstBilled = ReadonlyMap<string, number>;

/** A version on which a claim that was sent is based. */
export interface BilledVersion extends UsedVersion {
  /** The fields at that time; undefined where that version was erased. */
  fields: RecordFields | undefined;
}

/** One thing that is wrong, in a field of a record. */
export interface Fault {
  record: BilledRecord;
  /** Dotted when nested. */
  field: string;
  /** A sentence without any value of a record. */
  text: string;
  /** The version of the record that was billed, where the fault is to differ from it. */
  billedVersion?: number;
  /** The moment at which it begins by itself, in milliseconds since 1970; default: at once. */
  from?: number;
  /** The moment at which it ends by itself; default: never. */
  until?: number;
}

/** A billing rule. */
export interface Rule {
  /** Its name everywhere: lower-case words with underscores. */
  code: string;
  severity: Severity;
  /** What it demands: a sentence without its full stop. */
  title: string;
  /** Where the demand comes from. */
  source: string;
  /** The fields that it looks at, each as `kind.field`. */
  reads: readonly string[];
  /** It compares the encounter with others: what the encounter says is not sufficient. */
  comparesEncounters?: true;
  /** It also applies to a void encounter: in one, nothing else is found. */
  holdsForVoid?: true;
  /** Returns what is wrong: a pure function of the facts, and of the workspace's settings. */
  check(facts: BillingFacts, settings: RuleSettings): Fault[];
}
