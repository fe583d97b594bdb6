import type { UsedVersion } from '../events/encounterReadiness.ts';
import type { RecordFields } from '../records/catalog.ts';
import type { DocumentCategory } from '../records/document.ts';
import type { RuleSettings } from './ruleSettings.ts';

/** `blocks`: the payer would refuse the claim. `warns`: it may. */
export const severities = ['blocks', 'warns'] as const;
export type Severity = (typeof severities)[number];

/** A record that a claim rests on, as callers see it in that version. */
export interface BilledRecord {
  kind: string;
  id: string;
  version: number;
  fields: RecordFields;
}

/** What a claim for an encounter rests on. What is not named by the encounter, or was erased, is undefined. */
export interface BillingFacts {
  encounter: BilledRecord;
  /** The one whom it names, or into whom that one was merged. */
  patient?: BilledRecord | undefined;
  /** The patients of merges that lead from the one whom it names to `patient`, or in a circle. */
  merged?: readonly BilledRecord[] | undefined;
  /** Who bills. */
  provider?: BilledRecord | undefined;
  /** Who gave the care: often the same. */
  renderingProvider?: BilledRecord | undefined;
  facility?: BilledRecord | undefined;
  /** The payer of the patient's primary insurance. */
  payer?: BilledRecord | undefined;
  /** The categories of the encounter's documents; undefined where nobody looked, as none is required. */
  documents?: ReadonlySet<DocumentCategory> | undefined;
  /** The other encounters of its visit, in the order of creation; undefined where nobody looked. */
  sameVisit?: readonly BilledRecord[] | undefined;
  /** What was billed of the encounter last, or acknowledged since. Undefined where it was not. */
  billed?: readonly BilledVersion[] | undefined;
  /**
   * When it was first billed to each payer, in milliseconds since 1970, by the payers' ids. Undefined where it was not, or nobody looked, as
   * no filing limit holds.
   */
  firstBilled?: FirstBilled | undefined;
}

export type FirstBilled = ReadonlyMap<string, number>;

/** A version on which a claim that was sent rests. */
export interface BilledVersion extends UsedVersion {
  /** As they were then; undefined where that version was erased. */
  fields: RecordFields | undefined;
}

/** One thing that is wrong, in a field of a record. */
export interface Fault {
  record: BilledRecord;
  /** Dotted when nested. */
  field: string;
  /** A sentence without any value of a record. */
  text: string;
  /** The version of the record that was billed, where it is wrong to differ from that. */
  billedVersion?: number;
  /** The moment at which it begins by itself, in milliseconds since 1970; default: at once. */
  from?: number;
  /** The moment at which it ends by itself; default: never. */
  until?: number;
}

/** A rule of billing. */
export interface Rule {
  /** Its name everywhere: lower-case words with underscores. */
  code: string;
  severity: Severity;
  /** What it demands: a sentence without its end. */
  title: string;
  /** Where the demand comes from. */
  source: string;
  /** The fields that it looks at, each as `kind.field`. */
  reads: readonly string[];
  /** It holds the encounter against others: what the encounter says does not suffice. */
  comparesEncounters?: true;
  /** It holds for a void encounter, too: in one, nothing else is found. */
  holdsForVoid?: true;
  /** What is wrong: a pure function of the facts, and of what the workspace has set. */
  check(facts: BillingFacts, settings: RuleSettings): Fault[];
}
