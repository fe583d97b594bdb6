import { documentsModel } from '../../../projections/documents.ts';
import { recordsModel } from '../../../projections/records.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { RECORD_ERASED } from '../../domain/events/recordErased.ts';
import {
  encounterOfDocument,
  kindOfStream,
  recordIdOf,
  workspaceOfStream,
} from '../../domain/events/streamNames.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { documentEventTypes } from '../../domain/records/document.ts';
import type { EventBatch, FollowOptions } from '../../storage/eventLog.ts';
import type { ReadModels, Row } from '../../storage/readModels.ts';
import { growingPauses } from '../records/queries/growingPauses.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import type { Due, Encounters } from './evaluateRows.ts';
import { type FanOut, fanOutOf, isOfAll, workspacesOf } from './fanOut.ts';
import { ruleSettingTypes } from './rules/ruleSettings.ts';
import { CODE_SET_LOADED } from './rules/taxonomySet.ts';
import { triggerOf } from './trigger.ts';
import type { WorklistWork } from './WorklistWork.ts';
import { worklistModel } from './worklistEntry.ts';
import { listsResting, worklistPartition } from './worklistLists.ts';

/** Up to this many encounters that depend on a record are evaluated with the batch that changed it. */
const FEW = 200;
/** Changes looked at in parallel. */
const SIDE_BY_SIDE = 16;

const billingTypes = ['EncounterBilled', 'BillingChangeAcknowledged'];
/** The types of the events that may change the worklist. */
export const worklistEventTypes = [
  ...catalog.map(({ eventType }) => eventType),
  ...documentEventTypes,
  ...[...billingTypes, RECORD_ERASED, ...ruleSettingTypes, CODE_SET_LOADED],
];

/** Encounters to be evaluated, by workspace and id. */
type AllDue = Map<string, Map<string, Due>>;

/**
 * Follows the log from `after` on, until the signal: whatever an event changes in the worklist is evaluated once the
 * read models of records and documents have it. Where more than a few depend on a record, they go to `fanOut`
 * instead. Rejects with `unavailable`.
 */
export async function followRecords(
  ports: QueryPorts,
  work: WorklistWork,
  options: Pick<FollowOptions, 'after' | 'gather' | 'signal'>,
  fanOut: (row: Row<FanOut>) => void,
): Promise<void> {
  const { eventLog, readModels } = ports;
  const { signal } = options;
  for await (const batch of eventLog.follow({ ...options, filter: { eventTypes: worklistEventTypes } })) {
    for (const model of [recordsModel, documentsModel]) {
      if (!(await isReached(readModels, model, batch.position, signal))) return;
    }
    const { due, fanOuts } = await changedBy(readModels, batch);
    for (const [workspace, encounters] of due) {
      const visits = await work.evaluate(workspace, encounters, batch.position);
      const others = othersOf(visits, encounters);
      if (others.size > 0) await work.evaluate(workspace, others, batch.position);
    }
    const rows = await Promise.all(
      fanOuts.flatMap((event) =>
        workspacesOf(event, work.workspaces).map((workspace) => fanOutOf(readModels, workspace, event)),
      ),
    );
    await work.write(rows, batch.position);
    for (const row of rows) fanOut(row);
  }
}

/** Waits for a read model; resolves with false at the signal. */
async function isReached(
  readModels: ReadModels,
  model: string,
  position: Position,
  signal: AbortSignal,
): Promise<boolean> {
  for (const pause = growingPauses(signal); (await readModels.checkpoint(model)) < position; await pause()) {
    if (signal.aborted) return false;
  }
  return true;
}

async function changedBy(
  readModels: ReadModels,
  { events }: EventBatch,
): Promise<{ due: AllDue; fanOuts: RecordedEvent[] }> {
  const due: AllDue = new Map();
  const latest = new Map<string, RecordedEvent>();
  for (const event of events) {
    const kind = kindOfStream(event.stream);
    const isBilled = billingTypes.includes(event.type);
    if (kind === 'encounter' || isBilled) addTo(due, event.stream, event.position, event);
    if (kind === 'document') addTo(due, encounterOfDocument(event.stream), event.position, event);
    // Nothing depends on what is new, or was billed.
    else if ((event.revision > 0 && !isBilled) || isOfAll(event)) latest.set(event.stream, event);
  }
  const { ofAll = [], ofRecords = [] } = Object.groupBy(latest.values(), (event) =>
    isOfAll(event) ? 'ofAll' : 'ofRecords',
  );
  const fanOuts = [...ofAll];
  const byWorkspace = Map.groupBy(ofRecords, ({ stream }) => workspaceOfStream(stream));
  for (const [workspace, changed] of byWorkspace) {
    for (let at = 0; at < changed.length; at += SIDE_BY_SIDE) {
      const some = changed.slice(at, at + SIDE_BY_SIDE);
      for (const [event, rows] of await restingOn(readModels, workspace, some)) {
        if (rows.length > FEW) fanOuts.push(event);
        else for (const { id, order } of rows) addTo(due, id, order, event);
      }
    }
  }
  return { due, fanOuts };
}

/**
 * Resolves with the rows of encounters that depend on the record of each of these events: more than a few, where
 * there are more.
 */
async function restingOn(
  readModels: ReadModels,
  workspace: string,
  changed: readonly RecordedEvent[],
): Promise<Map<RecordedEvent, Row[]>> {
  const partition = worklistPartition(workspace);
  const lists = changed.map(({ stream }) => listsResting(kindOfStream(stream), recordIdOf(stream)));
  const query = { partition, lists: lists.flat(), limit: FEW + 1 };
  const heads = await readModels.heads(worklistModel, query);
  return new Map(
    changed.map((event, index) => [event, heads.splice(0, lists[index]?.length ?? 0).flat()] as const),
  );
}

/** Returns the others of the visits of evaluated encounters, except for those that were evaluated themselves. */
function othersOf(visits: ReadonlyMap<string, readonly string[]>, evaluated: Encounters): Encounters {
  const others = new Map<string, Due>();
  for (const [id, ids] of visits) {
    const { trigger, isOneOfSeveral = false } = evaluated.get(id) as Due;
    for (const other of ids) {
      if (!evaluated.has(other)) addDue(others, other, { trigger, isOneOfSeveral });
    }
  }
  return others;
}

function addTo(due: AllDue, stream: string, order: number, event: RecordedEvent): void {
  const workspace = workspaceOfStream(stream);
  const encounters = due.get(workspace) ?? new Map<string, Due>();
  const isBilled = billingTypes.includes(event.type);
  addDue(encounters, recordIdOf(stream), { order, trigger: triggerOf(event), isBilled });
  due.set(workspace, encounters);
}

/** The first event of an encounter gives its place; the last one is the most likely cause of its state. */
function addDue(encounters: Map<string, Due>, id: string, due: Due): void {
  const before = encounters.get(id);
  if (before === undefined) encounters.set(id, due);
  else {
    const { trigger } = before.trigger.position < due.trigger.position ? due : before;
    const isBilled = before.isBilled === true || due.isBilled === true;
    encounters.set(id, { ...before, trigger, isOneOfSeveral: true, isBilled });
  }
}
