import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { expect, test } from 'vitest';
import { parsePublicKeys } from '../../src/modules/auth/publicKeys.ts';
import { clientKeys } from '../support/emr.ts';

const { publicJwk: ec, privateJwk } = await clientKeys('ES384', 'ec');
const { publicJwk: rsa } = await clientKeys('RS384', 'rsa');
const curve256 = {
  ...(await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey)),
  kid: 'p256',
};
const weak: JWK = { ...rsa, n: Buffer.alloc(128, 0xff).toString('base64url') };

test('of a set, the keys for signatures stay, with what verifies them', () => {
  const encrypts = { ...ec, kid: 'other', use: 'enc' };
  const keys = parsePublicKeys({ keys: [rsa, curve256, { ...ec, x5c: ['MII'] }, encrypts, weak] });
  const { alg: _ec, use: _ecUse, ...plainEc } = ec;
  const { alg: _rsa, use: _rsaUse, ...plainRsa } = rsa;
  expect(keys).toEqual([plainRsa, plainEc]);
});

test.each([ec, rsa])('a key without kid has its thumbprint', async ({ kid: _kid, ...key }) => {
  expect(parsePublicKeys(key)[0]?.kid).toBe(await calculateJwkThumbprint(key));
});

test.each<[string, unknown, string]>([
  ['text', 'key', 'must be a JWK set or a JWK'],
  ['a list', [ec], 'must be a JWK set or a JWK'],
  ['a set of texts', { keys: ['key'] }, 'must be a JWK set or a JWK'],
  ['an empty set', { keys: [] }, 'must have a public key'],
  ['a key for other algorithms', curve256, 'must have a public key'],
  ['a short RSA key', weak, 'must have a public key'],
  ['a key for another algorithm', { ...rsa, alg: 'RS256' }, 'must have a public key'],
  ['a private key', privateJwk, 'must not have a private key'],
  ['a point off the curve', { ...ec, x: ec.y, y: ec.x }, 'has a key that is not valid'],
  ['two of one kid', { keys: [ec, { ...rsa, kid: 'ec' }] }, 'must not have two keys of the same kid'],
  ['eleven', { keys: Array.from({ length: 11 }, (_, at) => ({ ...ec, kid: `${at}` })) }, 'at most 10 keys'],
])('%s is refused', (_label, value, message) => {
  expect(() => parsePublicKeys(value)).toThrow(
    expect.objectContaining({ code: 'validation_failed', message: expect.stringContaining(message) }),
  );
});
