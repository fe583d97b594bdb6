import type { Principal } from '../../domain/events/eventMetadata.ts';
import type { Step } from './BillingHistory.ts';
import { type CausedFinding, ReadinessReplay } from './ReadinessReplay.ts';
import { changedAfterBilling } from './rules/changedAfterBilling.ts';
import { recordKey } from './rules/factsOf.ts';
import type { BilledRecord, BillingFacts, Severity } from './rules/rule.ts';
import type { RuleSettings } from './rules/ruleSettings.ts';

/** What is wrong in a field since a write of its record, for as long as a completed encounter had it. */
export interface Defect {
  /** The same in every encounter that depends on the record. */
  key: string;
  /** Who wrote it that way: not who made the encounter refer to it. */
  principal: Principal;
  rule: string;
  severity: Severity;
  /** Of the record at fault. */
  kind: string;
  id: string;
  /** Dotted when nested. */
  field: string;
  /** When it began, in milliseconds since 1970. */
  from: number;
  /** When it ended; left out while it stands. */
  until?: number;
}

/**
 * Returns the defects that an encounter had up to a moment, given its versions and those of everything on which it
 * depended, in the order of the log.
 */
export function defectsOf(encounterId: string, steps: readonly Step[], at: number): Defect[] {
  const replay = new ReadinessReplay(encounterId);
  const all: Defect[] = [];
  let standing = new Map<string, Defect>();
  const versions = new Map<string, Step[]>();
  for (const step of steps) {
    replay.take(step);
    const own = recordKey(step.kind, step.id);
    const ownSteps = versions.get(own) ?? [];
    versions.set(own, ownSteps);
    ownSteps.push(step);
    const moment = Date.parse(step.event.recordedAt);
    const { facts, settings } = replay;
    const now = new Map<string, Defect>();
    const findings = facts?.encounter.fields.is_completed === true ? replay.findings : [];
    for (const finding of findings) {
      // Fixing something after it was billed is not a defect.
      if (finding.rule === changedAfterBilling) continue;
      const key = keyOf(finding);
      const known = standing.get(key);
      const defect =
        known ?? defectOf(finding, authorOf(finding, facts as BillingFacts, settings, versions), moment);
      if (known === undefined) all.push(defect);
      now.set(key, defect);
      standing.delete(key);
    }
    for (const gone of standing.values()) gone.until = Math.min(gone.until ?? moment, moment);
    standing = now;
  }
  return all
    .filter(({ from, until = Number.POSITIVE_INFINITY }) => from <= at && from < until)
    .map(({ until, ...defect }) => ({ ...defect, ...(until !== undefined && until <= at && { until }) }));
}

function defectOf(
  { rule, severity, record: { kind, id }, field, from = 0, until }: CausedFinding,
  { event }: Step,
  moment: number,
): Defect {
  return {
    key: JSON.stringify([event.id, rule.code, kind, id, field, from, until]),
    principal: event.metadata.principal,
    ...{ rule: rule.code, severity, kind, id, field, from: Math.max(from, moment) },
    ...(until !== undefined && { until }),
  };
}

/** Returns a key by which a finding is recognized after the next step. */
function keyOf({ rule, record, field, from, until, cause }: CausedFinding): string {
  return JSON.stringify([cause.event.id, rule.code, record.kind, record.id, field, from, until]);
}

/** Returns the version of the record at fault since which it has been so, whatever the rest was then. */
function authorOf(
  { rule, record, field, cause }: CausedFinding,
  facts: BillingFacts,
  settings: RuleSettings,
  versions: ReadonlyMap<string, Step[]>,
): Step {
  const own = versions.get(recordKey(record.kind, record.id)) ?? [];
  const isRight = ({ record: then }: Step) =>
    then === undefined ||
    !rule
      .check(withRecord(facts, record, then), settings)
      .some((fault) => fault.record === then && fault.field === field);
  return own[own.findLastIndex(isRight) + 1] ?? cause;
}

/** Returns the facts with a record as it once was. */
function withRecord(facts: BillingFacts, record: BilledRecord, then: BilledRecord): BillingFacts {
  const asThen = (one: unknown) => (one === record ? then : one);
  const parts = Object.entries(facts).map(([part, one]) => [
    part,
    Array.isArray(one) ? one.map(asThen) : asThen(one),
  ]);
  return Object.fromEntries(parts) as unknown as BillingFacts;
}
