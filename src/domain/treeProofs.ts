import { type Hash, nodeHash } from './hashTree.ts';

/** The leaves from `start` up to, but not including, `end`. */
export interface LeafRange {
  start: number;
  end: number;
}

/** A perfect subtree: the leaves from `index * 2 ** level` up to, but not including, `(index + 1) * 2 ** level`. */
export interface Subtree {
  level: number;
  index: number;
}

/**
 * Returns the ranges whose roots form an inclusion proof (RFC 9162 section 2.1.3.1) of leaf `index` in the tree of the first
 * `size` leaves, the deepest first.
 */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  for (let start = 0, end = size; end - start > 1; ) {
    const middle = split(start, end);
    if (index < middle) {
      ranges.push({ start: middle, end });
      end = middle;
    } else {
      ranges.push({ start, end: middle });
      start = middle;
    }
  }
  return ranges.reverse();
}

/**
 * Returns the ranges whose roots form a consistency proof (RFC 9162 section 2.1.4.1) between the trees of the first `first` and
 * the first `second` leaves, where 0 < first <= second; the deepest first.
 */
export function consistencyRanges(first: number, second: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  let start = 0;
  let end = second;
  while (end !== first) {
    const middle = split(start, end);
    if (first <= middle) {
      ranges.push({ start: middle, end });
      end = middle;
    } else {
      ranges.push({ start, end: middle });
      start = middle;
    }
  }
  // The verifier already has the root of the first tree.
  if (start > 0) ranges.push({ start, end });
  return ranges.reverse();
}

/** Returns the perfect subtrees of which a range of these proofs consists, the largest (leftmost) first. */
export function perfectSubtrees({ start, end }: LeafRange): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let at = start; at < end; ) {
    const level = levelBelow(end - at);
    subtrees.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return subtrees;
}

/** Returns the root to which an inclusion proof leads from a leaf; undefined when it does not have the required length. */
export function rootOfInclusion(
  leaf: Hash,
  index: number,
  size: number,
  path: readonly Hash[],
): Hash | undefined {
  const ranges = inclusionRanges(index, size);
  if (path.length !== ranges.length) return undefined;
  return ranges.reduce((root, { start }, at) => {
    const other = path[at] as Hash;
    return start > index ? nodeHash(root, other) : nodeHash(other, root);
  }, leaf);
}

/** A tree, as far as a consistency proof concerns it. */
export interface SizedRoot {
  size: number;
  root: Hash;
}

/** Whether a consistency proof shows that the second tree begins with the first tree's leaves. */
export function areConsistent(first: SizedRoot, second: SizedRoot, path: readonly Hash[]): boolean {
  if (first.size < 1 || first.size > second.size) return false;
  const ranges = consistencyRanges(first.size, second.size);
  if (path.length !== ranges.length) return false;
  const known = ranges[0] && isWithin(first, ranges[0]) ? (path[0] as Hash) : undefined;
  let [ofFirst, ofSecond] = [known ?? first.root, known ?? first.root];
  for (const [at, range] of ranges.entries()) {
    if (at === 0 && known !== undefined) continue;
    const other = path[at] as Hash;
    if (!isWithin(first, range)) ofSecond = nodeHash(ofSecond, other);
    else [ofFirst, ofSecond] = [nodeHash(other, ofFirst), nodeHash(other, ofSecond)];
  }
  return ofFirst === first.root && ofSecond === second.root;
}

function isWithin({ size }: SizedRoot, { end }: LeafRange): boolean {
  return end <= size;
}

/** Where a tree over more than one leaf is split: after the largest power of two of leaves that is smaller than their number. */
function split(start: number, end: number): number {
  return start + 2 ** levelBelow(end - start - 1);
}

/** Returns the level of the largest perfect subtree of at most that many leaves. */
function levelBelow(leaves: number): number {
  let level = 0;
  while (2 ** (level + 1) <= leaves) level += 1;
  return level;
}
