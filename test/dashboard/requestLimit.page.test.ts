import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import { BrowserlessSession, startDashboard, type TestDashboard } from '../support/dashboard.ts';
import { startTestService } from '../support/service.ts';

const LIMIT = 20;

let dashboard: TestDashboard;
let limited: Client & { stop(): Promise<void> };
beforeAll(async () => {
  dashboard = await startDashboard(await startTestService());
  limited = await dashboard.service.another({
    DASHBOARD_RATE_LIMIT_PER_MINUTE: String(LIMIT),
    RATE_LIMIT_PER_MINUTE: String(LIMIT),
    TRUST_PROXY: '1',
  });
});
afterAll(async () => {
  await limited.stop();
  await dashboard.stop();
  await dashboard.service.stop();
});

let lastAddress = 0;
function visitor(address = `192.0.2.${++lastAddress}`): BrowserlessSession {
  return new BrowserlessSession(limited.url, { 'x-forwarded-for': address });
}

async function statuses(somebody: BrowserlessSession, path: string, count: number): Promise<number[]> {
  const seen: number[] = [];
  for (let n = 0; n < count; n++) seen.push((await somebody.get(path)).status);
  return seen;
}

test('requests of a session are limited, whatever address they come from, and those of another go on', async () => {
  const user = await dashboard.createUser('viewer');
  const [here, elsewhere, second] = [visitor(), visitor(), visitor()];
  await here.signIn(user);
  await second.signIn(user);
  elsewhere.takeOver([...here.cookies].map(([name, value]) => ({ name, value })));
  expect(await statuses(here, '/reference', LIMIT)).toEqual(Array(LIMIT).fill(200));
  const { status, headers, text } = await elsewhere.get('/account');
  expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^([1-9]|[1-5]\d|60)$/)]);
  expect(text).toContain('Too many requests');
  expect((await second.get('/account')).status).toBe(200);
});

test('before the sign-in they are limited by address, of IPv6 by network', async () => {
  expect(await statuses(visitor('2001:db8::1'), '/sign-in', LIMIT)).toEqual(Array(LIMIT).fill(200));
  expect((await visitor('2001:db8::2').get('/sign-in')).status).toBe(429);
  expect((await visitor().get('/sign-in')).status).toBe(200);
});

test('they take nothing from the limit of the API, and that takes nothing from them', async () => {
  const address = '192.0.2.200';
  const somebody = visitor(address);
  expect((await statuses(somebody, '/sign-in', LIMIT + 1)).at(-1)).toBe(429);
  const ask = () => limited.get('/integration/payers/none', { 'x-forwarded-for': address });
  for (let n = 0; n < LIMIT; n++) expect((await ask()).status).toBe(404);
  expect((await ask()).status).toBe(429);
  const other = visitor('192.0.2.201');
  const askThere = () => limited.get('/integration/payers/none', { 'x-forwarded-for': '192.0.2.201' });
  for (let n = 0; n <= LIMIT; n++) await askThere();
  expect((await other.get('/sign-in')).status).toBe(200);
});
