import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Leases } from '../../../src/storage/leases.ts';
import { eventually } from '../../support/eventually.ts';

const LONG_MS = 60_000;

function unique(label: string): string {
  return `${label}_${randomBytes(4).toString('hex')}`;
}

/** What every backend of leases promises. `open` opens one more instance over the same store. */
export function leasesContract(open: () => Promise<Leases>): void {
  let leases: Leases;
  /** Another instance, as another process would have. */
  let other: Leases;
  beforeAll(async () => {
    [leases, other] = await Promise.all([open(), open()]);
  });
  afterAll(() => Promise.all([leases.close(), other.close()]));

  test('one owner holds a lease, and may renew it', async () => {
    const name = unique('lease');
    expect(await leases.acquire(name, 'a', LONG_MS)).toBe(true);
    expect(await other.acquire(name, 'b', LONG_MS)).toBe(false);
    expect(await leases.acquire(name, 'a', LONG_MS)).toBe(true);
    expect(await other.acquire(name, 'b', 1)).toBe(false);
    expect(await other.acquire(unique('lease'), 'b', LONG_MS)).toBe(true);
  });

  test('of many who ask at once, one gets it', async () => {
    const name = unique('lease');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? leases : other).acquire(name, `o${index}`, LONG_MS),
      ),
    );
    expect(answers.filter(Boolean)).toEqual([true]);
  });

  test('a lease that is given back is free at once; only its owner can give it back', async () => {
    const name = unique('lease');
    await leases.acquire(name, 'a', LONG_MS);
    await other.release(name, 'b');
    expect(await other.acquire(name, 'b', LONG_MS)).toBe(false);
    await leases.release(name, 'a');
    expect(await other.acquire(name, 'b', LONG_MS)).toBe(true);
    await other.release('never taken', 'b');
  });

  test('a lease that is not renewed is taken over, one that is renewed is not', async () => {
    const [left, renewed] = [unique('lease'), unique('lease')];
    await leases.acquire(left, 'a', 300);
    await leases.acquire(renewed, 'a', 300);
    await leases.acquire(renewed, 'a', LONG_MS);
    const taken: boolean[] = [];
    await eventually(async () => {
      taken.push(await other.acquire(renewed, 'b', LONG_MS));
      expect(await other.acquire(left, 'b', LONG_MS)).toBe(true);
    });
    taken.push(await other.acquire(renewed, 'b', LONG_MS));
    expect(taken).not.toContain(true);
    expect(await leases.acquire(left, 'a', LONG_MS)).toBe(false);
  });
}
