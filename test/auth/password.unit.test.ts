import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashPassword, verifyPassword } from '../../src/modules/auth/passwords.ts';

const password = () => randomBytes(12).toString('hex');

test('a hash is of this password alone, and never the same twice', async () => {
  const own = password();
  const [hash, again] = [await hashPassword(own), await hashPassword(own)];
  expect(hash).toEqual({
    algorithm: 'scrypt',
    N: 65_536,
    r: 8,
    p: 2,
    salt: expect.stringMatching(/^.{22}==$/),
    hash: expect.stringMatching(/^.{43}=$/),
  });
  expect(again.salt).not.toBe(hash.salt);
  expect(again.hash).not.toBe(hash.hash);
  expect(await verifyPassword(own, hash)).toBe(true);
  expect(await verifyPassword(`${own} `, hash)).toBe(false);
  expect(await verifyPassword('', hash)).toBe(false);
  expect(await verifyPassword(own, undefined)).toBe(false);
});

test('a stored hash keeps its own parameters', async () => {
  // RFC 7914, section 12: scrypt("pleaseletmein", "SodiumChloride", N=16384, r=8, p=1), its first 32 bytes.
  const hash = Buffer.from('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2', 'hex');
  const salt = Buffer.from('SodiumChloride').toString('base64');
  const stored = { algorithm: 'scrypt', N: 16_384, r: 8, p: 1, salt, hash: hash.toString('base64') } as const;
  expect(await verifyPassword('pleaseletmein', stored)).toBe(true);
});

test('letters that look alike are alike, however they were typed', async () => {
  const typed = 'Müller und Söhne';
  expect(await verifyPassword(typed.normalize('NFD'), await hashPassword(typed.normalize('NFC')))).toBe(true);
});

test('beyond what is worked on and what waits, others are asked to come back', async () => {
  const salt = Buffer.from('SodiumChloride').toString('base64');
  const hash = Buffer.alloc(32).toString('base64');
  const stored = { algorithm: 'scrypt', N: 1024, r: 8, p: 1, salt, hash } as const;
  const results = await Promise.allSettled(
    Array.from({ length: 25 }, () => verifyPassword(password(), stored)),
  );
  const refused = results.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(refused.map(({ reason }) => reason)).toEqual(
    Array.from({ length: 3 }, () =>
      expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: expect.any(Number) }),
    ),
  );
});
