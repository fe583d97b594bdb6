import { afterEach, expect, test, vi } from 'vitest';
import { generateApiKey } from '../../src/modules/auth/apiKeys.ts';
import type { Client } from '../support/client.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEveryEngine((startOnEngine) => {
  let service: TestService;
  /** Without what follows the log: nothing here asks for it, and each test starts a service. */
  const start = (env: Record<string, string>) => startOnEngine({ ROLES: 'api', ...env });
  afterEach(async () => {
    vi.useRealTimers();
    await service.stop();
  });

  /** The statuses of so many reads, one after another. */
  async function statuses(count: number, client: Client = service) {
    const seen: number[] = [];
    for (let n = 0; n < count; n++) seen.push((await client.get('/integration/payers/none')).status);
    return seen;
  }
  const times = (count: number, status: number) => Array.from({ length: count }, () => status);

  test.each([
    ['by default', ''],
    ['as set', '100'],
  ])('100 requests a minute are let in, the 101st is 429: %s', async (_label, setting) => {
    service = await start({ RATE_LIMIT_PER_MINUTE: setting });
    const first = await service.get('/integration/payers/none');
    expect(first.status).toBe(404);
    expect(first.headers['ratelimit-policy']).toBe('"default";q=100;w=60');
    expect(first.headers.ratelimit).toMatch(/^"default";r=99;t=([1-9]|[1-5]\d|60)$/);
    expect(await statuses(99)).toEqual(times(99, 404));
    const appended = await appendedBy(service, async () => {
      const refused = await service.post('/integration/payers', samples.payer());
      const { retryAfter } = refused.body;
      expect(refused).toMatchObject({
        status: 429,
        body: { error: expect.any(String), code: 'rate_limited', requestId: expect.any(String) },
      });
      expect(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 60).toBe(true);
      expect(refused.headers['retry-after']).toBe(String(retryAfter));
      expect(refused.headers.ratelimit).toBe(`"default";r=0;t=${retryAfter}`);
      expect(refused.headers['ratelimit-policy']).toBe('"default";q=100;w=60');
    });
    expect(appended).toEqual([]);
  });

  test('all keys of one address are counted together, and so are wrong keys', async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '6' });
    const second = service.as((await service.createKey('other')).key);
    expect(await statuses(2)).toEqual(times(2, 404));
    expect(await statuses(2, second)).toEqual(times(2, 404));
    expect(await statuses(2, service.as(generateApiKey()))).toEqual(times(2, 401));
    for (const client of [service, second, service.as('no-key-at-all')]) {
      expect(await statuses(1, client)).toEqual([429]);
    }
  });

  test('requests without a key are 401 and do not count, nor do health checks and unknown paths', async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '3' });
    expect(await statuses(5, service.as(undefined))).toEqual(times(5, 401));
    for (let n = 0; n < 5; n++) {
      expect((await service.get('/healthz')).status).toBe(200);
      expect((await service.get('/readyz')).status).toBe(200);
      expect((await service.get('/nowhere')).status).toBe(404);
    }
    expect(await statuses(4)).toEqual([404, 404, 404, 429]);
    expect(await statuses(1, service.as(undefined))).toEqual([401]);
  });

  test('RATE_LIMIT_PER_MINUTE=0 turns the limit off', async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '0' });
    expect(await statuses(150)).toEqual(times(150, 404));
    expect((await service.get('/integration/payers/none')).headers.ratelimit).toBeUndefined();
  });

  test.each([
    ['an hour', 3_600_000],
    ['half a minute', 30_000],
  ])('a clock that goes back by %s lets nobody wait longer than a minute', async (_label, backBy) => {
    // The clock is that of this thread alone.
    service = await start({ RATE_LIMIT_PER_MINUTE: '2' });
    expect(await statuses(3)).toEqual([404, 404, 429]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - backBy });
    // A count that goes by the clock of the day begins anew; one by a monotonic clock goes on.
    expect((await statuses(3)).at(-1)).toBe(429);
    const { status, headers, body } = await service.get('/integration/payers/none');
    expect(status).toBe(429);
    expect(body.retryAfter).toBeLessThanOrEqual(60);
    expect(headers['retry-after']).toBe(String(body.retryAfter));
  });
});
