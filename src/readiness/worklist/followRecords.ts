import { setTimeout as sleep } from 'node:timers/promises';
import { documentsModel } from '../../../projections/documents.ts';
import { recordsModel } from '../../../projections/records.ts';
import type { Position, RecordedEvent } from '../../events/event.ts';
import { RECORD_ERASED } from '../../events/recordErased.ts';
import {
  encounterOfDocument,
  kindOfStream,
  recordIdOf,
  workspaceOfStream,
} from '../../events/streamNames.ts';
import type { EventBatch, FollowOptions } from '../../ports/eventLog.ts';
import type { ReadModels, Row } from '../../ports/readModels.ts';
import { catalog } from '../../records/catalog.ts';
import { documentEventTypes } from '../../records/document.ts';
import { ruleSettingTypes } from '../ruleSettings.ts';
import { CODE_SET_LOADED } from '../taxonomySet.ts';
import { triggerOf } from './announceChanges.ts';
import type { Due } from './evaluateRows.ts';
import { type FanOut, fanOutOf, isOfAll, workspacesOf } from './fanOut.ts';
import type { WorklistPorts, WorklistWork } from './WorklistWork.ts';
import { worklistModel } from './worklistEntry.ts';
import { listsResting, worklistPartition } from './worklistLists.ts';

/** Up to so many encounters that rest on a record are evaluated with the batch that changed it. */
const FEW = 200;
const POLL_MS = 5;
/** Changes that are looked at side by side. */
const SIDE_BY_SIDE = 16;

const eventTypes = [
  ...catalog.map(({ eventType }) => eventType),
  ...documentEventTypes,
  ...[RECORD_ERASED, ...ruleSettingTypes, CODE_SET_LOADED],
];

/** Encounters to be evaluated, by workspace and id. */
type AllDue = Map<string, Map<string, Due>>;

/**
 * Follows the log from `after` on, until the signal: what every event changes of the worklist is evaluated once the read models of
 * records and documents have it. What rests on a record by more than a few goes to `fanOut` instead. Rejects with `unavailable`.
 */
export async function followRecords(
  ports: WorklistPorts,
  work: WorklistWork,
  options: Pick<FollowOptions, 'after' | 'gather' | 'signal'>,
  fanOut: (row: Row<FanOut>) => void,
): Promise<void> {
  const { eventLog, readModels } = ports;
  const { signal } = options;
  for await (const batch of eventLog.follow({ ...options, filter: { eventTypes } })) {
    for (const model of [recordsModel, documentsModel]) {
      if (!(await isReached(readModels, model, batch.position, signal))) return;
    }
    const { due, fanOuts } = await changedBy(readModels, batch);
    for (const [workspace, encounters] of due) await work.evaluate(workspace, encounters, batch.position);
    const rows = await Promise.all(
      fanOuts.flatMap((event) =>
        workspacesOf(event, work.workspaces).map((workspace) => fanOutOf(readModels, workspace, event)),
      ),
    );
    await work.write(rows, batch.position);
    for (const row of rows) fanOut(row);
  }
}

/** Waits for a read model; false at the signal. */
async function isReached(
  readModels: ReadModels,
  model: string,
  position: Position,
  signal: AbortSignal,
): Promise<boolean> {
  while ((await readModels.checkpoint(model)) < position) {
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return false;
  }
  return true;
}

async function changedBy(
  readModels: ReadModels,
  { events }: EventBatch,
): Promise<{ due: AllDue; fanOuts: RecordedEvent[] }> {
  const due: AllDue = new Map();
  const fanOuts: RecordedEvent[] = [];
  const latest = new Map<string, RecordedEvent>();
  for (const event of events) {
    const kind = kindOfStream(event.stream);
    if (kind === 'encounter') addTo(due, event.stream, event.position, event);
    else if (kind === 'document') addTo(due, encounterOfDocument(event.stream), event.position, event);
    // Nothing rests on what is new.
    else if (event.revision > 0 || isOfAll(event)) latest.set(event.stream, event);
  }
  const changed = [...latest.values()];
  for (let at = 0; at < changed.length; at += SIDE_BY_SIDE) {
    await Promise.all(
      changed.slice(at, at + SIDE_BY_SIDE).map(async (event) => {
        const few = isOfAll(event) ? undefined : await fewResting(readModels, event.stream);
        if (few === undefined) fanOuts.push(event);
        for (const { id, order } of few ?? []) addTo(due, id, order, event);
      }),
    );
  }
  return { due, fanOuts };
}

/** The rows of the encounters that rest on the record of a stream; undefined where they are more than a few. */
async function fewResting(readModels: ReadModels, stream: string): Promise<Row[] | undefined> {
  const partition = worklistPartition(workspaceOfStream(stream));
  const found: Row[] = [];
  for (const list of listsResting(kindOfStream(stream), recordIdOf(stream))) {
    found.push(...(await readModels.page(worklistModel, { partition, list, limit: FEW + 1 })));
    if (found.length > FEW) return undefined;
  }
  return found;
}

/** The first event of an encounter gives its place, and the last one led to what it is. */
function addTo(due: AllDue, stream: string, order: number, event: RecordedEvent): void {
  const workspace = workspaceOfStream(stream);
  const encounters = due.get(workspace) ?? new Map<string, Due>();
  const id = recordIdOf(stream);
  const before = encounters.get(id);
  const isLater = before === undefined || before.trigger.position < event.position;
  const trigger = isLater ? triggerOf(event) : before.trigger;
  encounters.set(id, { order: before?.order ?? order, trigger });
  due.set(workspace, encounters);
}
