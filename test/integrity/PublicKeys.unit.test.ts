import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PublicKeys, signObject } from '../../src/modules/integrity/publicKeys.ts';
import { keyId, signKeyRotation } from '../../src/modules/integrity/signing.ts';

const LOG = '6f1c1f53-7f0a-4d0b-9a0e-3c9e5d0a7b11';
const newKey = () => generateKeyPairSync('ed25519').privateKey;
const publicOf = (key: KeyObject) => createPublicKey(key);
const [a, b, c, thief] = [newKey(), newKey(), newKey(), newKey()] as [
  KeyObject,
  KeyObject,
  KeyObject,
  KeyObject,
];
const [ab, bc] = [signKeyRotation(LOG, a, b), signKeyRotation(LOG, b, c)];
const now = new Date().toISOString();
const signedBy = (privateKey: KeyObject, rotations = [ab, bc], created_at = now) =>
  signObject({ text: 'x', created_at }, { privateKey, rotations });

describe('signatures of keys that came one after the other', () => {
  test.each([
    [
      'a file tells how its key came after the one that is trusted',
      new PublicKeys([publicOf(a)]),
      signedBy(c),
    ],
    ['the trusted key leads to those before it', new PublicKeys([publicOf(c)], [ab, bc]), signedBy(a, [])],
    ['in whatever order', new PublicKeys([publicOf(c)], [bc, ab]), signedBy(a, [])],
    ['from the middle', new PublicKeys([publicOf(b)], [ab]), signedBy(c)],
    ['read from the text', PublicKeys.parse(new PublicKeys([publicOf(c)], [ab, bc]).text()), signedBy(a, [])],
  ])('hold: %s', (_how, keys, signed) => {
    expect(keys.problem(signed)).toBeUndefined();
  });

  test('do not hold when the file’s own rotations are the only way back, or were not signed by both keys', () => {
    expect(new PublicKeys([publicOf(c)]).problem(signedBy(a))).toContain('it was signed with the key');
    const half = {
      ...ab,
      next_signature: { ...ab.next_signature, signature: ab.previous_signature.signature },
    };
    expect(new PublicKeys([publicOf(a)]).problem(signedBy(b, [half]))).toContain(
      'it was signed with the key',
    );
    const other = { ...ab, rotated_at: '2020-01-01T00:00:00.000Z' };
    expect(new PublicKeys([publicOf(b)], [other]).problem(signedBy(a, []))).toContain('it was signed with');
  });

  test('hold of a key that was replaced up to its end, and five minutes more for clocks that differ', () => {
    const keys = new PublicKeys([publicOf(b)], [ab]);
    const at = (minutes: number) => new Date(Date.parse(ab.rotated_at) + minutes * 60_000).toISOString();
    expect(keys.problem(signedBy(a, [], at(4)))).toBeUndefined();
    expect(keys.problem(signedBy(a, [], at(6)))).toContain(`which was replaced at ${ab.rotated_at}`);
    expect(keys.problem(signedBy(a, [], 'soon'))).toContain('it claims to have been signed at soon');
  });

  test('do not hold of a successor that a stolen key names after its end, or of one before it', () => {
    const keys = new PublicKeys([publicOf(b)], [ab]);
    const stolen = [signKeyRotation(LOG, a, thief), signKeyRotation(LOG, thief, a)];
    for (const rotation of stolen)
      expect(keys.problem(signedBy(thief, [rotation]))).toContain(
        `it was signed with the key ${keyId(publicOf(thief))}`,
      );
  });
});
