import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addTreeLeaf, type TreeHeadRow, type TreeLeaf, treeModel } from '../../projections/tree.ts';
import {
  areConsistent,
  consistencyRanges,
  type Hash,
  inclusionRanges,
  leafHash,
  rootOfInclusion,
} from '../../src/domain/merkle.ts';
import { StoredTree } from '../../src/modules/integrity/proofs.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';

const SIZE = 300;
/** All pairs of sizes up to here are tried; of larger ones, those around the ends of rows. */
const ALL = 100;

const leaves = Array.from({ length: SIZE }, (_, n) => leafHash(`event ${n}`));

function node(left: Hash, right: Hash): Hash {
  const bytes = [Buffer.of(1), Buffer.from(left, 'hex'), Buffer.from(right, 'hex')];
  return createHash('sha256').update(Buffer.concat(bytes)).digest('hex');
}

/** The largest power of two below `n`. */
function powerBelow(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

const known = new Map<string, Hash>();

/** MTH of RFC 9162 section 2.1.1, over leaves that are hashed already. */
function mth(d: Hash[]): Hash {
  if (d.length === 1) return d[0] as Hash;
  const range = `${d[0]} ${d.length}`;
  const k = powerBelow(d.length);
  const root = known.get(range) ?? node(mth(d.slice(0, k)), mth(d.slice(k)));
  known.set(range, root);
  return root;
}

/** PATH of section 2.1.3.1, word for word. */
function path(m: number, d: Hash[]): Hash[] {
  if (d.length === 1) return [];
  const k = powerBelow(d.length);
  return m < k
    ? [...path(m, d.slice(0, k)), mth(d.slice(k))]
    : [...path(m - k, d.slice(k)), mth(d.slice(0, k))];
}

/** SUBPROOF of section 2.1.4.1, word for word. */
function subproof(m: number, d: Hash[], b: boolean): Hash[] {
  if (m === d.length) return b ? [] : [mth(d)];
  const k = powerBelow(d.length);
  return m <= k
    ? [...subproof(m, d.slice(0, k), b), mth(d.slice(k))]
    : [...subproof(m - k, d.slice(k), false), mth(d.slice(0, k))];
}

const first = (size: number) => leaves.slice(0, size);
const roots = Array.from({ length: SIZE + 1 }, (_, size) => (size === 0 ? '' : mth(first(size))));
const sized = (size: number) => ({ size, root: roots[size] as Hash });
const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);
const changed = (hash: Hash) => hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));

/** Every proof that differs from this one in one hash, or in its length. */
const spoilt = (proof: Hash[]) => [
  ...proof.map((hash, at) => proof.with(at, changed(hash))),
  [...proof, leafHash('more')],
  ...(proof.length > 0 ? [proof.slice(1), proof.slice(0, -1)] : []),
];

const folder = mkdtempSync(join(tmpdir(), 'chartledger-tree-'));
let readModels: ReadModels;
let stored: StoredTree;

const positionOf = (index: number) => 10 + 3 * index;

beforeAll(async () => {
  readModels = await openReadModels(`sqlite:${join(folder, 'read-models.db')}`);
  let head: Row<TreeHeadRow> | undefined;
  for (const [index, leaf] of leaves.entries()) {
    const added: TreeLeaf = [positionOf(index), `event-${index}`, leaf];
    const [next, ...full] = [addTreeLeaf(head, 'clinic', added)].flat() as [Row<TreeHeadRow>, ...Row[]];
    head = next;
    await readModels.write({ model: treeModel, rows: [...full, head] as Row<TreeHeadRow>[], checkpoint: 0 });
  }
  stored = (await StoredTree.open(readModels, 'clinic')) as StoredTree;
});
afterAll(async () => {
  await readModels.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('an inclusion proof', () => {
  test('is the audit path of RFC 9162, of every leaf in a tree of every size, and leads to its root', async () => {
    for (const size of [...upTo(ALL), 127, 128, 129, 255, 256, 257, SIZE]) {
      for (let index = 0; index < size; index++) {
        const proof = await stored.roots(inclusionRanges(index, size));
        expect(proof).toEqual(path(index, first(size)));
        expect(rootOfInclusion(leaves[index] as Hash, index, size, proof)).toBe(roots[size]);
      }
    }
  }, 60_000);

  test('leads nowhere else for another leaf, index or size, and when it was altered', () => {
    for (const size of upTo(40)) {
      for (let index = 0; index < size; index++) {
        const proof = path(index, first(size));
        const leaf = leaves[index] as Hash;
        const root = roots[size];
        expect(rootOfInclusion(changed(leaf), index, size, proof)).not.toBe(root);
        for (const other of spoilt(proof)) expect(rootOfInclusion(leaf, index, size, other)).not.toBe(root);
        for (let at = 0; at < size; at++)
          if (at !== index) expect(rootOfInclusion(leaf, at, size, proof)).not.toBe(root);
      }
    }
  });
});

describe('a consistency proof', () => {
  test('is that of RFC 9162, of every two sizes, and is accepted', async () => {
    for (const second of [...upTo(ALL), 127, 128, 129, 256, SIZE]) {
      for (const size of upTo(second)) {
        const proof = await stored.roots(consistencyRanges(size, second));
        expect(proof).toEqual(subproof(size, first(second), true));
        expect(areConsistent(sized(size), sized(second), proof)).toBe(true);
      }
    }
  }, 60_000);

  test('is refused when it, a root or a size was altered', () => {
    for (const second of upTo(40)) {
      for (const size of upTo(second)) {
        const proof = subproof(size, first(second), true);
        const [one, two] = [sized(size), sized(second)];
        expect(areConsistent({ size, root: changed(one.root) }, two, proof)).toBe(false);
        expect(areConsistent(one, { size: second, root: changed(two.root) }, proof)).toBe(false);
        for (const other of spoilt(proof)) expect(areConsistent(one, two, other)).toBe(false);
        expect(areConsistent({ ...one, size: 0 }, two, proof)).toBe(false);
        if (size < second) expect(areConsistent(two, one, proof)).toBe(false);
      }
    }
  });
});

describe('the stored tree', () => {
  test('finds every leaf by its position, and none where there is none', async () => {
    for (const [index, leaf] of leaves.entries()) {
      const position = positionOf(index);
      expect(await stored.find(position)).toEqual({ index, leaf: [position, `event-${index}`, leaf] });
      expect(await stored.find(position + 1)).toBeUndefined();
    }
    expect(await stored.find(1)).toBeUndefined();
    expect(await StoredTree.open(readModels, 'elsewhere')).toBeUndefined();
  });

  test('knows the root of every earlier size', async () => {
    for (const size of upTo(SIZE)) expect(await stored.rootAt(size)).toBe(roots[size]);
  });

  test('is as it was when it was opened, whatever is added meanwhile', async () => {
    const other = await openReadModels(`sqlite:${join(folder, 'growing.db')}`);
    let head: Row<TreeHeadRow> | undefined;
    const grow = async (from: number, to: number) => {
      for (let index = from; index < to; index++) {
        const added: TreeLeaf = [positionOf(index), `event-${index}`, leaves[index] as Hash];
        const rows = [addTreeLeaf(head, 'clinic', added)].flat() as Row<TreeHeadRow>[];
        head = rows[0];
        await other.write({ model: treeModel, rows, checkpoint: 0 });
      }
    };
    await grow(0, 100);
    const before = (await StoredTree.open(other, 'clinic')) as StoredTree;
    await grow(100, 200);
    expect(before.head.size).toBe(100);
    expect(await before.find(positionOf(99))).toMatchObject({ index: 99 });
    expect(await before.find(positionOf(100))).toBeUndefined();
    expect(await before.roots(inclusionRanges(70, 100))).toEqual(path(70, first(100)));
    await other.close();
  });
});
