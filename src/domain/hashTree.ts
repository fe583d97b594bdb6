import { hash } from 'node:crypto';

const HASH_BYTES = 32;
const NODE = 0x01;
const LINK = 0x02;

/** SHA-256, lower-case hex. */
export type Hash = string;

/**
 * A hash tree (RFC 9162 section 2.1, as in RFC 6962) and a hash chain over the same leaves, as far as needed to extend them:
 * adding a leaf and computing the root take time and space logarithmic in the size.
 */
export interface HashTree {
  /** Number of leaves. */
  size: number;
  /** The chain's last link: SHA-256(0x02 || previous link || leaf); 32 zero bytes before the first leaf. */
  chain: Hash;
  /** Roots of the perfect subtrees into which the leaves fall, the largest (leftmost) first. */
  subtrees: Hash[];
}

/** The tree without leaves. */
export const emptyTree: HashTree = { size: 0, chain: '00'.repeat(HASH_BYTES), subtrees: [] };

/** SHA-256(0x00 || text as UTF-8): the leaf of a text. */
export function leafHash(text: string): Hash {
  return hash('sha256', `\0${text}`);
}

/** Returns the tree with one more leaf; the given tree is not changed. */
export function addLeaf(tree: HashTree, leaf: Hash): HashTree {
  const completed = completedSubtrees(tree, leaf);
  const subtrees = tree.subtrees.slice(0, tree.subtrees.length + 1 - completed.length);
  subtrees.push(completed.at(-1) as Hash);
  return { size: tree.size + 1, chain: pairHash(LINK, tree.chain, leaf), subtrees };
}

/**
 * Returns the roots of the perfect subtrees completed by another leaf: of one leaf, which is the leaf itself, of two, of four …
 */
export function completedSubtrees({ size, subtrees }: HashTree, leaf: Hash): Hash[] {
  const completed = [leaf];
  // As many subtrees merge as the size has trailing one bits: each merge carries a one.
  for (let rest = size, at = subtrees.length - 1; rest % 2 === 1; rest = Math.floor(rest / 2), at--)
    completed.push(nodeHash(subtrees[at] as Hash, completed.at(-1) as Hash));
  return completed;
}

/** Returns the root; that of the empty tree is SHA-256 of nothing. */
export function treeRoot({ subtrees }: Pick<HashTree, 'subtrees'>): Hash {
  if (subtrees.length === 0) return hash('sha256', '');
  return joinSubtrees(subtrees);
}

/** Returns the root over neighboring perfect subtrees, one or more, each smaller than the one to its left. */
export function joinSubtrees(roots: readonly Hash[]): Hash {
  return roots.reduceRight((right, left) => nodeHash(left, right));
}

/** SHA-256(0x01 || left || right) */
export function nodeHash(left: Hash, right: Hash): Hash {
  return pairHash(NODE, left, right);
}

const pair = Buffer.alloc(1 + 2 * HASH_BYTES);

function pairHash(prefix: number, left: Hash, right: Hash): Hash {
  pair[0] = prefix;
  pair.write(left, 1, 'hex');
  pair.write(right, 1 + HASH_BYTES, 'hex');
  return hash('sha256', pair);
}
