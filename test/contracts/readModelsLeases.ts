import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { ReadModels } from '../../src/ports/readModels.ts';
import { eventually } from '../support/eventually.ts';

const LONG_MS = 60_000;

function unique(label: string): string {
  return `${label}_${randomBytes(4).toString('hex')}`;
}

export function leasesContract(at: () => { store: ReadModels; other: ReadModels }): void {
  test('one owner holds a lease, and may renew it', async () => {
    const { store, other } = at();
    const name = unique('lease');
    expect(await store.acquireLease(name, 'a', LONG_MS)).toBe(true);
    expect(await other.acquireLease(name, 'b', LONG_MS)).toBe(false);
    expect(await store.acquireLease(name, 'a', LONG_MS)).toBe(true);
    expect(await other.acquireLease(name, 'b', 1)).toBe(false);
    expect(await other.acquireLease(unique('lease'), 'b', LONG_MS)).toBe(true);
  });

  test('of many who ask at once, one gets it', async () => {
    const { store, other } = at();
    const name = unique('lease');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? store : other).acquireLease(name, `o${index}`, LONG_MS),
      ),
    );
    expect(answers.filter(Boolean)).toEqual([true]);
  });

  test('a lease that is given back is free at once; only its owner can give it back', async () => {
    const { store, other } = at();
    const name = unique('lease');
    await store.acquireLease(name, 'a', LONG_MS);
    await other.releaseLease(name, 'b');
    expect(await other.acquireLease(name, 'b', LONG_MS)).toBe(false);
    await store.releaseLease(name, 'a');
    expect(await other.acquireLease(name, 'b', LONG_MS)).toBe(true);
    await other.releaseLease('never taken', 'b');
  });

  test('a lease that is not renewed is taken over, one that is renewed is not', async () => {
    const { store, other } = at();
    const [left, renewed] = [unique('lease'), unique('lease')];
    await store.acquireLease(left, 'a', 300);
    await store.acquireLease(renewed, 'a', 300);
    await store.acquireLease(renewed, 'a', LONG_MS);
    const taken: boolean[] = [];
    await eventually(async () => {
      taken.push(await other.acquireLease(renewed, 'b', LONG_MS));
      expect(await other.acquireLease(left, 'b', LONG_MS)).toBe(true);
    });
    taken.push(await other.acquireLease(renewed, 'b', LONG_MS));
    expect(taken).not.toContain(true);
    expect(await store.acquireLease(left, 'a', LONG_MS)).toBe(false);
  });
}
