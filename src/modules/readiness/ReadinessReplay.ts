import type { DocumentCategory } from '../../domain/records/document.ts';
import type { Step } from './BillingHistory.ts';
import { type Billing, versionsOf } from './billing.ts';
import { factsOf, recordKey } from './rules/factsOf.ts';
import { type Finding, findingsOf } from './rules/findings.ts';
import type { BilledRecord, BilledVersion, BillingFacts } from './rules/rule.ts';
import { noSettings, type RuleSettings } from './rules/ruleSettings.ts';
import { sameVisitOf } from './rules/sameVisitOf.ts';

/** A finding, and what caused it. */
export interface CausedFinding extends Finding {
  /** The write from which it has followed without interruption. */
  cause: Step;
  /** Since when it has stood, in ISO 8601: the moment of that write, or a later one at which it began by itself. */
  since: string;
}

/**
 * What the rules find in an encounter after each of the versions on which it depends, taken in the order of the log.
 */
export class ReadinessReplay {
  readonly #encounterId: string;
  readonly #records = new Map<string, BilledRecord | undefined>();
  /** The steps of records, each by its version. */
  readonly #versions = new Map<string, Step>();
  /** Categories of documents by their ids; undefined once removed. */
  readonly #documents = new Map<string, DocumentCategory | undefined>();
  #settings = noSettings;
  #facts: BillingFacts | undefined;
  #billing: Billing | undefined;
  #known = new Map<string, CausedFinding>();

  constructor(encounterId: string) {
    this.#encounterId = encounterId;
  }

  /** Undefined where the encounter does not exist, or was erased. */
  get facts(): BillingFacts | undefined {
    return this.#facts;
  }

  get settings(): RuleSettings {
    return this.#settings;
  }

  get billing(): Billing | undefined {
    return this.#billing;
  }

  /** Including those that will begin or end by themselves some day. */
  get findings(): CausedFinding[] {
    return [...this.#known.values()];
  }

  take(step: Step): void {
    if (step.settings) this.#settings = { ...this.#settings, ...step.settings };
    else if (step.document) this.#documents.set(step.id, step.document.category);
    else if (step.billing) this.#billing = step.billing;
    else this.#takeRecord(step);
    const facts = factsOf(this.#records, this.#encounterId);
    const documents = new Set([...this.#documents.values()].filter((one) => one !== undefined));
    const { firstBilled } = this.#billing ?? {};
    this.#facts = facts && {
      ...facts,
      documents,
      sameVisit: sameVisitOf(facts.encounter, [...this.#records.values()]),
      billed: this.#billedVersions(),
      firstBilled,
    };
    const found = this.#facts === undefined ? [] : findingsOf(this.#facts, this.#settings);
    this.#known = new Map(
      found.map((finding) => {
        const key = keyOf(finding);
        const cause = this.#known.get(key)?.cause ?? this.#causeOf(finding, step);
        return [key, { ...finding, cause, since: sinceOf(finding, cause) }];
      }),
    );
  }

  #takeRecord(step: Step): void {
    const { kind, id, version, record } = step;
    this.#records.set(recordKey(kind, id), record);
    this.#versions.set(versionKey(kind, id, version), step);
    // What was billed is erased along with it.
    if (kind === 'encounter' && id === this.#encounterId && record === undefined) this.#billing = undefined;
  }

  #billedVersions(): BilledVersion[] | undefined {
    if (this.#billing === undefined) return undefined;
    return versionsOf(this.#billing).map((used) => {
      const step = this.#versions.get(versionKey(used.kind, used.id, used.version));
      return { ...used, fields: step?.record?.fields };
    });
  }

  /** Billing changes no record: where it came too late for a change, the change is the cause. */
  #causeOf({ record: { kind, id, version } }: Finding, step: Step): Step {
    return step.billing === undefined ? step : (this.#versions.get(versionKey(kind, id, version)) ?? step);
  }
}

function versionKey(kind: string, id: string, version: number): string {
  return `${version}-${recordKey(kind, id)}`;
}

/** Returns a key by which a finding is recognized in every version. */
function keyOf({ rule, record, field, from, until }: Finding): string {
  return JSON.stringify([rule.code, record.kind, record.id, field, from, until]);
}

function sinceOf({ from = -Infinity }: Finding, { event }: Step): string {
  return from > Date.parse(event.recordedAt) ? new Date(from).toISOString() : event.recordedAt;
}
