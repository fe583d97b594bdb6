import { readinessModel } from '../../../projections/readinessModel.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { kindOfStream, recordIdOf, workspaceOfStream } from '../../domain/events/streamNames.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';
import { readCounts } from './readCounts.ts';
import { ruleSettingTypes } from './rules/ruleSettings.ts';
import { CODE_SET_LOADED } from './rules/taxonomySet.ts';
import { type Tally, totalOf } from './tally.ts';
import { type Trigger, triggerOf } from './trigger.ts';
import { worklistModel } from './worklistEntry.ts';
import { listsResting, worklistPartition } from './worklistLists.ts';

/** Many encounters that are to be evaluated again because something on which they depend has changed. */
export interface FanOut {
  workspace: string;
  /** Of the record that changed; `workspace` for its rule settings, `code_set` for a set that was loaded. */
  kind: string;
  id: string;
  /** Lists that are still to be gone through; the first one from after `after` on. Null: all encounters. */
  lists: (string | null)[];
  after: number;
  trigger: Trigger;
  /** The rule settings have changed: no encounter is announced because of that. */
  isQuiet: boolean;
  /** Where it is quiet: encounters in each state before. */
  before?: Tally['states'];
  /** Encounters. */
  done: number;
  /** As far as they are counted; otherwise 0. */
  total: number;
}

/** The body of one that is finished. */
type Done = Record<never, never>;

export const fanOutsModel = readinessModel as ModelName<FanOut | Done>;

/** Kinds by whose records encounters are not counted. */
const uncounted = ['patient', 'encounter'];

/** Returns the partition that lists what is under way in a workspace, in the order in which it began. */
export function fanOutsPartition(workspace: string): string {
  return `${workspace} under way`;
}

/** Whether all encounters of a workspace depend on what an event changed: on the rule settings. */
export function isOfAll({ type }: Pick<RecordedEvent, 'type'>): boolean {
  return type === CODE_SET_LOADED || ruleSettingTypes.includes(type);
}

/**
 * Returns the workspaces, among those that have encounters, some of whose encounters may depend on what an event
 * changed.
 */
export function workspacesOf(
  { type, stream }: Pick<RecordedEvent, 'stream' | 'type'>,
  all: readonly string[],
): readonly string[] {
  return type === CODE_SET_LOADED ? all : all.filter((workspace) => workspace === workspaceOfStream(stream));
}

/**
 * Resolves with what has to be evaluated again in a workspace because of an event of a record, or of the rule
 * settings, as a row.
 */
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

/** Resolves with the next encounters, at most `limit`. */
export async function nextOf(
  readModels: ReadModels,
  { workspace, lists: [list = null], after }: Pick<FanOut, 'workspace' | 'lists' | 'after'>,
  limit: number,
): Promise<Row[]> {
  return readModels.page(worklistModel, { ...queryOf(workspace, list), after, limit });
}

/**
 * Returns the row of a fan-out after a step that went through `rows`, of at most `limit`; after the last step it has
 * no lists.
 */
export function afterStep(row: Row<FanOut>, rows: readonly Row[], limit: number): Row<FanOut> {
  const { body } = row;
  const isThrough = rows.length < limit;
  const lists = isThrough ? body.lists.slice(1) : body.lists;
  const next = { ...row, position: row.position + 1 };
  const after = isThrough ? -1 : ((rows.at(-1)?.order ?? -1) as Position);
  return { ...next, body: { ...body, lists, after, done: body.done + rows.length } };
}

/** Returns the row of a finished fan-out. */
export function doneRow(row: Row<FanOut>): Row<Done> {
  return { ...row, position: row.position + 1, partition: `${row.body.workspace} done`, body: {} };
}

function queryOf(workspace: string, list: string | null) {
  return { partition: worklistPartition(workspace), ...(list !== null && { list }) };
}
