import {
  LEAVES_A_ROW,
  type TreeHeadRow,
  type TreeLeaf,
  type TreeLeavesRow,
  treeModel,
} from '../../../projections/tree.ts';
import type { ModelName, ReadModels } from '../../storage/readModels.ts';

const ROWS_AT_ONCE = 16;

/** The leaves of a workspace in the read model. */
export interface StoredLeaves {
  size: number;
  /** `size` of them, in order; fewer when the read model is removed in the meantime. */
  leaves: AsyncGenerator<TreeLeaf, undefined>;
}

/** Opens the current state of the read model, ignoring later additions. */
export async function storedLeaves(readModels: ReadModels, workspace: string): Promise<StoredLeaves> {
  const [row] = await readModels.load(treeModel, [workspace]);
  const head = row?.body as TreeHeadRow | undefined;
  return { size: head?.size ?? 0, leaves: read(readModels, workspace, head) };
}

async function* read(
  readModels: ReadModels,
  partition: string,
  head: TreeHeadRow | undefined,
): AsyncGenerator<TreeLeaf, undefined> {
  if (head === undefined) return undefined;
  const fullRows = Math.floor(head.size / LEAVES_A_ROW);
  for (let read = 0, after = 0; read < fullRows; ) {
    const limit = Math.min(ROWS_AT_ONCE, fullRows - read);
    const rows = await readModels.page(treeModel as ModelName<TreeLeavesRow>, { partition, after, limit });
    for (const { body } of rows) yield* body.leaves;
    if (rows.length < limit) return undefined;
    read += limit;
    after = (rows.at(-1) as (typeof rows)[number]).order;
  }
  yield* head.leaves;
  return undefined;
}
