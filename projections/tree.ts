import type { Position } from '../src/domain/events/event.ts';
import { workspaceOfStream } from '../src/domain/events/streams.ts';
import {
  addLeaf,
  completedSubtrees,
  emptyTree,
  type Hash,
  type HashTree,
  storedLeaf,
} from '../src/domain/merkle.ts';
import type { Row } from '../src/storage/readModels.ts';
import { modelName, type Projection } from './projection.ts';

/** The level of the perfect subtree over the leaves of a full row. */
export const ROW_LEVEL = 6;

/** Number of leaves in a row: the head row, which every batch rewrites, has to stay small. */
export const LEAVES_A_ROW = 2 ** ROW_LEVEL;

/** A leaf, and its event. */
export type TreeLeaf = [position: Position, eventId: string, leaf: Hash];

/** Body of a workspace's head row: the current tree, and the leaves that do not fill a row of their own yet. */
export interface TreeHeadRow extends HashTree {
  leaves: TreeLeaf[];
  /** The event of the last leaf, and when the log recorded it, ISO 8601, UTC; unknown for an erased event. */
  last: { id: string; recordedAt?: string };
}

/** Body of a full row. */
export interface TreeLeavesRow {
  /** The row's number: 1, 2, 3 … */
  number: number;
  leaves: TreeLeaf[];
  /** Roots of the perfect subtrees that end with this row: over its leaves, over two rows, over four … */
  roots: Hash[];
}

/**
 * A hash tree and chain over every event of a workspace in log order: its head is the row with the workspace's id. The leaves are
 * in the partition with that id, in rows that never change, and finally in the head. A row's `order` is the position of its last
 * leaf, so that an event's row is found by its position; its id contains its number, so that the root of any perfect subtree is
 * found by its place, in the row with which it ends.
 */
export const tree: Projection<TreeHeadRow | TreeLeavesRow> = {
  name: 'tree',
  purpose: 'Proofs, signed heads and verification',
  version: 3,
  rowId: (event) => event.metadata.workspace,
  evolve(row, event) {
    const head = row as Row<TreeHeadRow> | undefined;
    const { id, position, recordedAt, metadata } = event;
    return addTreeLeaf(head, metadata.workspace, [position, id, storedLeaf(event)], recordedAt);
  },
  erased: {
    rowId: ({ stream }) => workspaceOfStream(stream),
    evolve(row, { id, position, stream, leaf }) {
      const head = row as Row<TreeHeadRow> | undefined;
      return addTreeLeaf(head, workspaceOfStream(stream), [position, id, leaf]);
    },
  },
};

/**
 * Returns the head row of a workspace after one more leaf, for an event that the log recorded at `recordedAt`; followed by the
 * row that the leaf fills, if it does.
 */
export function addTreeLeaf(
  row: Row<TreeHeadRow> | undefined,
  workspace: string,
  added: TreeLeaf,
  recordedAt?: string,
): Row<TreeHeadRow> | [Row<TreeHeadRow>, Row<TreeLeavesRow>] {
  const before = row?.body ?? { ...emptyTree, leaves: [] };
  const [position, id, leaf] = added;
  const after = addLeaf(before, leaf);
  const all = [...before.leaves, added];
  const isFull = all.length === LEAVES_A_ROW;
  const head = {
    id: workspace,
    // No workspace has such an id.
    partition: 'tree heads',
    order: row?.order ?? position,
    position,
    body: { ...after, leaves: isFull ? [] : all, last: { id, ...(recordedAt && { recordedAt }) } },
  };
  if (!isFull) return head;
  const number = after.size / LEAVES_A_ROW;
  const roots = completedSubtrees(before, leaf).slice(ROW_LEVEL);
  const body = { number, leaves: all, roots };
  return [
    head,
    { id: leavesRowId(workspace, number), partition: workspace, order: position, position, body },
  ];
}

/** Returns the id of a full row. */
export function leavesRowId(workspace: string, number: number): string {
  return `${workspace}/${number}`;
}

export const treeModel = modelName(tree);
