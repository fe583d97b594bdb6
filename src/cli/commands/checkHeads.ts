import { treeModel } from '../../../projections/tree.ts';
import { INSTALLATION } from '../../domain/events/streamNames.ts';
import { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { StoredTree } from '../../modules/integrity/StoredTree.ts';
import { sentHeads } from '../../modules/integrity/sentHeads.ts';
import type { TreeHead } from '../../modules/integrity/treeHead.ts';
import { logMismatch } from '../../modules/projections/logMismatch.ts';
import type { Config } from '../../platform/config.ts';
import { isMissing, openReadModels, openStateStore } from '../../server/openBackend.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { count } from '../lib/output.ts';
import { type CheckResult, failed, ok, warn } from './checkResult.ts';
import { using } from './checkStores.ts';

/** Checks whether the log still contains what the last heads sent describe. */
export async function checkHeads(
  eventLog: EventLog,
  { stateUrl, readModelUrl }: Config,
): Promise<CheckResult[]> {
  if (isMissing(stateUrl) || isMissing(readModelUrl)) return [];
  const workspaces = await using(KeyDirectory.open(eventLog), async ({ known }) => [
    INSTALLATION,
    ...known.workspaces.keys(),
  ]);
  const heads = await using(openStateStore(stateUrl), (stateStore) => sentHeads(stateStore, workspaces));
  if (heads.size === 0) return [];
  return using(openReadModels(readModelUrl), async (readModels) => {
    // Already reported for the read models.
    if (!(await isOfLog(eventLog, readModels))) return [];
    const found = await Promise.all([...heads.values()].map((head) => holdAgainst(readModels, head)));
    const told = found.flatMap((one) => one ?? []);
    if (told.length > 0) return told;
    const newest = [...heads.values()]
      .map(({ created_at }) => created_at)
      .toSorted()
      .at(-1);
    return [ok('heads', `the log contains what was last sent for each workspace, the newest at ${newest}`)];
  });
}

/** Whether the hash trees belong to the log, and cover all of it. */
async function isOfLog(eventLog: EventLog, readModels: ReadModels): Promise<boolean> {
  if (await logMismatch({ eventLog, readModels }, treeModel)) return false;
  return (await readModels.checkpoint(treeModel)) >= (await eventLog.head());
}

async function holdAgainst(readModels: ReadModels, head: TreeHead): Promise<CheckResult | undefined> {
  const { workspace, size, created_at } = head;
  const tree = await StoredTree.open(readModels, workspace);
  const has = tree?.head.size ?? 0;
  const told = `The head of ${workspace} that was sent at ${created_at}`;
  if (has < size) {
    const message =
      `${told} tells of ${count(size)} events, and the log has ${count(has)}: it was put back to an earlier state. What came since is lost: ` +
      'have it sent again, and see: chartledger restore erasures.';
    return warn('heads', 'head_beyond_the_log', message);
  }
  if ((await tree?.rootAt(size)) === head.root) return undefined;
  const message =
    `${told} is not of this history: events were changed or removed, or the log was put back to an earlier state and has grown since. ` +
    `See: chartledger verify --workspace '${workspace}' --heads FOLDER`;
  return failed('heads', 'head_contradicted', message);
}
