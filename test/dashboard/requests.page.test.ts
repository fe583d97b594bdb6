import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, sendBatch } from '../support/client.ts';
import {
  expectAccessible,
  expectIsolated,
  startDashboard,
  type TestDashboard,
  takePictures,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { accessesBy, sharedService, type TestService } from '../support/service.ts';

let dashboard: TestDashboard;
let service: TestService;
let client: Client;
let workspace: string;
let keyId: string;
let requestId: string;
let batchId: string;
const patientId = phi('patient');
const batchPayer = phi('payer');
const sent = phi('1984-02-30');
const name = phi('Lopez');
beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
  ({ service } = dashboard);
  workspace = service.workspaceId('clinic');
  const { key, id } = await service.keys.createKey(workspace, 'EMR connector', ['write', 'read']);
  keyId = id;
  client = service.as(key);
  await service.post('/integration/patients', { ...samples.patient(), id: patientId });
  const refused = await client.post('/integration/patients', {
    id: patientId,
    first_name: 'Ada',
    date_of_birth: sent,
    primary_insurance: { [name]: name },
  });
  requestId = String(refused.headers['request-id']);
  await client.get(`/integration/patients?${name}=1`);
  const lines = [{ kind: 'payer', record: { id: batchPayer } }];
  batchId = String((await sendBatch(client, lines)).headers['request-id']);
  await service.get(`/integration/payers/${phi('payer')}`);
});
afterAll(() => dashboard.stop());

const path = () => `/workspaces/${workspace}/requests`;
const show = async (page: Page) => {
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForLoadState();
};
const requests = (page: Page) => page.locator('[aria-label$="newest first"] tbody th').allInnerTexts();
const all = [
  'GET /integration/payers/:id',
  'POST /integration/batch',
  'GET /integration/patients',
  'POST /integration/patients',
];

test('the refused requests of a workspace are limited by the form, and the address holds the filters', async () => {
  const page = await dashboard.openAs('compliance', path());
  expect(await requests(page)).toEqual(all);
  await page.getByText('By key and field').click();
  const matrix = page.getByRole('region', { name: 'Refused requests by key and field' });
  const cells = await matrix.getByRole('row').filter({ hasText: 'EMR connector' }).innerText();
  expect(cells).toMatch(/EMR connector(\s+1)+/);
  expect(await matrix.getByRole('columnheader', { name: 'last_name' }).count()).toBe(1);
  await expectAccessible(page);
  await takePictures(page, 'requests');
  await page.getByLabel('API key').selectOption('EMR connector');
  await page.getByLabel('Reason').selectOption('Validation failed');
  await show(page);
  expect(await requests(page)).toEqual(all.slice(1));
  await page.getByLabel('Field at fault').fill('last_name');
  await show(page);
  expect(await requests(page)).toEqual(['POST /integration/patients']);
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
    key: keyId,
    code: 'validation_failed',
    field: 'last_name',
  });
  await page.reload();
  expect(await page.getByLabel('Field at fault').inputValue()).toBe('last_name');
  await page.getByLabel('From').fill('2999-01-01T00:00:00');
  await show(page);
  await page.getByRole('link', { name: 'Show all refused requests' }).click();
  expect(await requests(page)).toEqual(all);
  await page.getByLabel('Status').selectOption('404');
  await show(page);
  expect(await requests(page)).toEqual(all.slice(0, 1));
});

test('a request id leads to the fields at fault, to the key, to the record and to a call of the same shape, without scripts too', async () => {
  const signedIn = await dashboard.openAs('admin', path());
  const page = await dashboard.open(path(), {
    storageState: await signedIn.context().storageState(),
    javaScriptEnabled: false,
  });
  await page.getByLabel('Request ID').fill(` ${requestId} `);
  const accesses = await accessesBy(service, () => show(page));
  expect(accesses).toEqual([{ action: 'audit.read', query: { request_id: requestId } }]);
  expect(new URL(page.url()).pathname).toBe(`/dashboard${path()}/${requestId}`);
  const text = await page.locator('main').innerText();
  for (const told of ['400', 'Validation failed', 'last_name', 'date_of_birth', 'primary_insurance.payer_id'])
    expect(text).toContain(told);
  for (const told of ['is required', 'must be an ISO 8601 date, such as 1984-02-29', 'Accepted later\nno'])
    expect(text).toContain(told);
  expect(await page.content()).not.toContain(sent);
  expect(await page.content()).not.toContain(name);
  expect(await page.locator('#request-call').innerText()).toBe(
    [
      `curl -X POST '${service.url}/integration/patients'`,
      "-H 'x-api-key: <API_KEY>'",
      "-H 'content-type: application/json'",
      `-d '${JSON.stringify(
        {
          id: '<id>',
          first_name: '<first_name>',
          last_name: '<last_name>',
          date_of_birth: '<date_of_birth>',
          primary_insurance: { payer_id: '<payer_id>' },
        },
        null,
        2,
      )}'`,
    ].join(' \\\n  '),
  );
  const linkTo = (label: string) => page.getByRole('link', { name: label }).getAttribute('href');
  expect(await linkTo(patientId)).toBe(`/dashboard/workspaces/${workspace}/records/patients/${patientId}`);
  expect(await linkTo('Key settings')).toBe(`/dashboard/workspaces/${workspace}/keys`);
  await page.getByRole('link', { name: 'All its refused requests' }).click();
  expect(await requests(page)).toEqual(all.slice(1));
});

test('a batch shows its refused lines; no name shows that is not of the interface', async () => {
  const page = await dashboard.openAs('compliance', `${path()}/${batchId}`);
  const text = await page.locator('main').innerText();
  expect(text).toContain('None of the lines was accepted.');
  const line = page.getByRole('region', { name: 'First refused lines' }).getByRole('row').nth(1);
  expect((await line.innerText()).split('\t').map((cell) => cell.trim())).toEqual([
    '1',
    `Payer ${batchPayer}`,
    'Validation failed',
    'name is required',
    'no',
  ]);
  expect(await page.getByRole('link', { name: 'Key settings' }).count()).toBe(0);
  await expectAccessible(page);
  await takePictures(page, 'requests-batch');
  await page.goto(`/dashboard${path()}?field=unknown_field`);
  await page.getByRole('link', { name: 'GET /integration/patients' }).click();
  expect(await page.locator('main').innerText()).toContain('an unknown field name');
  expect(await page.content()).not.toContain(name);
});

test('equal refusals are one row; one that was accepted later says so, and what its sample says is accepted', async () => {
  const other = service.workspaceId('alike');
  const { key } = await service.keys.createKey(other, 'Nightly sync', ['write']);
  const sender = service.as(key);
  const record = { ...samples.patient(), gender: 'unknown' };
  for (let times = 0; times < 3; times++)
    expect((await sender.post('/integration/patients', record)).status).toBe(400);
  const page = await dashboard.openAs('compliance', `/workspaces/${other}/requests`);
  const rows = page.locator('tbody tr');
  expect(await rows.count()).toBe(1);
  const row = await rows.innerText();
  for (const told of ['3 × POST /integration/patients', 'gender must be one of male, female, other'])
    expect(row).toContain(told);
  expect(row).toMatch(/Nightly sync.*3 requests/s);
  await page.getByRole('link', { name: 'POST /integration/patients' }).click();
  const [, body = ''] = /-d '(.*)'/s.exec(await page.locator('#request-call').innerText()) ?? [];
  const values: Record<string, string> = { ...record, gender: 'other' };
  const filled = Object.fromEntries(
    Object.keys(JSON.parse(body)).map((field) => [field, values[field] as string]),
  );
  expect((await sender.post('/integration/patients', filled)).status).toBe(200);
  await page.reload();
  expect(await page.locator('main').innerText()).toMatch(/Accepted later\s+yes, version 1/);
  const long = await service.keys.createKey(other, 'מפתח לילי של מחלקת החיוב והגבייה במרכז הרפואי', [
    'write',
  ]);
  await service.as(long.key).post('/integration/patients', samples.patient());
  await page.goto(`/dashboard/workspaces/${other}/requests`);
  await page.getByLabel('Outcome').selectOption('All');
  await show(page);
  const named = page.getByRole('link', { name: `${record.first_name} ${record.last_name}`, exact: true });
  expect(await named.first().getAttribute('href')).toContain(`/records/patients/${record.id}`);
  expect(await page.locator('tbody th').allInnerTexts()).toEqual([
    ...Array(2).fill('Patient upserted'),
    ...Array(3).fill('Request refused'),
  ]);
  const heights = await Promise.all((await rows.all()).map(async (one) => (await one.boundingBox())?.height));
  expect(Math.max(...heights.map(Number))).toBeLessThan(1.3 * Math.min(...heights.map(Number)));
  await expectAccessible(page);
  await expectIsolated(page);
  await takePictures(page, 'requests-all');
  await page.getByRole('link', { name: 'Request refused' }).first().click();
  await page.getByRole('region', { name: 'Fields at fault' }).waitFor();
});

test('every refusal says what is wrong: a message by the place in it, others by their reason', async () => {
  const other = service.workspaceId('worded');
  const { key } = await service.keys.createKey(other, 'Interface engine', ['write', 'read']);
  const sender = service.as(key);
  const hl7 = (...segments: string[]) =>
    sender.send('/hl7/v2', {
      method: 'POST',
      headers: { 'content-type': 'application/hl7-v2' },
      body: segments.join('\r'),
    });
  const message = (patient: string) => [
    'MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^A28^ADT_A05|M1|P|2.5.1',
    ...['EVN|A28|20260314093015-0500', patient],
  ];
  const [unnamed, unborn] = [
    `PID|1||${phi('patient')}^^^ELMST^MR||||19840229|F`,
    `PID|1||${phi('patient')}^^^ELMST^MR||${name}^Maria||19841329|F`,
  ];
  for (const sent of [unborn, unborn]) await hl7(...message(sent));
  await hl7(...message(unborn), ...message(unnamed));
  await hl7('no message');
  await sender.get(`/integration/patients/${phi('patient')}`);
  const page = await dashboard.openAs('compliance', `/workspaces/${other}/requests`);
  const rows = page.locator('[aria-label$="newest first"] tbody tr');
  const wrong = rows.locator('[data-title="What is wrong"]');
  expect(await wrong.allInnerTexts()).toEqual([
    'No patient has this ID.',
    'The body is malformed or incomplete.',
    expect.stringMatching(/^PID-7 Date of birth is not valid and 1 more/),
    'PID-7 Date of birth is not valid',
  ]);
  expect(await rows.last().innerText()).toContain('2 × POST /hl7/v2');
  await rows.nth(2).getByRole('link').first().click();
  const lines = page.getByRole('region', { name: 'First refused messages' });
  expect(await lines.innerText()).toContain('PID-5 Patient name is required');
  expect(await page.locator('main').innerText()).toContain('None of the messages was accepted.');
  await expectAccessible(page);
  await page.getByRole('link', { name: 'PID-7' }).click();
  expect(await requests(page)).toEqual(['POST /hl7/v2', '2 × POST /hl7/v2']);
  await rows.last().getByRole('link').first().click();
  const faults = page.getByRole('region', { name: 'Fields at fault' });
  expect(await faults.innerText()).toMatch(/PID-7 Date of birth\s+is not valid/);
  const waiting = page.getByRole('region', { name: 'Messages of the request that wait' });
  expect(await waiting.getByRole('rowheader').count()).toBe(1);
  expect(await waiting.innerText()).toContain('The month is not one of 01 to 12.');
  await waiting.getByRole('link').click();
  await page.waitForURL(/messages\/[\w-]+$/);
});

test('an id that is none, a filter that is none and an empty list say what to do', async () => {
  const page = await dashboard.openAs('admin', `${path()}?request_id=nothing`);
  expect(await page.locator('main').innerText()).toContain(
    'No refused request of this workspace has the ID nothing',
  );
  await expectAccessible(page);
  expect((await page.goto(`/dashboard${path()}?from=yesterday`))?.status()).toBe(400);
  expect(await page.locator('#from-error').innerText()).toMatch(/^Must be an ISO 8601 date/);
  expect((await page.request.get(`/dashboard${path()}/nothing`)).status()).toBe(404);
  await service.keys.createWorkspace(service.workspaceId('quiet'));
  await page.goto(`/dashboard/workspaces/${service.workspaceId('quiet')}/requests`);
  expect(await page.locator('main').innerText()).toContain('No refused requests yet.');
  await expectAccessible(page);
});

test('the audit trail, the bars of the overview and a page that was refused lead there', async () => {
  const page = await dashboard.openAs('compliance', `/workspaces/${workspace}/audit?outcome=refused`);
  await page.locator('tr', { hasText: requestId }).locator('summary').click();
  await page.getByRole('link', { name: requestId }).click();
  expect(new URL(page.url()).pathname).toBe(`/dashboard${path()}/${requestId}`);

  const overview = `/dashboard/workspaces/${workspace}`;
  const bars = page.locator('#figure-refusals svg a');
  await page.goto(overview);
  await eventually(async () => {
    await page.reload();
    expect(await page.locator('#figure-tiles').innerText()).toMatch(/Refusals\s+4/);
  });
  const count = Number((await bars.first().getAttribute('aria-label'))?.split(': ')[1]);
  await bars.first().focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/requests\?from=/);
  expect(await requests(page)).toHaveLength(count);
  await page.goto(overview);
  await page.locator('#refused-not_found').click();
  await page.waitForURL(/code=not_found/);
  expect(await requests(page)).toEqual(all.slice(0, 1));

  expect((await page.goto(`${overview}/keys`))?.status()).toBe(403);
  await page.locator('main a:has(code)').click();
  await page.waitForURL(/requests\/[\w-]+$/);
  expect(await page.locator('main').innerText()).toContain('Permission denied');
  await page.goto(`/dashboard${path()}`);
  expect(await requests(page)).toEqual(all);
});
