import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { generateSecret, SEALING_KEY_BYTES, seal, unseal } from '../../src/webhooks/sealSecret.ts';

const key = randomBytes(SEALING_KEY_BYTES);

test('a secret is whsec_ and 32 random bytes in base64', () => {
  const secret = generateSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(generateSecret()).not.toBe(secret);
});

test('what was sealed is unsealed with the same key', () => {
  for (const text of [generateSecret(), '', 'ü €']) expect(unseal(key, seal(key, text))).toBe(text);
});

test('a seal hides its text, and is another one each time', () => {
  const secret = generateSecret();
  const sealed = seal(key, secret);
  expect(Buffer.from(sealed, 'base64').includes(secret)).toBe(false);
  expect(seal(key, secret)).not.toBe(sealed);
});

test('another key, a changed byte and a cut seal are refused', () => {
  const sealed = seal(key, generateSecret());
  expect(() => unseal(randomBytes(SEALING_KEY_BYTES), sealed)).toThrow();
  const bytes = Buffer.from(sealed, 'base64');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    expect(() => unseal(key, changed.toString('base64'))).toThrow();
  }
  for (const length of [0, 12, 20, 28, bytes.length - 1]) {
    expect(() => unseal(key, bytes.subarray(0, length).toString('base64'))).toThrow();
  }
});
