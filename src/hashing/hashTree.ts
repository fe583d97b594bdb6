import { hash } from 'node:crypto';

const HASH_BYTES = 32;
const NODE = 0x01;
const LINK = 0x02;

/** SHA-256, lower-case hex. */
export type Hash = string;

/**
 * A hash tree (RFC 9162 section 2.1, as in RFC 6962) and a hash chain over the same leaves, as far as they are needed
 * to go on: adding a leaf and the root take time and room of the logarithm of the size.
 */
export interface HashTree {
  /** Leaves. */
  size: number;
  /** The chain's last link: SHA-256(0x02 || link before || leaf); 32 zero bytes before the first leaf. */
  chain: Hash;
  /** Roots of the perfect subtrees that the leaves fall into, the largest (leftmost) first. */
  subtrees: Hash[];
}

/** The tree without leaves. */
export const emptyTree: HashTree = { size: 0, chain: '00'.repeat(HASH_BYTES), subtrees: [] };

/** SHA-256(0x00 || text as UTF-8): the leaf of what a text says. */
export function leafHash(text: string): Hash {
  return hash('sha256', `\0${text}`);
}

/** The tree with one more leaf; the given one stays as it is. */
export function addLeaf({ size, chain, subtrees }: HashTree, leaf: Hash): HashTree {
  const roots = [...subtrees];
  let root = leaf;
  // As many subtrees merge as the size has one bits at its end: each merge carries a one on.
  for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2))
    root = nodeHash(roots.pop() as Hash, root);
  roots.push(root);
  return { size: size + 1, chain: pairHash(LINK, chain, leaf), subtrees: roots };
}

/** The root; that of the empty tree is SHA-256 of nothing. */
export function treeRoot({ subtrees }: HashTree): Hash {
  if (subtrees.length === 0) return hash('sha256', '');
  return subtrees.reduceRight((right, left) => nodeHash(left, right));
}

/** SHA-256(0x01 || left || right) */
function nodeHash(left: Hash, right: Hash): Hash {
  return pairHash(NODE, left, right);
}

const pair = Buffer.alloc(1 + 2 * HASH_BYTES);

function pairHash(prefix: number, left: Hash, right: Hash): Hash {
  pair[0] = prefix;
  pair.write(left, 1, 'hex');
  pair.write(right, 1 + HASH_BYTES, 'hex');
  return hash('sha256', pair);
}
