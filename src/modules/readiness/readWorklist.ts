import { recordStream } from '../../domain/events/streamNames.ts';
import { validationError } from '../../domain/records/schema/validate.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { isOutdated } from '../projections/outdated.ts';
import { growingPauses } from '../records/queries/growingPauses.ts';
import {
  decodeToken,
  encodeToken,
  type Page,
  type PageRequest,
  type TokenScope,
} from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type FanOut, fanOutsModel, fanOutsPartition } from './fanOut.ts';
import { readCounts } from './readCounts.ts';
import { readRuleSettings } from './rules/ruleSettings.ts';
import type { Tally } from './tally.ts';
import { type WorklistSelection, walkWorklist } from './walkWorklist.ts';
import { type WorklistEntry, worklistModel } from './worklistEntry.ts';

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
}

/**
 * Resolves with a page of the encounters of a workspace with what is in their way, in the order of their creation, or
 * by days where only days are asked for. It waits up to two seconds for what was acknowledged before the call, and
 * says how up to date it is. A page may have fewer than `limit`, or none, and still have a token. Rejects with
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
  const progress = await readProgress(ports, workspace);
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
      return { items, counts, progress, next_page_token: last };
    }
    scanned += 1;
    last = `${day}.${encodeToken(order, scope)}`;
    if (isWanted) items.push(entry);
  }
  return { items, counts, progress, next_page_token: null };
}

function placeOf(token: string, scope: TokenScope): { day: number; order: number } {
  const [, day, rest] = /^(\d{1,8})\.([\w-]+)$/.exec(token) ?? [];
  return { day: Number(day), order: decodeToken(rest ?? '', scope) };
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
 * Resolves with how up to date the worklist is; it waits until the worklist is current, up to a time limit. Rejects
 * with `unavailable`, and with `unreadable` where the rule settings, and so the worklist, cannot be read.
 */
export async function readProgress(
  { eventLog, readModels }: QueryPorts,
  workspace: string,
  waitMs = WAIT_MS,
): Promise<WorklistProgress> {
  await readRuleSettings(eventLog, workspace);
  const head = await eventLog.head();
  const deadline = performance.now() + waitMs;
  for (const pause = growingPauses(); ; await pause()) {
    const hasAll = (await readModels.checkpoint(worklistModel)) >= head;
    const isThere = hasAll && !(await isOutdated(readModels, worklistModel));
    const underWay = await underWayIn(readModels, workspace);
    if ((isThere && underWay.length === 0) || performance.now() > deadline) {
      return { isCurrent: isThere && underWay.length === 0, underWay };
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
