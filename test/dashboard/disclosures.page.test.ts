import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  expectAccessible,
  expectPrintable,
  keepPicture,
  startDashboard,
  type TestDashboard,
  takePictures,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { accessesBy, newEvents, sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let dashboard: TestDashboard;
let service: TestService;
let page: Page;
let path: string;
const patient = { ...samples.patient(), last_name: phi('Lopez') };
const state = { recipient: 'State registry', recipient_address: '1 Capitol Ave', purpose: 'other' } as const;
beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
  ({ service } = dashboard);
  const workspace = service.workspaceId('clinic');
  await service.post('/integration/patients', patient);
  const address = `/integration/patients/${encodeURIComponent(patient.id)}`;
  const terms = [
    { ...state, purpose_statement: 'Required by state law' },
    { purpose: 'treatment' },
    {},
  ] as const;
  for (const [index, one] of terms.entries()) {
    const { key } = await service.keys.createKey(workspace, `Reader ${index}`, ['read'], one);
    expect((await service.as(key).get(address)).status).toBe(200);
  }
  path = `/workspaces/${workspace}/records/patients/${encodeURIComponent(patient.id)}`;
  page = await dashboard.openAs('compliance', path);
}, LONG_MS);
afterAll(() => dashboard.stop());

const rows = () => page.locator('tbody tr').allInnerTexts();
const follow = async (name: string) => {
  await page.getByRole('button', { name, exact: true }).click();
  await page.waitForLoadState();
};

test('from the page of a patient: everybody who saw data, with recipient and purpose, or that none was given', async () => {
  await page.getByRole('link', { name: 'Seen by' }).click();
  await page.getByRole('heading', { level: 2, name: 'Access report' }).waitFor();
  const text = (await rows()).join('\n');
  expect(text).toMatch(/State registry\s+1 Capitol Ave\s+Other\s+Required by state law\s+accountable/);
  expect(text).toMatch(/not given\s+Treatment\s+exempt\s+45 CFR 164\.528\(a\)\(1\)\(i\)/);
  expect(text).toMatch(/Reader 2[\s\S]*not given\s+not given\s+purpose not given/);
  expect(text).toMatch(/compliance-\S+\s+user, [\s\S]*internal use/);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(patient.last_name);
  await expectAccessible(page);
  await takePictures(page, 'disclosures');
});

test('the accounting goes six years back, leaves out internal uses, and exempt disclosures where that is asked', async () => {
  const accesses = await accessesBy(service, async () => {
    await page.getByRole('link', { name: 'Accounting of disclosures' }).click();
    await page.getByRole('heading', { level: 2, name: 'Accounting of disclosures' }).waitFor();
    await page.waitForLoadState();
  });
  const from = `${new Date().getUTCFullYear() - 6}-`;
  const [read, asked] = accesses.toSorted((a, b) => (String(a.action) > String(b.action) ? -1 : 1));
  expect(accesses.map(({ action }) => action).sort()).toEqual(['record.disclosures', 'record.read']);
  expect(read).toEqual({ action: 'record.read', kind: 'patient', record_id: patient.id });
  expect(asked).toMatchObject({ action: 'record.disclosures', kind: 'patient', record_id: patient.id });
  expect(asked?.query).toMatchObject({ form: 'accounting', from: expect.stringMatching(`^${from}`) });
  expect(await rows()).toHaveLength(3);
  await page.getByLabel('Leave out').check();
  await follow('Show');
  expect(await rows()).toHaveLength(2);
  expect(await page.getByLabel('Leave out').isChecked()).toBe(true);
});

test('what is shown is downloaded as CSV and JSON, and prints', async () => {
  const fileOf = async (name: string) => {
    const download = page.waitForEvent('download');
    const isMore = name !== 'Export for the auditor';
    if (isMore) await page.locator('main summary', { hasText: 'More formats' }).click();
    await page.getByRole('button', { name, exact: true }).click();
    const file = await download;
    if (isMore) await page.keyboard.press('Escape');
    return [file.suggestedFilename(), readFileSync(await file.path(), 'utf8')] as const;
  };
  const [, forAuditor] = await fileOf('Export for the auditor');
  const name = `${patient.first_name} ${patient.last_name}`;
  expect(forAuditor).toMatch(
    new RegExp(
      `^Report,Accounting of disclosures\\r\\nPatient,${name}\\r\\n.*Period,.*Exported by,compliance-.*\\r\\n,?\\r\\ndisclosed_at,`,
      's',
    ),
  );
  const [csvName, csv] = await fileOf('Export as CSV');
  expect(csvName).toMatch(/^accounting-clinic_\w+-\d{4}-\d\d-\d\d\.csv$/);
  expect(csv.trim().split('\r\n')).toHaveLength(3);
  const [, json] = await fileOf('Export as JSON');
  expect(JSON.parse(json).disclosures).toHaveLength(2);
  const [, summary] = await fileOf('Summary as CSV');
  expect(summary).toMatch(/^recipient,.*first_disclosed_at,disclosures,last_disclosed_at/);
  await follow('Print or save as PDF');
  const text = await page.locator('main').innerText();
  expect(text).toMatch(/Left out\s+exempt disclosures/);
  expect(text).toMatch(/Printed\s+.* UTC by compliance-.*@clinic\.example, request [-0-9a-f]{36}/);
  await page.emulateMedia({ media: 'print' });
  for (const hidden of ['.top', '.menu', '.actions']) {
    expect(await page.locator(hidden).first().isVisible()).toBe(false);
  }
  keepPicture('disclosures-print.pdf', await page.pdf({ preferCSSPageSize: true, format: 'A4' }));
  await page.emulateMedia({ media: 'screen' });
});

test('a printed page and a downloaded document that go to somebody outside are disclosures to whom is named', async () => {
  const workspace = service.workspaceId('clinic');
  const encounter = phi('encounter');
  await service.post('/integration/encounters', { id: encounter, patient_id: patient.id });
  const document_id = phi('document');
  await service.upload(documentsPath(encounter), documentForm({ document_id }));
  const nameRecipient = async (button: string) => {
    await page.getByText('For a recipient outside the organization').click();
    await page.getByLabel('Recipient', { exact: true }).fill('Dr. Ray');
    await page.getByLabel('Purpose', { exact: true }).selectOption('treatment');
    await page.getByRole('button', { name: button }).click();
  };
  const accesses = await accessesBy(service, async () => {
    await page.goto(`/dashboard${path}/print`);
    await nameRecipient('Set recipient');
    expect(await page.locator('.facts').first().innerText()).toMatch(/Recipient\s+Dr\. Ray\s+Treatment/);
    await page.goto(
      `/dashboard/workspaces/${workspace}/records/encounters/${encounter}/documents/${document_id}`,
    );
    const download = page.waitForEvent('download');
    await nameRecipient('Download for recipient');
    await (await download).path();
  });
  const named = accesses.filter(({ disclosed_to }) => disclosed_to !== undefined);
  expect(named.map(({ action }) => action)).toEqual(['record.read', 'record.history', 'document.download']);
  for (const { disclosed_to } of named) {
    expect(disclosed_to).toEqual({ recipient: 'Dr. Ray', purpose: 'treatment' });
  }
  await page.goto(`/dashboard${path}/disclosures?form=accounting`);
  expect((await rows())[0]).toMatch(/Dr\. Ray\s+address not given[\s\S]*Document downloaded[\s\S]*Treatment/);
});

test('a link on another site names no recipient, and opens a page only after asking', async () => {
  const terms = 'recipient=Mallory&purpose=treatment';
  const refused = await accessesBy(service, async () => {
    for (const suffix of ['', '/print'])
      expect((await page.goto(`/dashboard${path}${suffix}?${terms}`))?.status()).toBe(400);
    await page.route('https://elsewhere.example/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<a href="${service.url}/dashboard${path}/print">Look</a>`,
      }),
    );
    await page.goto('https://elsewhere.example/');
    await page.getByText('Look').click();
    await page.getByRole('heading', { name: 'Open this page?' }).waitFor();
    await expectAccessible(page);
  });
  expect(refused).toEqual([]);
  const opened = await accessesBy(service, async () => {
    await page.getByRole('button', { name: 'Open page' }).click();
    await page.getByRole('heading', { name: 'Current state' }).waitFor();
  });
  expect(opened.map(({ action, disclosed_to }) => [action, disclosed_to])).toEqual([
    ['record.read', undefined],
    ['record.history', undefined],
  ]);
});

test('a period that is none is refused on the page, and a patient that never was has no report', async () => {
  await page.goto(`/dashboard${path}/disclosures?from=yesterday`);
  expect(await page.getByRole('main').textContent()).toContain('From (UTC) must be');
  expect(await page.locator('tbody tr').count()).toBe(0);
  const answer = await page.goto(`/dashboard${path.replace(/[^/]+$/, 'nobody')}/disclosures`);
  expect(answer?.status()).toBe(404);
});

test('an administrator says to whom data go that a key reads, changes it, and the event names the user', async () => {
  const admin = await dashboard.openAs('admin', `/workspaces/${service.workspaceId('clinic')}/keys/new`);
  const events = await newEvents(service, async () => {
    await admin.getByLabel('Name').fill('Claims');
    await admin.getByLabel('Recipient', { exact: true }).fill('Billing Partners');
    await admin.getByLabel('Purpose', { exact: true }).selectOption('payment');
    await admin.getByRole('button', { name: 'Create API key' }).click();
    await admin.getByRole('button', { name: 'Go to API key' }).click();
    expect(await admin.getByRole('main').innerText()).toMatch(/Billing Partners\s+Payment/);
    await admin.getByRole('link', { name: 'Change: Recipient Claims' }).click();
    expect(await admin.getByLabel('Recipient', { exact: true }).inputValue()).toBe('Billing Partners');
    await admin.getByLabel('Recipient', { exact: true }).fill('');
    await admin.getByLabel('Purpose', { exact: true }).selectOption('other');
    await admin.getByRole('button', { name: 'Save recipient' }).click();
    expect(await admin.getByRole('status').textContent()).toContain('were changed');
  });
  const changes = events.filter(({ type }) => type.startsWith('ApiKey'));
  expect(changes.map(({ type, data }) => [type, data])).toMatchObject([
    ['ApiKeyCreated', { recipient: 'Billing Partners', purpose: 'payment' }],
    ['ApiKeyUpdated', { recipient: null, purpose: 'other' }],
  ]);
  expect(changes[1]?.metadata.principal.type).toBe('user');
});

test('an encounter is named by its id and its day', async () => {
  const visit = { id: phi('encounter'), patient_id: patient.id, date_of_service: '2026-03-14T09:30:00Z' };
  await service.post('/integration/encounters', visit);
  const { key } = await service.createKey('clinic', ['read']);
  await service.as(key).get(`/integration/encounters/${encodeURIComponent(visit.id)}`);
  const accesses = await accessesBy(service, () => page.goto(`/dashboard${path}/disclosures`));
  expect((await rows()).join('\n')).toContain(`encounter ${visit.id} of Mar 14, 2026`);
  expect(accesses.map(({ action, kind }) => `${action} ${kind}`)).toContain('record.list encounter');
});

test('of many things, a row names the first, and all on request; the days of visits are named once, on paper as well', async () => {
  const days = ['2024-12-30', '2025-01-06', '2025-01-13', '2025-02-03', '2025-02-03'];
  const visits = Array.from({ length: 7 }, (_, at) => ({
    ...samples.encounter(patient.id),
    ...(days[at] && { date_of_service: days[at] }),
  }));
  for (const visit of visits) await service.post('/integration/encounters', visit);
  const { key } = await service.createKey('clinic', ['read']);
  await service.as(key).get(`/integration/encounters?patient_id=${encodeURIComponent(patient.id)}`);
  await page.goto(`/dashboard${path}/disclosures`);
  const named = page.locator('td details').first();
  expect(await named.locator('summary').innerText()).toMatch(/^Records listed: .*; \d+ more$/);
  const last = named.getByText(String(visits.at(-1)?.id));
  expect(await last.isVisible()).toBe(false);
  await named.locator('summary').click();
  expect(await last.isVisible()).toBe(true);
  const words = /visits of December 30, 2024, January 6, 13, February 3, 2025, and March 14, 2026/;
  expect((await rows()).join('\n')).toMatch(words);
  await page.goto(`/dashboard${path}/disclosures/print`);
  expect((await rows()).join('\n')).toMatch(words);
  await expectPrintable(page);
  const often = samples.patient();
  await service.post('/integration/patients', often);
  const january = Array.from({ length: 31 }, (_, at) => `2024-01-${String(at + 1).padStart(2, '0')}`);
  for (const date_of_service of january)
    await service.post('/integration/encounters', { ...samples.encounter(often.id), date_of_service });
  await service.as(key).get(`/integration/encounters?patient_id=${encodeURIComponent(often.id)}`);
  await page.goto(`/dashboard${path.replace(/[^/]+$/, encodeURIComponent(often.id))}/disclosures/print`);
  expect((await rows())[0]).toContain('visits on 31 days from January 1, 2024 to January 31, 2024');
});
