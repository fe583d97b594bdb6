import { csvLine } from '../../platform/csv.ts';
import { unavailable } from '../../platform/errors.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { decodeToken, encodeToken, type Page, type PageRequest } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { dayOf, type Owner, type RuleSettings, type Severity } from './rules/rule.ts';
import {
  lookThrough,
  MOST_COUNTED,
  readProgress,
  requireSelectedRecords,
  type WorklistProgress,
} from './worklist.ts';
import type { WorklistSelection, WorklistStep } from './worklistFanOut.ts';
import { isBlocking, ownerOfFinding, type WorklistEntry, type WorklistFinding } from './worklistModel.ts';

/** By what findings of one rule are grouped: by the record at fault, or by a reference of the encounter. */
export const causeGroupings = ['record', 'payer', 'facility', 'provider'] as const;
export type CauseGrouping = (typeof causeGroupings)[number];

/** Findings of one rule with one record in common, and the encounters that have them. */
export interface Cause {
  rule: string;
  /** Of the most severe of the findings. */
  severity: Severity;
  owner: Owner;
  /** The record at fault, or the payer, facility or provider of the encounters; undefined for those that have none. */
  record: { kind: string; id: string } | undefined;
  encounters: number;
  /** How many of them are blocked, and this is one of the reasons. */
  blocked: number;
  /** The earliest day of service of the encounters, such as `2026-03-14`, as it was sent; undefined where none has one. */
  oldestDay: string | undefined;
  /** The first of the days until which their payers take a claim, where limits apply. */
  filing: WorklistEntry['filing'];
  /** The first of the encounters in the order of creation, at most five. */
  encounterIds: string[];
}

export interface Causes {
  /** By how many encounters are blocked, then by how many have the finding, then by the first deadline. */
  causes: Cause[];
  /** Encounters with at least one of the findings. */
  encounters: number;
  /** Whether every encounter of the selection was looked at, rather than only the first ones. */
  isWhole: boolean;
}

const MOST_EXAMPLES = 5;
/**
 * Resolves with what is in the way of the encounters of a selection, grouped by rule and record; of a selection with a rule or an
 * owner only their findings. At most `most` encounters are looked at, each also by `look`. It does not wait for the worklist. Rejects with
 * `unavailable`.
 */
export async function findCauses(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  grouping: CauseGrouping,
  most = Number.POSITIVE_INFINITY,
  look?: (step: WorklistStep) => void,
): Promise<Causes> {
  const groups = new Map<string, Cause>();
  let encounters = 0;
  const isWhole = await lookThrough(readModels, workspace, selection, most, (step) => {
    const { entry, isWanted } = step;
    look?.(step);
    const findings = isWanted ? entry.findings.filter((finding) => isOf(finding, selection)) : [];
    if (findings.length > 0) encounters += 1;
    count(groups, entry, findings, grouping);
  });
  return { causes: [...groups.values()].sort(byUrgency), encounters, isWhole };
}

function isOf(finding: WorklistFinding, { rule, owner }: WorklistSelection): boolean {
  return (
    (rule === undefined || finding.rule === rule) &&
    (owner === undefined || ownerOfFinding(finding) === owner)
  );
}

/** Adds an encounter to its groups: once to each, however many of a group's findings it has. */
function count(
  groups: Map<string, Cause>,
  entry: WorklistEntry,
  findings: readonly WorklistFinding[],
  grouping: CauseGrouping,
): void {
  const { encounter_id: id, state, date_of_service, filing } = entry;
  const day = date_of_service && dayOf(date_of_service);
  const byGroup = Map.groupBy(findings, (finding) => {
    const record = recordOf(entry, finding, grouping);
    return `${finding.rule} ${ownerOfFinding(finding)} ${record?.kind} ${record?.id}`;
  });
  for (const [key, own] of byGroup) {
    const [first] = own as [WorklistFinding];
    const cause = groups.get(key) ?? {
      ...{ rule: first.rule, severity: 'warns', owner: ownerOfFinding(first) },
      record: recordOf(entry, first, grouping),
      ...{ encounters: 0, blocked: 0, oldestDay: undefined, filing: undefined, encounterIds: [] },
    };
    groups.set(key, cause);
    if (own.some(({ severity }) => severity === 'blocks')) cause.severity = 'blocks';
    cause.encounters += 1;
    if (state === 'blocked' && own.some(isBlocking)) cause.blocked += 1;
    if (day !== undefined && !(cause.oldestDay !== undefined && cause.oldestDay <= day))
      cause.oldestDay = day;
    if (filing !== undefined && lastDayOf(filing) < lastDayOf(cause.filing)) cause.filing = filing;
    if (cause.encounterIds.length < MOST_EXAMPLES) cause.encounterIds.push(id);
  }
}

function recordOf(
  { payer_id: payer, facility_id: facility, provider_id: provider }: WorklistEntry,
  { kind, id }: WorklistFinding,
  grouping: CauseGrouping,
): Cause['record'] {
  if (grouping === 'record') return { kind, id };
  const named = { payer, facility, provider }[grouping];
  return named === undefined ? undefined : { kind: grouping, id: named };
}

function byUrgency(one: Cause, other: Cause): number {
  return (
    other.blocked - one.blocked ||
    other.encounters - one.encounters ||
    (urgencyOf(one) < urgencyOf(other) ? -1 : 1)
  );
}

/** Returns the last day for filing; what comes after all days where there is none. */
function lastDayOf(filing: WorklistEntry['filing']): string {
  return filing?.last_day ?? 'none';
}

function urgencyOf({ filing, rule, record }: Cause): string {
  return JSON.stringify([lastDayOf(filing), rule, record?.kind, record?.id]);
}

export interface CausesPage extends Page<Cause>, Pick<Causes, 'encounters' | 'isWhole'> {
  progress: WorklistProgress;
  /** The day that it is in the workspace, such as `2026-03-14`. */
  today: string;
  settings: RuleSettings;
}

/**
 * Resolves with a page of what `findCauses` finds; it waits for the worklist as `readWorklist` does. Each page is counted again. Rejects
 * with `unavailable`, and with `validation_failed` for a token of another list and as `requireSelectedRecords` does.
 */
export async function readCauses(
  { eventLog, readModels }: QueryPorts,
  workspace: string,
  selection: WorklistSelection,
  grouping: CauseGrouping,
  { limit, pageToken }: PageRequest,
): Promise<CausesPage> {
  const scope = ['causes', workspace, selection, grouping];
  const from = pageToken === undefined ? 0 : decodeToken(pageToken, scope);
  await requireSelectedRecords(eventLog, workspace, selection);
  const { today, settings, ...progress } = await readProgress({ eventLog, readModels }, workspace);
  const { causes, ...rest } = await findCauses(readModels, workspace, selection, grouping, MOST_COUNTED);
  const next = from + limit;
  return {
    ...rest,
    items: causes.slice(from, next),
    next_page_token: next < causes.length ? encodeToken(next, scope) : null,
    progress,
    ...{ today, settings },
  };
}

/**
 * Resolves with everything that `findCauses` finds, for a file. Rejects as `readCauses` does, and with `unavailable` where the worklist
 * is not current: a file would not reveal that later.
 */
export async function readAllCauses(
  { eventLog, readModels }: QueryPorts,
  workspace: string,
  selection: WorklistSelection,
  grouping: CauseGrouping,
): Promise<Causes> {
  await requireSelectedRecords(eventLog, workspace, selection);
  const { isCurrent } = await readProgress({ eventLog, readModels }, workspace);
  if (!isCurrent) throw unavailable('list');
  return findCauses(readModels, workspace, selection, grouping);
}

/** The columns of the file of causes. */
export const causeColumns = [
  ...['rule', 'severity', 'owner', 'record_kind', 'record_id', 'encounters', 'blocked'],
  ...['oldest_day', 'filing_last_day', 'example_encounter_id'],
];

/** Returns a cause as a line of its file. */
export function causeLine({ rule, severity, owner, record, ...cause }: Cause): string {
  const { encounters, blocked, oldestDay, filing, encounterIds } = cause;
  return csvLine([
    ...[
      rule,
      severity,
      owner,
      record?.kind,
      record?.id,
      encounters,
      blocked,
      oldestDay,
      filing?.last_day,
      encounterIds[0],
    ],
  ]);
}
