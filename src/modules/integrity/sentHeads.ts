import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { type TreeHead, treeHeadSchema } from './treeHead.ts';

/** The last head sent of each workspace. If it is lost, one more is sent. */
export const sentHeadsTable: StateTable<TreeHead> = { name: 'sent_heads_v1', body: treeHeadSchema };

/** Returns the last heads sent of these workspaces, by workspace. Rejects with `unavailable`. */
export async function sentHeads(
  stateStore: StateStore,
  workspaces: readonly string[],
): Promise<Map<string, TreeHead>> {
  const rows = await stateStore.load(sentHeadsTable, [...workspaces]);
  return new Map(rows.map(({ id, body }) => [id, body]));
}

/** Records a head that was sent. Rejects with `unavailable`. */
export async function rememberSentHead(stateStore: StateStore, head: TreeHead): Promise<void> {
  const { workspace, size } = head;
  await stateStore.save(sentHeadsTable, [
    { id: workspace, partition: workspace, order: 0, revision: size, body: head },
  ]);
}
