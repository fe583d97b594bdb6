import { LEAVES_A_ROW, type TreeHeadRow, type TreeLeaf, treeModel } from '../../projections/tree.ts';
import type { ReadModels } from '../ports/readModels.ts';

const ROWS_AT_ONCE = 16;

/** The leaves of a workspace that the read model holds. */
export interface StoredLeaves {
  size: number;
  /** `size` of them, in order; fewer when the read model is taken away meanwhile. */
  leaves: AsyncGenerator<TreeLeaf, undefined>;
}

/** Looks at what the read model holds now; what it gets later is left out. */
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
  for (let after = 0; after < fullRows; ) {
    const limit = Math.min(ROWS_AT_ONCE, fullRows - after);
    const rows = await readModels.page(treeModel, { partition, after, limit });
    for (const { body } of rows) yield* body.leaves;
    if (rows.length < limit) return undefined;
    after += limit;
  }
  yield* head.leaves;
  return undefined;
}
