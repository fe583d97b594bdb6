import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RateLimiter, RateLimiters } from '../../../src/storage/rateLimiters.ts';
import { eventually } from '../../support/eventually.ts';

const limit = { name: 'points', points: 10, seconds: 60 };

/** What every backend of limiters promises of counting several times at once. `open` opens one over an empty store. */
export function rateLimitersContract(open: () => Promise<RateLimiters>): void {
  let limiters: RateLimiters;
  let limiter: RateLimiter;
  beforeAll(async () => {
    limiters = await open();
    limiter = limiters.limiter(limit);
  });
  afterAll(() => limiters.close());

  /** With a key that was never counted; with another one where a store was slow, as counts then begin elsewhere. */
  const withFreshKey = (work: (key: string) => Promise<void>) =>
    eventually(() => work(randomBytes(8).toString('hex')));

  test('several times at once count as one by one', () =>
    withFreshKey(async (key) => {
      expect(await limiter.consume(key, 4)).toMatchObject({ refused: false, refusals: 0, remaining: 6 });
      expect(await limiter.consume(key)).toMatchObject({ refused: false, refusals: 0, remaining: 5 });
      expect(await limiter.consume(key, 5)).toMatchObject({ refused: false, refusals: 0, remaining: 0 });
      expect(await limiter.consume(key)).toMatchObject({ refused: true, refusals: 1, remaining: 0 });
    }));

  test('what passes the limit on the way is refused, and tells how many are beyond it', () =>
    withFreshKey(async (key) => {
      await limiter.consume(key, 7);
      const count = await limiter.consume(key, 5);
      expect(count).toMatchObject({ refused: true, refusals: 2, remaining: 0 });
      expect(count.msBeforeReset).toBeGreaterThan(0);
      expect(count.msBeforeReset).toBeLessThanOrEqual(limit.seconds * 1_000);
      const after = await limiter.consume(key, 3);
      expect(after).toMatchObject({ refused: true, remaining: 0 });
      // Beyond the limit a backend need not count on.
      expect([0, 5]).toContain(after.refusals);
    }));

  test('more at once than the whole limit are refused beyond it', () =>
    withFreshKey(async (key) => {
      expect(await limiter.consume(key, 25)).toMatchObject({ refused: true, refusals: 15, remaining: 0 });
      expect(await limiter.consume(key, 25)).toMatchObject({ refused: true, remaining: 0 });
    }));

  test('they count for their key and limit alone, until it is reset', () =>
    withFreshKey(async (key) => {
      await limiter.consume(key, 25);
      expect(await limiter.consume(`${key}-other`, 2)).toMatchObject({ refused: false, remaining: 8 });
      const others = limiters.limiter({ ...limit, name: 'others' });
      expect(await others.consume(key, 3)).toMatchObject({ refused: false, remaining: 7 });
      await limiter.reset(key);
      expect(await limiter.consume(key, 10)).toMatchObject({ refused: false, refusals: 0, remaining: 0 });
    }));
}
