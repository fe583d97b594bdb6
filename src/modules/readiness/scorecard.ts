import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Principal } from '../../domain/events/event.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { principalSchema } from '../jobs.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { totalOf } from './counts.ts';
import { RejectionCounts, rejectionsSchema } from './rejections.ts';
import {
  BillingHistory,
  type CachedSteps,
  type CausedFinding,
  ReadinessReplay,
  type Step,
} from './replay.ts';
import { changedAfterBilling } from './rules/encounter.ts';
import { recordKey } from './rules/facts.ts';
import type { BilledRecord, BillingFacts, RuleSettings, Severity } from './rules/rule.ts';
import { readCounts } from './worklistFanOut.ts';
import { entryOf, isWithin, type ServiceDays, worklistModel, worklistPartition } from './worklistModel.ts';

/** The counts for one principal and field. */
interface Counts {
  principal: Principal;
  kind: string;
  field: string;
  rules: Set<string>;
  defects: number;
  /** For those that were fixed, how long that took, in milliseconds. */
  mended: number[];
  delayed: number;
}

/** A defect of a record on which several encounters may depend. */
interface Shared {
  counts: Counts;
  from: number;
  /** Undefined where an encounter still has it. */
  until: number | undefined;
}

/** Counts the defects of encounters, each once, however many encounters have it. */
class DefectCounts {
  readonly #counts = new Map<string, Counts>();
  readonly #shared = new Map<string, Shared>();

  /** Counts the defects of one encounter. */
  add(encounterId: string, defects: readonly Defect[]): void {
    const delayedBy = new Set<Counts>();
    for (const defect of defects) {
      const counts = this.#countsOf(defect);
      counts.rules.add(defect.rule);
      if (defect.severity === 'blocks') delayedBy.add(counts);
      const { key, from, until } = defect;
      if (defect.kind === 'encounter' && defect.id === encounterId) count(counts, from, until);
      else this.#share(key, { counts, from, until });
    }
    for (const counts of delayedBy) counts.delayed += 1;
  }

  /** Returns the rows, sorted by how many encounters were delayed, most first. */
  rows(): ScorecardRow[] {
    for (const { counts, from, until } of this.#shared.values()) count(counts, from, until);
    this.#shared.clear();
    return [...this.#counts.values()]
      .map(({ principal, kind, field, rules, defects, mended, delayed }) => ({
        ...{ principal, kind, field, rules: [...rules].sort(), defects, open: defects - mended.length },
        median_ms: median(mended),
        encounters_delayed: delayed,
      }))
      .sort((a, b) => b.encounters_delayed - a.encounters_delayed || b.defects - a.defects);
  }

  #countsOf({ principal: { type, id }, kind, field }: Defect): Counts {
    const key = JSON.stringify([type, id, kind, field]);
    const counts = this.#counts.get(key) ?? {
      ...{ principal: { type, id }, kind, field, rules: new Set<string>() },
      ...{ defects: 0, mended: [], delayed: 0 },
    };
    this.#counts.set(key, counts);
    return counts;
  }

  #share(key: string, { counts, from, until }: Shared): void {
    const known = this.#shared.get(key);
    if (known === undefined) {
      this.#shared.set(key, { counts, from, until });
      return;
    }
    known.from = Math.min(known.from, from);
    known.until = known.until === undefined || until === undefined ? undefined : Math.max(known.until, until);
  }
}

function count(counts: Counts, from: number, until: number | undefined): void {
  counts.defects += 1;
  if (until !== undefined) counts.mended.push(until - from);
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

/** What is wrong in a field since a write of its record, for as long as a completed encounter had it. */
interface Defect {
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
function defectsOf(encounterId: string, steps: readonly Step[], at: number): Defect[] {
  const replay = new ReadinessReplay(encounterId);
  const all: Defect[] = [];
  let standing = new Map<string, Defect>();
  const versions = new Map<string, Step[]>();
  for (const step of steps) {
    replay.apply(step);
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

/** Encounters read at once. */
const AT_ONCE = 100;
/** Records on which encounters depend whose versions are remembered. */
const MOST_REMEMBERED = 10_000;

/** Its progress; with the scorecard at the end. */
export interface ScorecardProgress {
  encounters: number;
  /** Approximately how many there are to look at. */
  total: number;
  scorecard?: Scorecard;
}

/**
 * Yields who introduced what kept encounters from being billed: from the log alone, over the whole history of the
 * encounters with a day of service within a range of days. Rejects with `unavailable`.
 */
export async function* makeScorecard(
  ports: QueryPorts,
  workspace: string,
  days: ServiceDays,
): AsyncGenerator<ScorecardProgress> {
  const at = Date.now();
  const remembered = new LRUCache<string, Promise<Step[]>>({ max: MOST_REMEMBERED });
  const counts = new DefectCounts();
  const rejections = new RejectionCounts();
  const tally = await readCounts(ports.readModels, workspace, days);
  const total = tally ? totalOf(tally) : 0;
  const partition = worklistPartition(workspace);
  let [after, encounters, unreadable] = [-1, 0, 0];
  for (;;) {
    const rows = await ports.readModels.page(worklistModel, { partition, after, limit: AT_ONCE });
    const ids = rows.flatMap((row) => {
      const entry = entryOf(row);
      return entry && isWithin(entry, days) ? [entry.encounter_id] : [];
    });
    const histories = await Promise.all(ids.map((id) => stepsOf(ports, workspace, id, at, remembered)));
    for (const [index, steps] of histories.entries()) {
      const id = ids[index] as string;
      encounters += 1;
      if (steps === undefined) {
        unreadable += 1;
        continue;
      }
      counts.add(id, defectsOf(id, steps, at));
      rejections.add(id, steps);
    }
    if (rows.length < AT_ONCE) break;
    after = rows.at(-1)?.order ?? after;
    yield { encounters, total };
  }
  const scorecard = { encounters, unreadable, rows: counts.rows(), rejections: rejections.rows() };
  yield { encounters, total, scorecard };
}

/** Undefined where they cannot be read. */
async function stepsOf(
  ports: QueryPorts,
  workspace: string,
  id: string,
  at: number,
  remembered: CachedSteps,
): Promise<Step[] | undefined> {
  try {
    const history = new BillingHistory(ports, workspace, at, remembered);
    return await history.steps(id, { isPresent: false });
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}

const rowSchema = z.object({
  /** Whose writes introduced the defects. */
  principal: principalSchema,
  /** Kind of the records at fault, and the field at fault in them. */
  kind: z.string(),
  field: z.string(),
  /** Codes of the rules that found them. */
  rules: z.array(z.string()),
  /** Each counts once, however many encounters have it. */
  defects: z.int(),
  /** How many of them still stand. */
  open: z.int(),
  /**
   * The median time until the fixed ones were fixed, in milliseconds: half of them took longer; null where none has
   * been fixed.
   */
  median_ms: z.number().nullable(),
  /** Completed encounters that one of them kept from being billed. */
  encounters_delayed: z.int(),
});
export type ScorecardRow = z.infer<typeof rowSchema>;

/** Who introduced which defects, by field. */
export const scorecardSchema = z.object({
  /** Encounters that were looked at. */
  encounters: z.int(),
  /** Those of them that cannot be read. */
  unreadable: z.int(),
  rows: z.array(rowSchema),
  /** Claims that were refused, by the codes of the refusals; none in a scorecard of an earlier version of the service. */
  rejections: rejectionsSchema.default([]),
});
export type Scorecard = z.infer<typeof scorecardSchema>;

const HOUR_MS = 3_600_000;

/** The columns of its file. */
export const scorecardColumns = [
  'principal_type',
  'principal_id',
  'principal_name',
  'record_kind',
  'field',
  'rules',
  'defects',
  'open',
  'median_hours_until_mended',
  'encounters_delayed',
] as const;

/** Returns a row as a line of a file; `name` is that of its principal. */
export function scorecardLine(
  { principal, kind, field, rules, defects, open, median_ms, encounters_delayed }: ScorecardRow,
  name: string | undefined,
) {
  return {
    principal_type: principal.type,
    principal_id: principal.id,
    principal_name: name,
    record_kind: kind,
    ...{ field, rules: rules.join(' '), defects, open, encounters_delayed },
    // To one decimal place.
    median_hours_until_mended: median_ms === null ? undefined : Math.round((median_ms / HOUR_MS) * 10) / 10,
  };
}
