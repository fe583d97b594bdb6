import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  generateApiKey,
  generateId,
  generateTestKey,
  hashApiKey,
  looksLikeApiKey,
} from '../../src/modules/auth/apiKeys.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base62 = fc.constantFrom(...BASE62);
const place = fc.integer({ min: 0, max: 41 });

describe('an API key', () => {
  test('is clk_, 32 random characters and 6 of its checksum', () => {
    const keys = new Set(Array.from({ length: 1_000 }, generateApiKey));
    expect(keys.size).toBe(1_000);
    for (const key of keys) {
      expect(key).toMatch(/^clk_[0-9A-Za-z]{38}$/);
      expect(looksLikeApiKey(key)).toBe(true);
    }
  });

  test('of a sandbox begins with clk_test_, as no other does, and has the same checksum', () => {
    const key = generateTestKey();
    expect(key).toMatch(/^clk_test_[0-9A-Za-z]{38}$/);
    expect(looksLikeApiKey(key)).toBe(true);
    expect(looksLikeApiKey(key.replace('test_', ''))).toBe(false);
    expect(looksLikeApiKey(generateApiKey().replace('clk_', 'clk_test_'))).toBe(false);
  });

  test('is not one any more when any one character is changed', () => {
    fc.assert(
      fc.property(place, base62, (at, character) => {
        const key = generateApiKey();
        fc.pre(key[at] !== character);
        return !looksLikeApiKey(key.slice(0, at) + character + key.slice(at + 1));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is not one any more when a character is left out or comes twice, or two neighbours change places', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), (at) => {
        const key = generateApiKey();
        const swapped = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2);
        expect(looksLikeApiKey(key.slice(0, at) + key.slice(at + 1))).toBe(false);
        expect(looksLikeApiKey(key.slice(0, at) + key[at] + key.slice(at))).toBe(false);
        if (swapped !== key) expect(looksLikeApiKey(swapped)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test('no other text is one', () => {
    fc.assert(fc.property(fc.string(), (text) => !looksLikeApiKey(text)));
    fc.assert(fc.property(fc.string(), (text) => !looksLikeApiKey(generateApiKey() + text) || text === ''));
  });

  test('is stored as its SHA-256', () => {
    expect(hashApiKey('clk_example')).toMatch(/^[0-9a-f]{64}$/);
    expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  test('has an id that says nothing of it', () => {
    expect(generateId('key')).toMatch(/^key_[0-9A-Za-z]{16}$/);
    expect(generateId('key')).not.toBe(generateId('key'));
  });
});
