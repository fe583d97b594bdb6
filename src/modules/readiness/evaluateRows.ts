import { recordStream } from '../../domain/events/streamNames.ts';
import type { Row } from '../../storage/readModels.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type Evaluation, evaluate } from './evaluate.ts';
import type { RuleSettings } from './rules/ruleSettings.ts';
import { TallyChanges, talliesModel } from './tally.ts';
import type { Trigger } from './trigger.ts';
import { entryOf, type WorklistEntry, worklistEntry, worklistModel } from './worklistEntry.ts';
import { listsOf, worklistPartition } from './worklistLists.ts';

/** Why an encounter is to be evaluated. */
export interface Due {
  /** Its place in the order of creation; left out: it is left alone unless it has one. */
  order?: number;
  trigger: Trigger;
  /** Whether other events led to it as well. */
  isOneOfSeveral?: boolean;
  /** Whether one of them says that it was billed. */
  isBilled?: boolean;
}

/** Encounters of a workspace that are to be evaluated, by their ids. */
export type Encounters = ReadonlyMap<string, Due>;

/** How the entry of an encounter changed. */
export interface EntryChange {
  before: WorklistEntry | undefined;
  after: WorklistEntry | undefined;
  trigger: Trigger;
  /**
   * Whether something other than the trigger may have led to it: another event, or a later write that the facts
   * already include.
   */
  isUnsure: boolean;
}

/**
 * Evaluates encounters by what `evaluate` looks at, which has everything up to `position`: resolves with what is to
 * be written for them, and for the counts; only for those that changed. `visits`: where there are any, the ids of the
 * other encounters of the visits, by those of the encounters. Without `settings`, which cannot be read, nothing is
 * reported about any of them. Rejects with `unavailable`.
 */
export async function evaluateRows(
  ports: QueryPorts,
  workspace: string,
  encounters: Encounters,
  settings: RuleSettings | undefined,
  position: number,
): Promise<{ rows: Row[]; changes: EntryChange[]; visits: Map<string, string[]> }> {
  const { readModels } = ports;
  const ids = [...encounters.keys()];
  const streamOf = (id: string) => recordStream(workspace, 'encounter', id);
  const stored = await readModels.load(worklistModel, ids.map(streamOf));
  const rowsBefore = new Map(stored.map((row) => [row.id, row]));
  const wasBilled = (id: string) => entryOf(rowsBefore.get(streamOf(id)))?.is_billed === true;
  const mayBeBilled = (id: string) => encounters.get(id)?.isBilled === true || wasBilled(id);
  const evaluated = settings
    ? await evaluate(ports, workspace, ids, settings, mayBeBilled)
    : new Map<string, Evaluation>();
  const now = Date.now();
  const tallies = new TallyChanges(workspace);
  const rows: Row[] = [];
  const changes: EntryChange[] = [];
  for (const [id, { order, trigger, isOneOfSeveral = false }] of encounters) {
    const rowBefore = rowsBefore.get(streamOf(id));
    const before = entryOf(rowBefore);
    const evaluation = evaluated.get(id);
    const after = evaluation && worklistEntry(evaluation, now);
    const place = rowBefore?.order ?? order;
    if (place === undefined) continue;
    if (rowBefore && JSON.stringify(before) === JSON.stringify(after)) continue;
    tallies.count(before, -1);
    tallies.count(after, 1);
    const isAhead = evaluation !== undefined && evaluation.position > trigger.position;
    changes.push({ before, after, trigger, isUnsure: isOneOfSeveral || isAhead });
    rows.push({
      id: streamOf(id),
      partition: after ? worklistPartition(workspace) : `${workspace} left out`,
      order: place,
      // It rises with each write, also where something that the encounter depends on changed and nothing came after
      // it.
      position: Math.max(position, (rowBefore?.position ?? 0) + 1),
      body: after ?? {},
      ...(after && { lists: listsOf(after) }),
    });
  }
  const counted = await readModels.load(talliesModel, tallies.ids);
  const visits = new Map<string, string[]>();
  for (const [id, { facts }] of evaluated) {
    const others = (facts.sameVisit ?? []).map((other) => other.id);
    if (others.length > 0) visits.set(id, others);
  }
  return { rows: [...rows, ...tallies.rows(counted, position)], changes, visits };
}
