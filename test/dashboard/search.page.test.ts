import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  BrowserlessSession,
  expectAccessible,
  startDashboard,
  type TestDashboard,
  takePictures,
  textOf,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { accessesBy, sharedService, type TestService } from '../support/service.ts';

let dashboard: TestDashboard;
let service: TestService;
let root: string;
const maria = { ...samples.patient(), last_name: phi('Quetzal'), first_name: 'María' };
const mario = { ...maria, id: phi('patient'), first_name: 'Mario', date_of_birth: '1990-01-02' };

beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
  ({ service } = dashboard);
  root = `/workspaces/${service.workspaceId('clinic')}`;
  for (const patient of [maria, mario])
    expect((await service.post('/integration/patients', patient)).status).toBe(200);
}, 60_000);
afterAll(() => dashboard.stop());

test('the box on every page leads from a name to the record, and the name is in no address', async () => {
  const page = await dashboard.openAs('compliance', root);
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  const accesses = await accessesBy(service, async () => {
    await page.keyboard.press('/');
    await page.keyboard.type(`quetzal mar`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor();
    const rows = page.locator('tbody tr');
    expect(await rows.count()).toBe(2);
    expect(await textOf(rows.first())).toContain(`Mario ${maria.last_name} ${mario.id} Jan 2, 1990`);
    expect(await page.locator('mark').allTextContents()).toEqual(
      ['Mario', 'María'].flatMap((name) => [name, ...maria.last_name.split('-').slice(0, 1)]),
    );
    expect(await page.getByLabel('Search for').inputValue()).toBe('quetzal mar');
    await page.getByLabel('Search for').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp']) await page.keyboard.press(key);
    expect(await page.locator(':focus').textContent()).toBe(`Mario ${maria.last_name}`);
    await expectAccessible(page);
    await takePictures(page, 'search');
  });
  expect(accesses).toMatchObject([
    {
      action: 'record.search',
      query: { for: ['name'] },
      shown: { things: [mario, maria].map(({ id }) => ({ kind: 'patient', record_id: id })) },
    },
  ]);
  await page.getByRole('link', { name: `María ${maria.last_name}` }).click();
  await page.getByRole('heading', { level: 1, name: `Patient María ${maria.last_name}` }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: `Mario ${maria.last_name}` }).waitFor();
  expect(addresses.filter((address) => /quetzal/i.test(address))).toEqual([]);
});

test('it is narrowed to a kind, pages, and works without scripts', async () => {
  const encounter = await createEncounter(service);
  const name = phi('Scan').toLowerCase();
  for (let count = 0; count < 26; count += 1) {
    const form = documentForm({ filename: `${name} ${count}.pdf` });
    expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
  }
  const visitor = new BrowserlessSession(service.url);
  await visitor.signIn(await dashboard.createUser('compliance'));
  await visitor.get(`${root}/search`);
  const sent = await visitor.post(`${root}/search`, { q: ` ${name}  pdf ` });
  expect([sent.status, sent.headers.location]).toEqual([303, `/dashboard${root}/search?n=1`]);
  const all = await visitor.get(`${root}/search?n=1`);
  expect(all.text.match(/<th scope="row"/g)).toHaveLength(5);
  const [, narrowed = ''] = /href="\/dashboard([^"]+)">All documents that match/.exec(all.text) ?? [];
  const first = await visitor.get(narrowed.replaceAll('&amp;', '&'));
  expect(first.text.match(/<th scope="row"/g)).toHaveLength(25);
  const [, next = ''] = /href="\/dashboard([^"]+)" rel="next"/.exec(first.text) ?? [];
  const second = await visitor.get(next.replaceAll('&amp;', '&'));
  expect(second.text.match(/<th scope="row"/g)).toHaveLength(1);
  expect(second.text).toContain(`/documents/`);
  const nothing = await visitor.get(`${root}/search?n=1&kind=payer`);
  expect(nothing.text).toContain('Nothing matches all of');
  expect(nothing.text).toContain(`href="/dashboard${root}/search?n=1">Search all kinds`);
  expect((await visitor.get(`${root}/search?n=1&kind=nothing`)).status).toBe(400);
  const refused = await visitor.post(`${root}/search`, { q: 'x'.repeat(1001) });
  expect([refused.status, refused.text]).toEqual([
    400,
    expect.stringContaining('must be at most 1000 characters'),
  ]);
  expect((await visitor.get(`${root}/search?n=99`)).text).toContain('no longer available');
});

test('the id of a refused request leads to it, for those who may see it', async () => {
  const refused = await service.post('/integration/patients', { id: maria.id });
  const requestId = String(refused.headers['request-id']);
  const found = `/dashboard${root}/requests/${requestId}`;
  const visitor = new BrowserlessSession(service.url);
  await visitor.signIn(await dashboard.createUser('compliance'));
  await visitor.get(`${root}/search`);
  const search = async (q: string, kind = '') => {
    const { headers } = await visitor.post(`${root}/search`, { q });
    return (await visitor.get(String(headers.location).slice('/dashboard'.length) + kind)).text;
  };
  const accesses = await accessesBy(service, async () => {
    const text = await search(` ${requestId.toUpperCase()} `);
    expect(text).toContain(found);
    expect(text).toContain('Validation failed');
    expect(text).not.toContain('Nothing matches all of');
  });
  expect(accesses).toMatchObject([
    { action: 'record.search', query: { for: ['id'] } },
    { action: 'audit.read', query: { request_id: requestId } },
  ]);
  for (const [q, kind] of [
    [requestId.slice(0, -1), ''],
    [requestId, '&kind=patient'],
    ['00000000-0000-7000-8000-000000000000', ''],
  ] as const) {
    const text = await search(q, kind);
    expect(text).not.toContain(found);
    expect(text).toContain('Nothing matches all of');
  }
  const south = `/workspaces/${service.workspaceId('south')}`;
  await service.createKey('south');
  const { headers } = await visitor.post(`${south}/search`, { q: requestId });
  const elsewhere = await visitor.get(String(headers.location).slice('/dashboard'.length));
  expect(elsewhere.text).toContain('Nothing matches all of');
});

test('a field that is not shown of every record is, where it has what was searched for', async () => {
  const phone = '(402) 555-0173';
  const patient = { ...samples.patient(), phone, last_name: phi('Ringer') };
  await service.post('/integration/patients', patient);
  const visitor = new BrowserlessSession(service.url);
  await visitor.signIn(await dashboard.createUser('billing'));
  await visitor.get(`${root}/search`);
  const { headers } = await visitor.post(`${root}/search`, { q: '5550173 ringer' });
  const { text } = await visitor.get(String(headers.location).slice('/dashboard'.length));
  expect(text).toContain(`Phone</span> <mark><bdi>${phone}</bdi></mark>`);
});

test('who may not see records has no box, and is refused', async () => {
  const page = await dashboard.openAs('viewer', root);
  expect(await page.getByRole('searchbox').count()).toBe(0);
  expect((await page.goto(`/dashboard${root}/search`))?.status()).toBe(403);
});
