import {
  LEAVES_A_ROW,
  leavesRowId,
  ROW_LEVEL,
  type TreeHeadRow,
  type TreeLeaf,
  type TreeLeavesRow,
  treeModel,
} from '../../../projections/tree.ts';
import type { Position } from '../../domain/events/event.ts';
import { addLeaf, emptyTree, type Hash, joinSubtrees, treeRoot } from '../../domain/hashTree.ts';
import { type LeafRange, perfectSubtrees, type Subtree } from '../../domain/treeProofs.ts';
import { unavailable } from '../../platform/errors.ts';
import type { ModelName, ReadModels } from '../../storage/readModels.ts';

const rowsModel = treeModel as ModelName<TreeLeavesRow>;

/** A leaf, and its index in the tree: 0 is the first. */
export interface PlacedLeaf {
  index: number;
  leaf: TreeLeaf;
}

/**
 * A workspace's hash tree as the read model held it when it was opened. Each query takes a single read of at most as many rows as
 * a tree of its size has levels. Methods reject with `unavailable`.
 */
export class StoredTree {
  readonly #readModels: ReadModels;
  readonly #workspace: string;
  readonly #head: TreeHeadRow;

  private constructor(readModels: ReadModels, workspace: string, head: TreeHeadRow) {
    this.#readModels = readModels;
    this.#workspace = workspace;
    this.#head = head;
  }

  /** Opens the current state of the read model, ignoring later additions; undefined when it holds nothing of the workspace. */
  static async open(readModels: ReadModels, workspace: string): Promise<StoredTree | undefined> {
    const [row] = await readModels.load(treeModel as ModelName<TreeHeadRow>, [workspace]);
    return row && new StoredTree(readModels, workspace, row.body);
  }

  /** The current tree, and the event of its last leaf. */
  get head(): Readonly<TreeHeadRow> {
    return this.#head;
  }

  /** Returns the leaf of the event at a position; undefined when the tree has none. */
  async find(position: Position): Promise<PlacedLeaf | undefined> {
    const { leaves } = this.#head;
    const isOfEvent = ([at]: TreeLeaf) => at === position;
    const full = this.#fullRows();
    const last = leaves.findIndex(isOfEvent);
    if (last !== -1) return { index: full * LEAVES_A_ROW + last, leaf: leaves[last] as TreeLeaf };
    // The first row that ends at or after the position.
    const query = { partition: this.#workspace, after: position - 1, limit: 1 };
    const [row] = await this.#readModels.page(rowsModel, query);
    if (row === undefined || row.body.number > full) return undefined;
    const at = row.body.leaves.findIndex(isOfEvent);
    if (at === -1) return undefined;
    return { index: (row.body.number - 1) * LEAVES_A_ROW + at, leaf: row.body.leaves[at] as TreeLeaf };
  }

  /** Returns the roots over the ranges that make up proofs, all within the tree. */
  async roots(ranges: readonly LeafRange[]): Promise<Hash[]> {
    const subtrees = ranges.map(perfectSubtrees);
    const rows = await this.#load(subtrees.flat());
    return subtrees.map((some) => joinSubtrees(some.map((one) => this.#rootOf(one, rows))));
  }

  /** Returns the root of the tree when it had this many leaves, at least one. */
  async rootAt(size: number): Promise<Hash> {
    if (size === this.#head.size) return treeRoot(this.#head);
    const [root] = await this.roots([{ start: 0, end: size }]);
    return root as Hash;
  }

  #fullRows(): number {
    return Math.floor(this.#head.size / LEAVES_A_ROW);
  }

  async #load(subtrees: readonly Subtree[]): Promise<Map<number, TreeLeavesRow>> {
    const full = this.#fullRows();
    const numbers = new Set(subtrees.map(rowOf).filter((number) => number <= full));
    if (numbers.size === 0) return new Map();
    const ids = [...numbers].map((number) => leavesRowId(this.#workspace, number));
    const rows = await this.#readModels.load(rowsModel, ids);
    // For example, when the read model was restarted in the meantime.
    if (rows.length < ids.length) throw unavailable('hash tree');
    return new Map(rows.map(({ body }) => [body.number, body]));
  }

  #rootOf(subtree: Subtree, rows: ReadonlyMap<number, TreeLeavesRow>): Hash {
    const { level, index } = subtree;
    if (level >= ROW_LEVEL) return rows.get(rowOf(subtree))?.roots[level - ROW_LEVEL] as Hash;
    const start = (index * 2 ** level) % LEAVES_A_ROW;
    const leaves = this.#leavesOf(rowOf(subtree), rows).slice(start, start + 2 ** level);
    return treeRoot(leaves.reduce((tree, [, , leaf]) => addLeaf(tree, leaf), emptyTree));
  }

  #leavesOf(number: number, rows: ReadonlyMap<number, TreeLeavesRow>): TreeLeaf[] {
    return (rows.get(number) ?? this.#head).leaves;
  }
}

/** Returns the number of the row with which a subtree ends. */
function rowOf({ level, index }: Subtree): number {
  return numberOf((index + 1) * 2 ** level - 1);
}

/** Returns the number of the row that contains the leaf at an index. */
function numberOf(index: number): number {
  return Math.floor(index / LEAVES_A_ROW) + 1;
}
