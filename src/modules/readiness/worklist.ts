import { setImmediate as nextTurn } from 'node:timers/promises';
import { dataAs } from '../../domain/events/event.ts';
import type { ReadinessCounted } from '../../domain/events/readinessEvents.ts';
import { readinessCountsStream, recordStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { dayAt } from '../../domain/records/schema/timeZones.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { appendBehind, type EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { isOutdated } from '../projections/checkpoints.ts';
import { hopelessMs } from '../records/queries/pace.ts';
import {
  decodeToken,
  encodeToken,
  growingPauses,
  type Page,
  type PageRequest,
  type TokenScope,
} from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { announcement, type Tally, totalOf } from './counts.ts';
import { type RuleSettings, readRuleSettings } from './rules/rule.ts';
import {
  type FanOut,
  fanOutsModel,
  fanOutsPartition,
  readCounts,
  type WorklistSelection,
  type WorklistStep,
  walkWorklist,
} from './worklistFanOut.ts';
import {
  entryOf,
  isBlocking,
  listsResting,
  type WorklistEntry,
  worklistModel,
  worklistPartition,
} from './worklistModel.ts';

/** Maximum number of encounters looked at of those that depend on a record. */
export const MOST_LOOKED_AT = 200;

/** What is blocked by a record itself. */
export interface Blocked {
  /** Encounters. */
  count: number;
  /** Encounters by the codes of the rules. */
  rules: Record<string, number>;
  /** Whether every encounter that depends on the record was looked at, rather than only the first ones. */
  isWhole: boolean;
}

/**
 * Resolves with how many encounters a patient, payer, facility or provider blocks: those with a blocking finding in
 * which it is at fault. It does not wait for the worklist. Rejects with `unavailable`.
 */
export async function readBlocked(
  readModels: ReadModels,
  workspace: string,
  { kind, id }: { kind: string; id: string },
): Promise<Blocked> {
  const partition = worklistPartition(workspace);
  const limit = MOST_LOOKED_AT + 1;
  const pages = await Promise.all(
    listsResting(kind, id, ['blocked']).map((list) =>
      readModels.page(worklistModel, { partition, list, limit }),
    ),
  );
  const blocked: Blocked = { count: 0, rules: {}, isWhole: pages.every((page) => page.length < limit) };
  for (const row of pages.flatMap((page) => page.slice(0, MOST_LOOKED_AT))) {
    const entry = entryOf(row);
    if (entry?.state !== 'blocked') continue;
    const own = entry.findings.filter((one) => isBlocking(one) && one.kind === kind && one.id === id);
    if (own.length > 0) blocked.count += 1;
    for (const code of new Set(own.map(({ rule }) => rule)))
      blocked.rules[code] = (blocked.rules[code] ?? 0) + 1;
  }
  return blocked;
}

const WAIT_MS = 2_000;
/** Encounters looked at for one page: where filters leave few of many, a page ends before it is full. */
const MAX_SCANNED = 2_000;

/** How up to date the worklist is. */
export interface WorklistProgress {
  /** It includes every write acknowledged before the call. */
  isCurrent: boolean;
  /** What changed, and how many of the encounters that depend on it have been evaluated again. */
  underWay: Pick<FanOut, 'kind' | 'id' | 'done' | 'total'>[];
}

export interface Worklist extends Page<WorklistEntry> {
  /** How many encounters there are; undefined where no counts are kept for the selection. */
  counts: Tally | undefined;
  progress: WorklistProgress;
  /** The day that it is in the workspace, such as `2026-03-14`. */
  today: string;
  /** With which it was evaluated. */
  settings: RuleSettings;
}

/**
 * Resolves with a page of the encounters of a workspace with what is in their way, in the order of their creation, by days where
 * only days, and whether they were billed, are asked for, or as `sort` says. It waits up to two seconds for what was acknowledged before the
 * call, but not for the effect of a change on many encounters, and says how up to date it is. A page may have fewer than `limit`, or
 * none, and still have a token. Rejects with
 * `unavailable`, as `readProgress` does, and with `validation_failed` for a token of another list and as
 * `requireSelectedRecords` does.
 */
export async function readWorklist(
  ports: QueryPorts,
  workspace: string,
  selection: WorklistSelection,
  { limit, pageToken }: PageRequest,
): Promise<Worklist> {
  const scope = [worklistModel, workspace, selection];
  const after = pageToken === undefined ? undefined : placeOf(pageToken, scope);
  await requireSelectedRecords(ports.eventLog, workspace, selection);
  const { settings, today, ...progress } = await readProgress(ports, workspace);
  const counts = await readCounts(ports.readModels, workspace, selection);
  const items: WorklistEntry[] = [];
  let scanned = 0;
  let last = '';
  for await (const { entry, isWanted, day, order } of walkWorklist(
    ports.readModels,
    workspace,
    selection,
    after,
  )) {
    if (items.length === limit || scanned === MAX_SCANNED) {
      return { items, counts, progress, today, settings, next_page_token: last };
    }
    scanned += 1;
    last = `${day}.${encodeToken(order, [scope, day])}`;
    if (isWanted) items.push(entry);
  }
  return { items, counts, progress, today, settings, next_page_token: null };
}

function placeOf(token: string, scope: TokenScope): { day: number; order: number } {
  const [, written, rest] = /^(0|[1-9]\d{0,7})\.([\w-]+)$/.exec(token) ?? [];
  const day = Number(written);
  return { day, order: decodeToken(rest ?? '', [scope, day]) };
}

/**
 * Rejects with `validation_failed` when a payer, facility or provider that a selection names never existed: nothing
 * stands in the way of no encounters, which would read as if all were well.
 */
export async function requireSelectedRecords(
  eventLog: EventLog,
  workspace: string,
  { payer, facility, provider }: WorklistSelection,
): Promise<void> {
  const problems = await Promise.all(
    Object.entries({ payer, facility, provider }).map(async ([kind, id]) => {
      if (id === undefined) return [];
      const events = await eventLog.readStream(recordStream(workspace, kind, id), { limit: 1 });
      return events.length > 0
        ? []
        : [{ field: `${kind}_id`, message: `must be the id of an existing ${kind}` }];
    }),
  );
  if (problems.flat().length > 0) throw validationError(problems.flat());
}

/**
 * Resolves with how up to date the worklist is; it waits until the worklist is current, unless that clearly takes longer than a time
 * limit, but not for the effect of a change on many encounters; and with the rule settings of the workspace, and the day that it is there. Rejects with `unavailable`, and with `unreadable` where the rule settings, and so the worklist,
 * cannot be read.
 */
export async function readProgress(
  { eventLog, readModels }: QueryPorts,
  workspace: string,
  waitMs = WAIT_MS,
): Promise<WorklistProgress & Pick<Worklist, 'today' | 'settings'>> {
  const settings = await readRuleSettings(eventLog, workspace);
  const head = await eventLog.head();
  const deadline = performance.now() + waitMs;
  for (const pause = growingPauses(); ; await pause()) {
    const reached = await readModels.checkpoint(worklistModel);
    const isThere = reached >= head && !(await isOutdated(readModels, worklistModel));
    const leftMs = deadline - performance.now();
    const isHopeless = hopelessMs(readModels, worklistModel, reached, head, leftMs) !== undefined;
    if (isThere || leftMs < 0 || isHopeless) {
      const underWay = await underWayIn(readModels, workspace);
      const today = dayAt(Date.now(), settings.timeZone);
      return { settings, today, isCurrent: isThere && underWay.length === 0, underWay };
    }
  }
}

async function underWayIn(readModels: ReadModels, workspace: string): Promise<WorklistProgress['underWay']> {
  const rows = await readModels.page(fanOutsModel, { partition: fanOutsPartition(workspace), limit: 100 });
  return rows.flatMap(({ body }) => {
    if (!('lists' in body)) return [];
    const { kind, id, done, total } = body;
    return [{ kind, id, done, total: Math.max(done, total) }];
  });
}

const AT_ONCE = 200;

/** Encounters of which a page counts at most so many. */
export const MOST_COUNTED = 100_000;

/**
 * Calls `look` with what `walkWorklist` yields, with at most `most` of them; serves other requests in between. Resolves with whether
 * that was all. Rejects with `unavailable`.
 */
export async function lookThrough(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  most: number,
  look: (step: WorklistStep) => void,
): Promise<boolean> {
  let lookedAt = 0;
  for await (const step of walkWorklist(readModels, workspace, selection)) {
    if (lookedAt === most) return false;
    lookedAt += 1;
    if (lookedAt % AT_ONCE === 0) await nextTurn();
    look(step);
  }
  return true;
}

/**
 * Yields all encounters of a selection, in parts; at least one part, which may be empty. An encounter that changes
 * meanwhile may come twice, or not at all. Rejects with `unavailable`.
 */
export async function* wholeWorklist(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
): AsyncGenerator<WorklistEntry[]> {
  let part: WorklistEntry[] = [];
  for await (const { entry, isWanted } of walkWorklist(readModels, workspace, selection)) {
    if (!isWanted) continue;
    if (part.length === AT_ONCE) {
      yield part;
      part = [];
    }
    part.push(entry);
  }
  yield part;
}

/** How long the worklist of a workspace may take to be current, before the next one is counted. */
const COUNT_WAIT_MS = 200;

/**
 * Appends for each workspace how many of its encounters are in each state at the end of a day: once, and nothing
 * where there are none. Resolves with false when a worklist is not current, which would be counted half evaluated:
 * that workspace remains to be counted. Rejects with `unavailable`.
 */
export async function countDay(
  ports: QueryPorts,
  workspaces: readonly string[],
  day: string,
): Promise<boolean> {
  const { eventLog, readModels } = ports;
  let isCounted = true;
  for (const workspace of workspaces) {
    if (!(await isCurrent(ports, workspace))) {
      isCounted = false;
      continue;
    }
    const tally = await readCounts(readModels, workspace, {});
    if (tally === undefined || totalOf(tally) === 0) continue;
    const stream = readinessCountsStream(workspace);
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    if (last && dataAs<ReadinessCounted>(upcast(last).data).day >= day) continue;
    const data: ReadinessCounted = { day, ...tally };
    const event = announcement(workspace, [stream, day], undefined, 'ReadinessCounted', { ...data });
    // A conflict means that another process has counted it.
    await appendBehind(eventLog, stream, event, last?.revision ?? -1);
  }
  return isCounted;
}

async function isCurrent(ports: QueryPorts, workspace: string): Promise<boolean> {
  try {
    return (await readProgress(ports, workspace, COUNT_WAIT_MS)).isCurrent;
  } catch (error) {
    // Without rule settings that can be read, its worklist is not evaluated.
    if (error instanceof UnreadableError) return false;
    throw error;
  }
}
