import type { StateStore, StateTable } from '../../ports/stateStore.ts';
import { type TreeHead, treeHeadSchema } from '../treeHead.ts';

/** The last head of each workspace that was sent. Where it is lost, one more is sent. */
export const sentHeadsTable: StateTable<TreeHead> = { name: 'sent_heads_v1', body: treeHeadSchema };

/** The last heads of these workspaces that were sent, by workspace. Rejects with `unavailable`. */
export async function sentHeads(
  stateStore: StateStore,
  workspaces: readonly string[],
): Promise<Map<string, TreeHead>> {
  const rows = await stateStore.load(sentHeadsTable, [...workspaces]);
  return new Map(rows.map(({ id, body }) => [id, body]));
}

/** Remembers a head that was sent. Rejects with `unavailable`. */
export async function rememberSentHead(stateStore: StateStore, head: TreeHead): Promise<void> {
  const { workspace, size } = head;
  await stateStore.save(sentHeadsTable, [
    { id: workspace, partition: workspace, order: 0, revision: size, body: head },
  ]);
}
