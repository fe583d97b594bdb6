import type { Position, RecordedEvent } from '../src/events/event.ts';
import { eventLeaf } from '../src/hashing/eventLeaf.ts';
import { addLeaf, emptyTree, type Hash, type HashTree } from '../src/hashing/hashTree.ts';
import type { Row } from '../src/ports/readModels.ts';
import { modelName, type Projection } from './projection.ts';

/** Leaves of one row: the head row, which every batch rewrites, has to stay small. */
export const LEAVES_A_ROW = 64;

/** A leaf, and the event that it is of. */
export type TreeLeaf = [position: Position, eventId: string, leaf: Hash];

/** Body of a workspace's head row: the tree as it stands, and the leaves that do not fill a row of their own yet. */
export interface TreeHeadRow extends HashTree {
  leaves: TreeLeaf[];
}

/** Body of a row that is full. */
export interface TreeLeavesRow {
  leaves: TreeLeaf[];
}

/**
 * A hash tree and chain over every event of a workspace in log order: its head is the row of the workspace's id. The
 * leaves are in the partition of that id, in rows that never change, and at last in the head.
 */
export const tree: Projection<TreeHeadRow | TreeLeavesRow> = {
  name: 'tree',
  version: 1,
  rowId: (event) => event.metadata.workspace,
  evolve(row, event) {
    const { leaves, ...before } = (row?.body as TreeHeadRow | undefined) ?? { ...emptyTree, leaves: [] };
    const leaf = eventLeaf(event);
    const after = addLeaf(before, leaf);
    const all: TreeLeaf[] = [...leaves, [event.position, event.id, leaf]];
    if (all.length < LEAVES_A_ROW) return headRow(row, event, { ...after, leaves: all });
    return [headRow(row, event, { ...after, leaves: [] }), leavesRow(event, after.size / LEAVES_A_ROW, all)];
  },
};

function headRow(
  row: Row | undefined,
  { metadata, position }: RecordedEvent,
  body: TreeHeadRow,
): Row<TreeHeadRow> {
  return {
    id: metadata.workspace,
    // No workspace has an id like that.
    partition: 'tree heads',
    order: row?.order ?? position,
    position,
    body,
  };
}

function leavesRow(
  { metadata, position }: RecordedEvent,
  order: number,
  leaves: TreeLeaf[],
): Row<TreeLeavesRow> {
  const { workspace } = metadata;
  return { id: `${workspace}/${order}`, partition: workspace, order, position, body: { leaves } };
}

export const treeModel = modelName(tree);
