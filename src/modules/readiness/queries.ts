import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Position } from '../../domain/events/event.ts';
import { isRestoring } from '../../domain/events/payloads.ts';
import type { ReadinessState, UsedVersion } from '../../domain/events/readinessEvents.ts';
import { dayAt } from '../../domain/records/schema/timeZones.ts';
import { gone, notFound, ServiceError } from '../../platform/errors.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import type { Billing } from './billing.ts';
import {
  BillingHistory,
  type CachedSteps,
  type CausedFinding,
  ReadinessReplay,
  type Step,
} from './replay.ts';
import { repairsIn, usedVersions } from './rules/facts.ts';
import { type Filing, filingOf } from './rules/filing.ts';
import { appliesAt, readinessState } from './rules/index.ts';
import { type BilledRecord, type BillingFacts, isVoid, type RuleSettings } from './rules/rule.ts';

/** Steps between which other requests are served. */
const STEPS_AT_ONCE = 100;

export interface Readiness {
  encounter: BilledRecord;
  facts: BillingFacts;
  settings: RuleSettings;
  /** The versions on which a claim is based now. */
  used: UsedVersion[];
  /** Until when the payer takes a claim; undefined as for `filingOf`. */
  filing: Filing | undefined;
  /** The day that it is then in the workspace. */
  today: string;
  /** What was last billed for it. */
  billing: Billing | undefined;
  /** Of the encounter's first version, since its last erasure where there was one. */
  begunAt: Position;
  state: ReadinessState;
  /** The moment at which this is true, in milliseconds since 1970. */
  at: number;
  /** Blocking findings come first. */
  findings: CausedFinding[];
  /** The values that a claim carries in another form than they were sent. */
  repairs: ReturnType<typeof repairsIn>;
}

/**
 * Resolves with whether an encounter can be billed now, or as of a moment (milliseconds since 1970) by what was
 * recorded up to then: what is in the way, since when, and because of which event. From the log alone. `remembered`: what was read
 * for other encounters of the workspace as of the same moment. Rejects with `not_found`, `gone`, `unreadable` and `unavailable`.
 */
export async function readReadiness(
  ports: QueryPorts,
  workspace: string,
  encounterId: string,
  asOf: number | undefined,
  remembered?: CachedSteps,
): Promise<Readiness> {
  const at = asOf ?? Date.now();
  const until = asOf ?? Number.POSITIVE_INFINITY;
  const steps = await new BillingHistory(ports, workspace, until, remembered).steps(encounterId);
  const replay = new ReadinessReplay(encounterId);
  for (const [index, step] of steps.entries()) {
    replay.apply(step);
    if (index % STEPS_AT_ONCE === STEPS_AT_ONCE - 1) await nextTurn();
  }
  const { facts, billing } = replay;
  const ownSteps = steps.filter(({ kind, id }) => kind === 'encounter' && id === encounterId);
  if (facts === undefined) throw nothing(ownSteps, asOf);
  const findings = replay.findings.filter((finding) => appliesAt(finding, at));
  return {
    encounter: facts.encounter,
    facts,
    settings: replay.settings,
    used: usedVersions(facts),
    filing: filingOf(facts, replay.settings),
    today: dayAt(at, replay.settings.timeZone),
    billing,
    repairs: isVoid(facts.encounter) ? [] : repairsIn(facts),
    begunAt: begunAt(ownSteps),
    at,
    state: readinessState(facts, findings, at),
    findings: findings.toSorted((a, b) => Number(a.severity === 'warns') - Number(b.severity === 'warns')),
  };
}

/** Returns where an encounter's own steps begin: behind its last erasure, unless a legal hold restored it. */
function begunAt(own: readonly Step[]): Position {
  // An erasure has the id of the request that asked for it.
  const isErased = ({ event: { metadata }, record }: Step, index: number) =>
    record === undefined &&
    !own.slice(index + 1).some(({ event }) => isRestoring(event, String(metadata.requestId)));
  const erased = own.findLastIndex(isErased);
  return (own[erased + 1] as Step).event.position;
}

function nothing(own: readonly Step[], asOf: number | undefined): ServiceError {
  const last = own.at(-1);
  if (last) return gone('Encounter', last.event.recordedAt);
  if (asOf !== undefined) return new ServiceError('not_found', 'The encounter did not exist at that time.');
  return notFound('Encounter');
}
