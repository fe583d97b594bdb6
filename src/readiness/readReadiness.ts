import { setImmediate as nextTurn } from 'node:timers/promises';
import { gone, notFound, ServiceError } from '../errors.ts';
import type { QueryPorts } from '../reads/readRecord.ts';
import type { DocumentCategory } from '../records/document.ts';
import { BillingHistory, type Step } from './BillingHistory.ts';
import { factsOf, recordKey } from './factsOf.ts';
import { type Finding, findingsOf, type ReadinessState, readinessState, standsAt } from './findings.ts';
import type { BilledRecord } from './rule.ts';
import { noSettings } from './ruleSettings.ts';

/** Steps between which other requests are served. */
const STEPS_AT_ONCE = 100;

/** A finding, and what brought it about. */
export interface CausedFinding extends Finding {
  /** The write from which it follows without a break. */
  cause: Step;
  /** Since when it stands, in ISO 8601: the moment of that write, or a later one at which it began by itself. */
  since: string;
}

export interface Readiness {
  encounter: BilledRecord;
  state: ReadinessState;
  /** The moment of which this is true, in milliseconds since 1970. */
  at: number;
  /** What blocks comes first. */
  findings: CausedFinding[];
}

/**
 * Whether an encounter can be billed now, or as of a moment (milliseconds since 1970) by what was recorded up to then: what is
 * in the way, since when, and by which event. By the log alone. Rejects with `not_found`, `gone`, `unreadable` and `unavailable`.
 */
export async function readReadiness(
  ports: QueryPorts,
  workspace: string,
  encounterId: string,
  asOf: number | undefined,
): Promise<Readiness> {
  const at = asOf ?? Date.now();
  const steps = await new BillingHistory(ports, workspace, asOf ?? Number.POSITIVE_INFINITY).steps(
    encounterId,
  );
  const records = new Map<string, BilledRecord | undefined>();
  const documents = new Map<string, DocumentCategory | undefined>();
  const factsAt = () => {
    const facts = factsOf(records, encounterId);
    return (
      facts && { ...facts, documents: new Set([...documents.values()].filter((one) => one !== undefined)) }
    );
  };
  let known = new Map<string, CausedFinding>();
  let settings = noSettings;
  for (const [index, step] of steps.entries()) {
    if (step.settings) settings = { ...settings, ...step.settings };
    else if (step.document) documents.set(step.id, step.document.category);
    else records.set(recordKey(step.kind, step.id), step.record);
    const facts = factsAt();
    const found = facts === undefined ? [] : findingsOf(facts, settings);
    known = new Map(
      found.map((finding) => {
        const key = keyOf(finding);
        const cause = known.get(key)?.cause ?? step;
        return [key, { ...finding, cause, since: sinceOf(finding, cause) }];
      }),
    );
    if (index % STEPS_AT_ONCE === STEPS_AT_ONCE - 1) await nextTurn();
  }
  const facts = factsAt();
  if (facts === undefined) throw nothing(steps, asOf);
  const findings = [...known.values()].filter((finding) => standsAt(finding, at));
  return {
    encounter: facts.encounter,
    at,
    state: readinessState(facts, findings),
    findings: findings.toSorted((a, b) => Number(a.severity === 'warns') - Number(b.severity === 'warns')),
  };
}

/** By this a finding is the same in every version. */
function keyOf({ rule, record, field, from, until }: Finding): string {
  return JSON.stringify([rule.code, record.kind, record.id, field, from, until]);
}

function sinceOf({ from = -Infinity }: Finding, { event }: Step): string {
  return from > Date.parse(event.recordedAt) ? new Date(from).toISOString() : event.recordedAt;
}

function nothing(steps: Step[], asOf: number | undefined): ServiceError {
  const last = steps.findLast(({ kind }) => kind === 'encounter');
  if (last) return gone('Encounter', last.event.recordedAt);
  if (asOf !== undefined) return new ServiceError('not_found', 'There was no such encounter at that time.');
  return notFound('Encounter');
}
