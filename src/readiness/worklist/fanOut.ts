import { readinessModel } from '../../../projections/readinessModel.ts';
import type { Position, RecordedEvent } from '../../events/event.ts';
import { kindOfStream, recordIdOf, workspaceOfStream } from '../../events/streamNames.ts';
import type { ModelName, ReadModels, Row } from '../../ports/readModels.ts';
import { type Trigger, triggerOf } from '../announcing/trigger.ts';
import { readCounts } from '../counts/readCounts.ts';
import { type Tally, totalOf } from '../counts/tally.ts';
import { ruleSettingTypes } from '../ruleSettings.ts';
import { CODE_SET_LOADED } from '../taxonomySet.ts';
import { worklistModel } from './worklistEntry.ts';
import { listsResting, worklistPartition } from './worklistLists.ts';

/** Many encounters that are to be evaluated again because something changed on which they rest. */
export interface FanOut {
  workspace: string;
  /** Of the record that changed; `workspace` for what that has set of the rules, `code_set` for a set that was loaded. */
  kind: string;
  id: string;
  /** Lists that are still to be gone through; the first one from behind `after` on. Without a name: all encounters. */
  lists: (string | null)[];
  after: number;
  trigger: Trigger;
  /** What the rules go by has changed: no encounter is announced for it. */
  isQuiet: boolean;
  /** Where it is quiet: encounters in each state before. */
  before?: Tally['states'];
  /** Encounters. */
  done: number;
  /** As far as counts are kept of them; else 0. */
  total: number;
}

/** Of one that is through. */
type Done = Record<never, never>;

export const fanOutsModel = readinessModel as ModelName<FanOut | Done>;

/** Kinds by whose records encounters are not counted. */
const uncounted = ['patient', 'encounter'];

/** The partition that lists what is under way in a workspace, in the order in which it began. */
export function fanOutsPartition(workspace: string): string {
  return `${workspace} under way`;
}

/** Whether all encounters of a workspace rest on what an event changed: on what the rules go by. */
export function isOfAll({ type }: Pick<RecordedEvent, 'type'>): boolean {
  return type === CODE_SET_LOADED || ruleSettingTypes.includes(type);
}

/** The workspaces, among those that have encounters, of which some may rest on what an event changed. */
export function workspacesOf(
  { type, stream }: Pick<RecordedEvent, 'stream' | 'type'>,
  all: readonly string[],
): readonly string[] {
  return type === CODE_SET_LOADED ? all : all.filter((workspace) => workspace === workspaceOfStream(stream));
}

/** What has to be evaluated again in a workspace because of an event of a record, or of what the rules go by, as a row. */
export async function fanOutOf(
  readModels: ReadModels,
  workspace: string,
  event: RecordedEvent,
): Promise<Row<FanOut>> {
  const { stream, position } = event;
  const isSetting = ruleSettingTypes.includes(event.type);
  const [kind, id] = isSetting ? ['workspace', workspace] : [kindOfStream(stream), recordIdOf(stream)];
  const lists = isOfAll(event) ? [null] : listsResting(kind, id);
  const counted = isOfAll(event) ? {} : uncounted.includes(kind) ? undefined : { [kind]: id };
  const counts = counted && (await readCounts(readModels, workspace, counted));
  return {
    id: `${workspace} fan-out ${position}`,
    partition: fanOutsPartition(workspace),
    order: position,
    position,
    body: {
      workspace,
      kind,
      id,
      lists,
      after: -1,
      trigger: triggerOf(event),
      isQuiet: isOfAll(event),
      ...(isOfAll(event) && counts && { before: counts.states }),
      done: 0,
      total: counts ? totalOf(counts) : 0,
    },
  };
}

/** The encounters that come next, at most `limit`. */
export async function nextOf(
  readModels: ReadModels,
  { workspace, lists: [list = null], after }: Pick<FanOut, 'workspace' | 'lists' | 'after'>,
  limit: number,
): Promise<Row[]> {
  return readModels.page(worklistModel, { ...queryOf(workspace, list), after, limit });
}

/** The row of a fan-out after a step that went through `rows`, of at most `limit`; behind the last step it has no lists. */
export function afterStep(row: Row<FanOut>, rows: readonly Row[], limit: number): Row<FanOut> {
  const { body } = row;
  const isThrough = rows.length < limit;
  const lists = isThrough ? body.lists.slice(1) : body.lists;
  const next = { ...row, position: row.position + 1 };
  const after = isThrough ? -1 : ((rows.at(-1)?.order ?? -1) as Position);
  return { ...next, body: { ...body, lists, after, done: body.done + rows.length } };
}

/** The row of a fan-out that is through. */
export function doneRow(row: Row<FanOut>): Row<Done> {
  return { ...row, position: row.position + 1, partition: `${row.body.workspace} done`, body: {} };
}

function queryOf(workspace: string, list: string | null) {
  return { partition: worklistPartition(workspace), ...(list !== null && { list }) };
}
