import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { decryptSecret, encryptSecret, generateSecret } from '../../src/modules/webhooks/secrets.ts';
import { SEALING_KEY_BYTES } from '../../src/platform/encryption.ts';

const key = randomBytes(SEALING_KEY_BYTES);
const owner = { workspace: 'clinic', id: 'wh_7bQ2nVx0KfT4sLdR' };

const bytesOf = (sealed: string) => Buffer.from(sealed.replace(/^v2\./, ''), 'base64');
const sealOf = (bytes: Buffer) => `v2.${bytes.toString('base64')}`;

test('a secret is whsec_ and 32 random bytes in base64', () => {
  const secret = generateSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(generateSecret()).not.toBe(secret);
});

test('what was sealed is unsealed with the same key', () => {
  for (const text of [generateSecret(), '', 'ü €'])
    expect(decryptSecret(key, owner, encryptSecret(key, owner, text))).toBe(text);
});

test('a seal hides its text, and is another one each time', () => {
  const secret = generateSecret();
  const sealed = encryptSecret(key, owner, secret);
  expect(bytesOf(sealed).includes(secret)).toBe(false);
  expect(encryptSecret(key, owner, secret)).not.toBe(sealed);
});

test('another key, a changed byte and a cut seal are refused', () => {
  const sealed = encryptSecret(key, owner, generateSecret());
  expect(() => decryptSecret(randomBytes(SEALING_KEY_BYTES), owner, sealed)).toThrow();
  const bytes = bytesOf(sealed);
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    expect(() => decryptSecret(key, owner, sealOf(changed))).toThrow();
  }
  for (const length of [0, 12, 20, 28, bytes.length - 1]) {
    expect(() => decryptSecret(key, owner, sealOf(bytes.subarray(0, length)))).toThrow();
  }
});

test('a seal is bound to its webhook: of another one, or without its version, it is refused', () => {
  const sealed = encryptSecret(key, owner, generateSecret());
  expect(() => decryptSecret(key, { ...owner, id: 'wh_0000000000000000' }, sealed)).toThrow();
  expect(() => decryptSecret(key, { ...owner, workspace: 'south' }, sealed)).toThrow();
  expect(() => decryptSecret(key, owner, bytesOf(sealed).toString('base64'))).toThrow();
});

test('what was sealed before seals were bound to webhooks is unsealed as before', () => {
  // By release 0.1.0 of the key and the text.
  const old = '3fMiQ2p0HDzFq2JrMks0KZj2I7kza9Z36NjsmJawiG8n2oJQvBjmuqPyKmOCKJRTFAI/5TlyrapJFslO0yeBt2WR';
  expect(decryptSecret(Buffer.alloc(SEALING_KEY_BYTES, 7), owner, old)).toBe(
    'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  );
});
