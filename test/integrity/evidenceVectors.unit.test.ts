import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { canonicalJson } from '../../src/domain/events/canonicalJson.ts';
import {
  addLeaf,
  areConsistent,
  emptyTree,
  eventLeaf,
  leafHash,
  rootOfInclusion,
  treeRoot,
} from '../../src/domain/merkle.ts';
import { PublicKeys } from '../../src/modules/integrity/publicKeys.ts';
import { keyId, parsePublicKey } from '../../src/modules/integrity/signing.ts';

const { event, tree, signature } = JSON.parse(readFileSync('examples/evidence-vectors.json', 'utf8'));

test('the leaf of an event is the hash of its canonical JSON', () => {
  expect(canonicalJson(event.event)).toBe(event.canonical);
  expect(createHash('sha256').update(`\0${event.canonical}`).digest('hex')).toBe(event.leaf);
  expect(eventLeaf(event.event)).toBe(event.leaf);
});

test('trees of one to seven leaves have the roots, and the proofs lead to them', () => {
  expect(tree.texts.map(leafHash)).toEqual(tree.leaves);
  let grown = emptyTree;
  for (const [at, leaf] of tree.leaves.entries()) {
    grown = addLeaf(grown, leaf);
    expect(treeRoot(grown)).toBe(tree.roots[at]);
  }
  for (const { index, size, path } of tree.inclusion)
    expect(rootOfInclusion(tree.leaves[index], index, size, path)).toBe(tree.roots[size - 1]);
  const sized = (size: number) => ({ size, root: tree.roots[size - 1] });
  for (const { first, second, path } of tree.consistency)
    expect(areConsistent(sized(first), sized(second), path)).toBe(true);
});

test('the statement is signed, and the key has its id', () => {
  const { public_key, key_id, statement, signed_text } = signature;
  const { signature: _signature, ...signed } = statement;
  expect(canonicalJson(signed)).toBe(signed_text);
  expect(keyId(parsePublicKey(public_key))).toBe(key_id);
  expect(PublicKeys.parse(public_key).problem(statement)).toBeUndefined();
});
