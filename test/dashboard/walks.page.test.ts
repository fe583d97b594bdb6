import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseProof, proofProblem } from '../../src/modules/integrity/proofs.ts';
import { PublicKeys } from '../../src/modules/integrity/publicKeys.ts';
import { parseSigningKey } from '../../src/modules/integrity/signing.ts';

import { expectAccessible, startDashboard, TestApp, type TestDashboard, Walk } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { notePhi, phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { accessesBy, changesBy, startTestService, type TestService } from '../support/service.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const LONG_MS = 60_000;

let dashboard: TestDashboard;
let service: TestService;
let endpoint: HookEndpoint;
let page: Page;
let root: string;
let requestId: string;
/** The second at which the encounters were as they were sent at first. */
let then: string;
const payer = samples.payer();
const insurance = { payer_id: payer.id, policy_number: phi('W1234') };
const patient = {
  ...samples.patient(),
  first_name: 'María',
  last_name: phi('Lopez'),
  primary_insurance: insurance,
};
const name = `María ${patient.last_name}`;
const other = samples.patient();
const [changed, moved, later] = [patient, patient, patient].map(({ id }) => samples.encounter(id)) as [
  ReturnType<typeof samples.encounter>,
  ReturnType<typeof samples.encounter>,
  ReturnType<typeof samples.encounter>,
];
const removed = phi('consent');

beforeAll(async () => {
  service = await startTestService({ ...openLoopback, DASHBOARD_REQUIRE_TOTP: 'viewer' });
  [dashboard, endpoint] = await Promise.all([startDashboard(service), HookEndpoint.open()]);
  const workspace = service.workspaceId('clinic');
  root = `/workspaces/${workspace}`;
  await sendRecords();
  const { key } = await service.keys.createKey(workspace, 'Warehouse', ['read']);
  await service.as(key).get(`/integration/patients/${patient.id}`);
  const connector = await service.keys.createKey(workspace, 'EMR connector', ['write']);
  const refused = await service.as(connector.key).post('/integration/patients', { id: patient.id });
  requestId = String(refused.headers['request-id']);
  endpoint.answer = () => 500;
  const hooks = service.as((await service.createKey('clinic', ['webhooks'])).key);
  await createWebhook(hooks, { url: endpoint.url, description: 'Billing', kinds: ['payer'] });
  await send('payers', { ...payer, city: 'Omaha' });
  page = await dashboard.openAs('admin', root);
}, LONG_MS);
afterAll(async () => {
  await dashboard.stop();
  await service.stop();
  await endpoint.down();
});

const send = async (path: string, body: object) =>
  expect((await service.post(`/integration/${path}`, body)).status).toBe(200);
const pathOf = (plural: string, id: string) => `${root}/records/${plural}/${encodeURIComponent(id)}`;
const heading = (text: string) => page.getByRole('heading', { level: 1, name: text });

/** A patient whose policy number changes, and whose encounters are not what they were. */
async function sendRecords(): Promise<void> {
  await send('payers', payer);
  for (const one of [patient, other]) await send('patients', one);
  await send('patients', { ...patient, primary_insurance: { ...insurance, policy_number: phi('W9876') } });
  for (const one of [changed, moved]) await send('encounters', { ...one, status: 'planned' });
  const form = documentForm({ document_id: removed, filename: `${removed}.pdf` });
  expect((await service.upload(documentsPath(changed.id), form)).status).toBe(200);
  expect((await service.delete(documentsPath(changed.id, removed))).status).toBe(200);
  then = `${new Date(Math.ceil(Date.now() / 1000) * 1000).toISOString().slice(0, 19)}`;
  await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(`${then}Z`)));
  await send('encounters', { ...changed, status: 'finished' });
  await send('encounters', { ...moved, patient_id: other.id });
  await send('encounters', later);
}

test('a name leads to the record, and that to who saw it', async () => {
  const walk = await Walk.from(page, root);
  await walk.search(`${patient.last_name} mar`);
  await walk.sees(page.getByRole('link', { name }));
  await walk.follow(name);
  await walk.sees(heading(`Patient ${name}`));
  await walk.follow('Seen by');
  await walk.sees(page.getByRole('row').filter({ hasText: 'Warehouse' }));
});

test('a request id leads to the field at fault', async () => {
  const walk = await Walk.from(page, root);
  await walk.search(requestId);
  await walk.sees('Refused request');
  await walk.follow('POST /integration/patients');
  await walk.sees(page.getByRole('link', { name: 'last_name' }));
});

test('a bar of a chart leads to the entry, and that to the record', async () => {
  const bar = page.locator('#figure-refusals svg a').first();
  await eventually(async () => {
    await page.goto(`/dashboard${root}`);
    expect(await bar.count()).toBe(1);
  });
  const walk = await Walk.from(page, root);
  await walk.click(bar);
  await walk.sees(page.getByRole('row').filter({ hasText: requestId }));
  await walk.follow('POST /integration/patients');
  await walk.sees(heading('POST /integration/patients'));
  await walk.follow(patient.id);
  await walk.sees(heading(`Patient ${name}`));
});

test('a removed document leads to who removed it', async () => {
  const walk = await Walk.from(page, root);
  await walk.search(`${removed}.pdf`);
  await walk.sees(page.getByRole('row').filter({ hasText: 'removed' }));
  await walk.follow(`${removed}.pdf`);
  await walk.sees(page.getByRole('row').filter({ hasText: /removed.*Test key/s }));
});

test('a patient leads to all encounters as they were at a time', async () => {
  const walk = await Walk.from(page, pathOf('patients', patient.id));
  const accesses = await accessesBy(service, async () => {
    await walk.type(page.getByLabel('As of (UTC)'), then);
    await walk.enter();
    await walk.sees('Encounters at that time');
  });
  const table = page.getByRole('region', { name: 'Encounters' });
  const rows = await table.locator('tbody tr').allInnerTexts();
  expect(rows).toHaveLength(2);
  for (const row of rows) expect(row).toContain('planned');
  expect(await table.textContent()).not.toContain(later.id);
  expect(accesses).toContainEqual({
    action: 'record.list',
    kind: 'encounter',
    query: { patient_id: patient.id, as_of: `${then}.000Z` },
    shown: {
      ranges: [],
      count: 2,
      things: expect.arrayContaining(
        [changed, moved].map(({ id }) => ({ kind: 'encounter', record_id: id })),
      ),
    },
  });
  await expectAccessible(page);
  await walk.follow(changed.id);
  await walk.sees('This is the record as it was in version 1');
  await walk.sees('planned');
});

test('a key leads to its errors, and each to a call with curl', async () => {
  const walk = await Walk.from(page, root);
  await walk.follow('API keys');
  await walk.sees(page.getByRole('row').filter({ hasText: 'EMR connector' }));
  await walk.follow('EMR connector');
  await walk.follow('Refused requests of EMR connector');
  await walk.sees(page.getByRole('row').filter({ hasText: requestId }));
  const list = page.getByRole('region', { name: 'Refused requests, newest first' });
  expect(await list.locator('tbody tr').count()).toBe(1);
  await walk.follow('POST /integration/patients');
  await walk.sees(
    page.locator('#request-call').getByText(`curl -X POST '${service.url}/integration/patients'`),
  );
});

test('a failing webhook leads to the message, to its record, and back to another try', async () => {
  const failing = page.getByRole('row').filter({ hasText: 'failing' });
  await eventually(async () => {
    await page.goto(`/dashboard${root}/webhooks`);
    expect(await failing.count()).toBe(1);
  });
  const walk = await Walk.from(page, root);
  await walk.follow('Webhooks');
  await walk.sees(failing);
  await walk.follow(endpoint.url);
  await walk.sees(page.getByRole('row').filter({ hasText: /msg_.*500/s }));
  await expectAccessible(page);
  await walk.follow(payer.name);
  await walk.sees(heading(`Payer ${payer.name}`));
  endpoint.answer = () => 200;
  const changes = await changesBy(service, async () => {
    await walk.back();
    await walk.press(/^Send again msg_/);
    await walk.sees(page.getByRole('row').filter({ hasText: 'retrying' }));
  });
  expect(changes.map(({ type }) => type)).toEqual(['WebhookReplayRequested']);
  await eventually(() => expect(endpoint.accepted.length).toBeGreaterThan(0));
  walk.ends();
});

test('a key is rotated, and the old one still works for the time chosen', async () => {
  const { key } = await service.keys.createKey(service.workspaceId('clinic'), 'Rotating', ['read']);
  const walk = await Walk.from(page, root);
  await walk.follow('API keys');
  const row = page.getByRole('row').filter({ hasText: 'Rotating' });
  await walk.sees(row);
  const changes = await changesBy(service, async () => {
    await walk.click(row.getByRole('link', { name: 'Rotating' }));
    await walk.sees(page.getByRole('heading', { level: 1, name: 'Rotating' }));
    await walk.press('Rotate Rotating');
    await walk.press('Rotate API key');
    await walk.sees(page.getByLabel('The key'));
  });
  expect(changes.map(({ type }) => type)).toEqual(['ApiKeyRotated']);
  const fresh = await page.getByLabel('The key').inputValue();
  notePhi(fresh);
  for (const one of [key, fresh])
    expect((await service.as(one).get(`/integration/patients/${patient.id}`)).status).toBe(200);
  walk.ends();
});

test('somebody is invited with the least rights, and signs in with a second factor', async () => {
  const workspace = service.workspaceId('clinic');
  const invited = phi('viewer@clinic.example');
  const walk = await Walk.from(page, root);
  await walk.follow('Users');
  await walk.press('Invite user');
  await walk.sees(page.getByRole('heading', { level: 1, name: 'Invite user' }));
  await walk.type(page.getByLabel('Name'), invited);
  await walk.sees(page.getByRole('button', { name: 'Invite user' }));
  await page.getByLabel('Role').selectOption('viewer');
  await walk.click(page.getByLabel(workspace, { exact: true }));
  await walk.press('Invite user');
  await walk.sees(page.getByLabel('The link'));
  walk.ends();
  const link = await page.getByLabel('The link').inputValue();
  notePhi(link);
  const theirs = await dashboard.open(link.slice(`${service.url}/dashboard`.length));
  const theirWalk = await Walk.from(theirs, link.slice(`${service.url}/dashboard`.length));
  const password = phi('correct horse battery');
  await theirWalk.type(theirs.getByLabel('Password', { exact: true }), password);
  await theirWalk.type(theirs.getByLabel('Confirm password'), password);
  await theirWalk.sees(theirs.getByRole('button', { name: 'Set password and sign in' }));
  await theirWalk.press('Set password and sign in');
  await theirWalk.sees(theirs.getByLabel('Code'));
  const app = new TestApp((await theirs.locator('main code').first().textContent()) ?? '');
  await theirWalk.type(theirs.getByLabel('Code'), await app.code());
  await theirWalk.press('Turn on');
  await theirWalk.sees('Two-factor sign-in is on');
  theirWalk.ends();
  await theirs.goto(`/dashboard${root}`);
  expect(await theirs.locator('nav.menu a').allInnerTexts()).not.toContain('Records');
  await theirs.context().close();
});

test('what was refused since yesterday is understood, and a call that is accepted is at hand', async () => {
  const refusals = page.getByRole('link', { name: /requests? refused since yesterday/ });
  await eventually(async () => {
    await page.goto(`/dashboard${root}`);
    expect(await refusals.count()).toBe(1);
  });
  const walk = await Walk.from(page, root);
  await walk.click(refusals);
  const row = page.getByRole('row').filter({ hasText: requestId });
  await walk.sees(row.filter({ hasText: 'first_name is required' }).filter({ hasText: 'EMR connector' }));
  await walk.click(row.getByRole('link', { name: 'POST /integration/patients' }));
  await walk.sees(page.getByText('Accepted later'));
  await walk.sees(page.locator('#request-call').getByText('"first_name": "<first_name>"'));
  walk.ends();
});

test('a bad message is found, understood, corrected and sent again', async () => {
  const controlId = phi('CTRL-4711');
  const id = phi('hl7-born');
  const message = [
    `MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|${controlId}|P|2.5.1`,
    'EVN|A28|20260314',
    `PID|1||${id}^^^HOSP^MR||Lopez^Ana||19841329|F`,
  ].join('\r');
  const headers = { 'content-type': 'application/hl7-v2' };
  await service.send('/hl7/v2', { method: 'POST', headers, body: message });
  const walk = await Walk.from(page, root);
  await walk.follow('Messages');
  const row = page.getByRole('row').filter({ hasText: controlId });
  await walk.sees(row.filter({ hasText: `ADT A28` }).filter({ hasText: id }));
  await walk.sees(
    row.filter({ hasText: 'The month is not one of 01 to 12.' }).filter({ hasText: 'rejected' }),
  );
  await walk.click(row.getByRole('link').first());
  await walk.press('Show the message');
  const field = page.getByRole('row').filter({ hasText: 'PID-7 Date of birth' });
  await walk.sees(field.filter({ hasText: 'The month is not one of 01 to 12.' }));
  await walk.press('Correct');
  const changes = await changesBy(service, async () => {
    const editor = page.getByRole('textbox', { name: 'Message' });
    await editor.fill((await editor.inputValue()).replace('19841329', '19841229'));
    await walk.press('Dry run');
    await walk.sees('Nothing was stored.');
    await walk.sees(page.getByRole('row').filter({ hasText: id }).filter({ hasText: 'created' }));
  });
  expect(changes).toEqual([]);
  const processed = await changesBy(service, async () => {
    await walk.press('Process corrected');
    await walk.sees('The corrected message was processed: accepted.');
  });
  expect(processed.map(({ type }) => type)).toEqual(['PatientUpserted']);
  walk.ends();
});

test('a refused message leads to the messages that wait, and to no call that would not be accepted', async () => {
  const sent = await service.send('/hl7/v2', {
    method: 'POST',
    headers: { 'content-type': 'application/hl7-v2' },
    body: `MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|CTRL-4713|P|2.5.1\rPID|1||${phi('hl7-nobody')}`,
  });
  const walk = await Walk.from(page, root);
  await walk.search(String(sent.headers['request-id']));
  await walk.follow('POST /hl7/v2');
  await page.getByRole('rowheader', { name: 'CTRL-4713' }).waitFor();
  expect(await page.locator('#request-call').count()).toBe(0);
  await walk.follow('Messages that wait');
  await page.getByRole('row').filter({ hasText: 'CTRL-4713' }).waitFor();
  walk.ends();
});

test('a message about an unknown patient is marked where it names the patient', async () => {
  const message = [
    'MSH|^~\\&|A|B|C|D|20260314||ADT^A03^ADT_A03|CTRL-4712|P|2.5.1',
    'EVN|A03|20260314',
    `PID|1||${phi('hl7-unknown')}^^^HOSP^MR`,
    `PV1|1|O|||||||||||||||||${phi('hl7-visit')}`,
  ].join('\r');
  const headers = { 'content-type': 'application/hl7-v2' };
  await service.send('/hl7/v2', { method: 'POST', headers, body: message });
  const walk = await Walk.from(page, root);
  await walk.search('CTRL-4712');
  const row = page.getByRole('row').filter({ hasText: 'CTRL-4712' });
  await walk.sees(row.filter({ hasText: 'refers to a patient that does not exist' }));
  await walk.click(row.getByRole('link').first());
  await walk.press('Show the message');
  await walk.sees(
    page
      .getByRole('row')
      .filter({ hasText: 'PID-3 Patient identifiers' })
      .filter({ hasText: 'refers to a patient that does not exist' }),
  );
  walk.ends();
});

test('the first record of a workspace is sent and seen', async () => {
  const fresh = service.workspaceId('fresh');
  await service.keys.createWorkspace(fresh);
  const walk = await Walk.from(page, `/workspaces/${fresh}`);
  const changes = await changesBy(service, async () => {
    await walk.follow('from the API reference');
    await walk.sees(page.getByLabel('Body'));
    await walk.click(page.getByLabel('dry_run'));
    await page.getByLabel('dry_run').selectOption('false');
    await page.getByLabel('Body').fill(JSON.stringify({ ...samples.payer(), id: 'payer-1', name: 'Aetna' }));
    await walk.press('Send');
    await walk.sees(page.locator('#answer').getByText('created'));
  });
  expect(changes).toMatchObject([{ type: 'PayerUpserted', data: { id: 'payer-1' } }]);
  await walk.follow('Records');
  await walk.follow('Payers');
  await walk.sees(page.getByRole('row').filter({ hasText: 'payer-1' }));
  walk.ends();
});

test('settings are simulated, and put in force', async () => {
  const walk = await Walk.from(page, root);
  await walk.follow('Readiness');
  await walk.press('Simulation');
  await walk.sees(page.getByRole('heading', { name: 'Settings to try' }));
  await walk.click(page.locator('summary', { hasText: /^Rules$/ }));
  await page.getByLabel('No valid EIN', { exact: true }).selectOption('off');
  await walk.press('Simulate');
  await walk.sees(
    page.getByRole('link', { name: 'Show the result' }).or(page.getByText('Ended', { exact: true })),
  );
  if (await page.getByRole('link', { name: 'Show the result' }).isVisible())
    await walk.follow('Show the result');
  const changes = await changesBy(service, async () => {
    await walk.press('Apply these settings');
    await walk.sees('The settings are in force.');
  });
  expect(changes).toMatchObject([
    { type: 'ReadinessRuleSet', data: { rule: 'facility_tax_id', choice: 'off' } },
  ]);
  walk.ends();
});

test('a field leads to the version that changed it', async () => {
  const walk = await Walk.from(page, pathOf('patients', patient.id));
  await walk.follow('Policy number');
  await walk.sees(page.locator('ins').filter({ hasText: 'W9876' }));
  await walk.follow('Version 2');
  await walk.sees('This is the record as it was in version 2');
});

test('a record leads to its signed proof, which anybody can check', async () => {
  const walk = await Walk.from(page, pathOf('patients', patient.id));
  const downloading = page.waitForEvent('download');
  const accesses = await accessesBy(service, async () => {
    await walk.press('More actions');
    await walk.follow('Signed proof');
    await downloading;
  });
  await walk.sees(heading(`Patient ${name}`));
  expect(accesses).toEqual([
    { action: 'record.proof', kind: 'patient', record_id: patient.id, query: { version: 2 } },
  ]);
  const parsed = parseProof(await readFile(await (await downloading).path(), 'utf8'));
  if (parsed === undefined || !('proof' in parsed)) throw new Error('it is no proof');
  const key = await readFile(join(service.config.dataDir, 'signing-key'));
  expect(proofProblem(parsed.proof, new PublicKeys([createPublicKey(parseSigningKey(key))]))).toBeUndefined();
  expect(parsed.proof).toMatchObject({ event: { revision: 1, data: { id: patient.id } } });
});

test('on a phone a record is found and read', async () => {
  const phone = await dashboard.open(root, {
    storageState: await page.context().storageState(),
    viewport: { width: 390, height: 844 },
    hasTouch: true,
  });
  const walk = await Walk.from(phone, root);
  await walk.search(patient.last_name);
  await walk.sees(phone.getByRole('link', { name }));
  await walk.follow(name);
  await walk.sees(phone.getByRole('heading', { level: 1, name: `Patient ${name}` }));
  await walk.sees('Feb 29, 1984');
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  expect(await phone.evaluate(overflow)).toBe(0);
  await phone.context().close();
});
