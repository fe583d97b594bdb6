import { hash } from 'node:crypto';
import { canonicalJson } from './events/canonicalJson.ts';
import type { RecordedEvent } from './events/event.ts';

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

/** What the leaf of an event covers: everything but its position, which belongs to the store and not the event. */
export type HashedEvent = Omit<RecordedEvent, 'position'>;

/**
 * Returns the leaf of an event as a log returned it: if the log holds canonical texts, it is computed from these, without
 * serializing the event's members again.
 */
export function storedLeaf(event: RecordedEvent): Hash {
  const { dataText, id, metadataText, recordedAt, revision, stream, type } = event;
  if (dataText === undefined || metadataText === undefined) return eventLeaf(event);
  const text = JSON.stringify;
  return leafHash(
    `{"data":${dataText},"id":${text(id)},"metadata":${metadataText},"recordedAt":${text(recordedAt)},` +
      `"revision":${revision},"stream":${text(stream)},"type":${text(type)}}`,
  );
}

/** Returns the leaf of an event: of the canonical JSON of what it covers, as recorded (not upcast). */
export function eventLeaf(event: HashedEvent): Hash {
  const { id, type, stream, revision, recordedAt, metadata, data } = event;
  // In canonical order, which saves sorting them.
  return leafHash(canonicalJson({ data, id, metadata, recordedAt, revision, stream, type }));
}

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
interface SizedRoot {
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
