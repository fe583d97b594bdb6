import { recordStream } from '../../events/streamNames.ts';
import type { ReadModels, Row } from '../../ports/readModels.ts';
import { evaluate } from '../evaluate.ts';
import type { RuleSettings } from '../ruleSettings.ts';
import type { Trigger } from './announceChanges.ts';
import { TallyChanges, talliesModel } from './tally.ts';
import { entryOf, type WorklistEntry, worklistEntry, worklistModel } from './worklistEntry.ts';
import { listsOf, worklistPartition } from './worklistLists.ts';

/** Why an encounter is to be evaluated. */
export interface Due {
  /** Its place in the order of creation. */
  order: number;
  trigger: Trigger;
}

/** Encounters of a workspace that are to be evaluated, by their ids. */
export type Encounters = ReadonlyMap<string, Due>;

/** What became of the entry of an encounter. */
export interface EntryChange {
  before: WorklistEntry | undefined;
  after: WorklistEntry | undefined;
  trigger: Trigger;
}

/**
 * Evaluates encounters by what the read model of records has, which has all up to `position`: what is to be written of them, and of
 * the counts; of those alone that changed. Rejects with `unavailable`.
 */
export async function evaluateRows(
  readModels: ReadModels,
  workspace: string,
  encounters: Encounters,
  settings: RuleSettings,
  position: number,
): Promise<{ rows: Row[]; changes: EntryChange[] }> {
  const ids = [...encounters.keys()];
  const streamOf = (id: string) => recordStream(workspace, 'encounter', id);
  const stored = await readModels.load(worklistModel, ids.map(streamOf));
  const rowsBefore = new Map(stored.map((row) => [row.id, row]));
  const evaluated = await evaluate(readModels, workspace, ids, settings);
  const now = Date.now();
  const tallies = new TallyChanges(workspace);
  const rows: Row[] = [];
  const changes: EntryChange[] = [];
  for (const [id, { order, trigger }] of encounters) {
    const rowBefore = rowsBefore.get(streamOf(id));
    const before = entryOf(rowBefore);
    const evaluation = evaluated.get(id);
    const after = evaluation && worklistEntry(evaluation, now);
    if (rowBefore && JSON.stringify(before) === JSON.stringify(after)) continue;
    tallies.count(before, -1);
    tallies.count(after, 1);
    changes.push({ before, after, trigger });
    rows.push({
      id: streamOf(id),
      partition: after ? worklistPartition(workspace) : `${workspace} left out`,
      order: rowBefore?.order ?? order,
      // It rises with each write, also where what the encounter rests on changed and nothing came behind it.
      position: Math.max(position, (rowBefore?.position ?? 0) + 1),
      body: after ?? {},
      ...(after && { lists: listsOf(after) }),
    });
  }
  const counted = await readModels.load(talliesModel, tallies.ids);
  return { rows: [...rows, ...tallies.rows(counted, position)], changes };
}
