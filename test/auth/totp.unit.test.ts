import { describe, expect, test } from 'vitest';
import {
  hashRecoveryCode,
  newRecoveryCodes,
  newTotpSecret,
  totpStep,
  totpUri,
} from '../../src/modules/auth/twoFactor.ts';

/** RFC 6238, appendix B: the ASCII text 12345678901234567890. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('a code', () => {
  test.each([
    [59, '287082', 1],
    [1_111_111_109, '081804', 37_037_036],
    [1_234_567_890, '005924', 41_152_263],
    [20_000_000_000, '353130', 666_666_666],
  ])('at second %d is that of RFC 6238', (seconds, code, step) => {
    expect(totpStep(SECRET, code, seconds * 1000)).toBe(step);
  });

  test('is taken from one step before to one step after its own, and no longer', () => {
    const steps = [-2, -1, 0, 1, 2].map((offset) =>
      totpStep(SECRET, '081804', (1_111_111_109 + offset * 30) * 1000),
    );
    expect(steps).toEqual([undefined, 37_037_036, 37_037_036, 37_037_036, undefined]);
  });

  test.each(['', '81804', '0818040', 'abcdef', '081805'])('that is none is not taken: %j', (code) => {
    expect(totpStep(SECRET, code, 1_111_111_109_000)).toBeUndefined();
  });
});

test('a secret has 160 bits, and is another one each time', () => {
  expect(newTotpSecret()).toMatch(/^[A-Z2-7]{32}$/);
  expect(newTotpSecret()).not.toBe(newTotpSecret());
});

test('an app is told whose the secret is, and nothing that apps do not take', () => {
  const uri = new URL(totpUri(SECRET, 'ada@clinic.example'));
  expect(uri.href).toMatch(/^otpauth:\/\/totp\/Chartledger:ada%40clinic\.example\?/);
  expect(Object.fromEntries(uri.searchParams)).toEqual({
    issuer: 'Chartledger',
    secret: SECRET,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
});

test('recovery codes are ten, all different, and found however they are typed', () => {
  const codes = newRecoveryCodes();
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^([a-hjkmnp-z2-9]{4}-){3}[a-hjkmnp-z2-9]{4}$/);
  const [code = ''] = codes;
  expect(hashRecoveryCode(` ${code.toUpperCase().replaceAll('-', ' ')} `)).toBe(hashRecoveryCode(code));
  expect(hashRecoveryCode(code)).toMatch(/^[0-9a-f]{64}$/);
});
