import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendBatch } from '../support/client.ts';
import {
  expectAccessible,
  RecordsPages,
  startRecordsPages,
  type TestDashboard,
  takePictures,
  textOf,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { accessesBy, sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let dashboard: TestDashboard;
let service: TestService;
let records: RecordsPages;
let page: Page;
beforeAll(async () => {
  ({ dashboard, records } = await startRecordsPages(await sharedService()));
  ({ service } = dashboard);
  ({ page } = records);
}, LONG_MS);
afterAll(() => dashboard.stop());

/** A patient in three versions, and the payer of its insurance. */
async function sendPatient() {
  const payer = samples.payer();
  await service.post('/integration/payers', payer);
  const patient = { ...samples.patient(), email: phi('nobody'), city: phi('Omaha') };
  const insurance = { payer_id: payer.id, policy_number: phi('W1234') };
  const second = { id: patient.id, city: phi('Lincoln'), primary_insurance: insurance };
  const base = { first_name: patient.first_name, last_name: patient.last_name, date_of_birth: '1984-02-29' };
  const sent = [patient, { ...base, ...second }, { ...base, id: patient.id, email: null }];
  for (const one of sent) {
    expect((await service.post('/integration/patients', one)).status).toBe(200);
  }
  return { payer, patient, insurance, city: second.city };
}

test('a record: its state with what billing may refuse, what it refers to, and its timeline', async () => {
  const { payer, patient, insurance, city } = await sendPatient();
  const provider = samples.provider();
  await service.post('/integration/providers', { ...provider, npi: '1234567890' });
  const accesses = await accessesBy(service, () => records.show(records.pathOf('patients', patient.id)));
  const subject = { kind: 'patient', record_id: patient.id };
  expect(accesses).toEqual([
    { action: 'record.read', ...subject },
    expect.objectContaining({ action: 'record.list', kind: 'payer', query: { fields: 'name' } }),
  ]);
  expect(await page.title()).toBe('Patient · Chartledger');
  expect(await page.locator('.record-fields dt').first().innerText()).toBe('First name');
  expect(await records.field('City').innerText()).toBe(city);
  expect(await records.field('Country').innerText()).toBe('US');
  expect(await records.field('Policy number').innerText()).toBe(insurance.policy_number);
  await expectAccessible(page);
  await takePictures(page, 'record');
  await page.getByRole('link', { name: 'Timeline' }).click();
  await page.getByRole('heading', { name: '3 changes' }).waitFor();
  expect(await records.versions()).toEqual([
    'Patient, version 3',
    'Patient, version 2',
    'Patient, version 1',
  ]);
  const [removed, changed, created] = [records.version(3), records.version(2), records.version(1)];
  expect(await textOf(removed)).toMatch(
    new RegExp(
      `updated .*UTC by Test key \\(API key\\) from 127\\.0\\.0\\.1, request [-0-9a-f]{36} Email removed ${patient.email}`,
    ),
  );
  const changes = await textOf(changed.locator('dl'));
  expect(changes).toContain(`City changed ${patient.city} → became ${city}`);
  expect(changes).toContain(`Primary insurance, policy number added ${insurance.policy_number}`);
  expect(await created.innerText()).toContain('6 fields set');
  await page.getByRole('link', { name: 'Overview' }).last().click();

  await records.field('Payer').getByRole('link', { name: payer.name }).click();
  await page.getByRole('heading', { name: `Payer ${payer.name}` }).waitFor();
  await records.show(records.pathOf('providers', provider.id));
  expect(await records.field('NPI').innerText()).toMatch(/^1234567890\s*Warning: has a wrong check digit$/);
  await page.getByText('Billing is likely to refuse one value.').waitFor();
  await expectAccessible(page);
  await takePictures(page, 'record-warning');
});

test('a record in any version, and as of a time', async () => {
  const { patient, city } = await sendPatient();
  await records.show(`${records.pathOf('patients', patient.id)}/timeline`);
  const accesses = await accessesBy(service, async () => {
    await records.version(1).getByRole('link', { name: 'Patient, version 1' }).click();
    await page.getByText('This is the record as it was in version 1').waitFor();
  });
  expect(accesses[0]).toEqual({
    action: 'record.read',
    kind: 'patient',
    record_id: patient.id,
    query: { version: 1 },
  });
  expect(await records.field('City').innerText()).toBe(patient.city);
  expect(await records.field('Email').innerText()).toContain(patient.email);
  await expectAccessible(page);
  await takePictures(page, 'record-version');
  await page.getByRole('link', { name: 'Show the latest version' }).click();
  await page.getByRole('heading', { name: 'Current state' }).waitFor();
  expect(await records.field('City').innerText()).toBe(city);

  await page.getByLabel('As of (UTC)').fill('2999-12-31T23:59:59');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('This is the record as it was in version 3').waitFor();
  expect(await page.getByLabel('As of (UTC)').inputValue()).toBe('2999-12-31T23:59:59');
  await page.getByLabel('As of (UTC)').fill('1999-12-31T23:59:59');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'The patient did not exist at that time.' }).waitFor();
  expect(await records.field('City').count()).toBe(0);
  for (const [query, status] of [
    ['version=4', 200],
    ['version=one', 400],
    ['as_of=yesterday', 400],
    ['version=1&as_of=2026-01-01', 400],
    ['as_of=', 200],
  ] as const) {
    const path = `${records.pathOf('patients', patient.id)}?${query}`;
    expect([query, await records.status(path)]).toEqual([query, status]);
  }
  for (const path of [
    records.pathOf('patients', phi('unknown')),
    records.pathOf('people', patient.id),
    `${records.pathOf('patients', phi('unknown'))}/compare?from=1&to=1`,
    `${records.pathOf('patients', phi('unknown'))}/print`,
    `${records.pathOf('encounters', phi('unknown'))}/documents`,
    `${records.pathOf('encounters', phi('unknown'))}/documents/x`,
    `${records.pathOf('encounters', phi('unknown'))}/documents/x/download`,
  ]) {
    expect([path, await records.status(path)]).toEqual([path, 404]);
  }
});

test('older changes follow, newest ones are a click away, and any two versions are compared', async () => {
  const payer = samples.payer();
  const names = Array.from({ length: 45 }, (_, count) => phi(`Aetna ${count + 1}`));
  for (const name of names) await service.post('/integration/payers', { id: payer.id, name });
  const path = records.pathOf('payers', payer.id);
  const all = names.map((_, at) => `Payer, version ${at + 1}`).reverse();
  const storageState = await page.context().storageState();
  const plain = await dashboard.open(`${path}/timeline`, { storageState, javaScriptEnabled: false });
  const shown = new RecordsPages(plain, service);
  expect(await shown.versions()).toEqual(all.slice(0, 25));
  const accesses = await accessesBy(service, async () => {
    await plain.getByRole('link', { name: 'Older' }).click();
    await plain.waitForURL(/page_token/);
  });
  expect(accesses.map(({ action }) => action)).toEqual(['record.read', 'record.history']);
  expect(await shown.versions()).toEqual(all.slice(25));
  await plain.getByRole('link', { name: 'Newer' }).click();
  await shown.version(45).waitFor();
  await plain.context().close();

  await records.show(`${path}/timeline`);
  const labelOf = async (version: string) => {
    const option = page.getByLabel('From version').locator(`option[value="${version}"]`);
    const label = (await option.textContent()) ?? '';
    expect(label).toMatch(/^2: \w{3} \d+, \d{4}, \d\d:\d\d UTC, \S/);
    return label;
  };
  const compared = await accessesBy(service, async () => {
    await page.getByRole('link', { name: 'Compare versions 43 and 44' }).click();
    await page.getByRole('heading', { name: 'Compare versions' }).waitFor();
    await page.getByLabel('From version').selectOption({ label: await labelOf('2') });
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.waitForURL(/from=2&/);
  });
  expect(compared.map(({ action, query }) => [action, query])).toEqual([
    ['record.read', { version: 43 }],
    ['record.read', { version: 44 }],
    ['record.history', { limit: 100 }],
    ['record.read', { version: 2 }],
    ['record.read', { version: 44 }],
    ['record.history', { limit: 100 }],
  ]);
  await page.getByText('One field differs.').waitFor();
  expect(await textOf(page.getByRole('row', { name: 'Name' }))).toBe(`Name ${names[1]} ${names[43]} changed`);
  expect(await page.getByRole('row', { name: 'ID' }).locator('ins, del').count()).toBe(0);
  await records.show(`${path}/compare?from=2&to=99`);
  await page.getByRole('alert').filter({ hasText: 'The payer has no version 99.' }).waitFor();
  expect(await records.status(`${path}/compare?from=x&to=1`)).toBe(400);

  // Of more versions than one looks through, the number is typed.
  const lines = Array.from({ length: 60 }, (_, at) => ({
    kind: 'payer',
    record: { id: payer.id, name: phi(`Cigna ${at}`) },
  }));
  expect((await sendBatch(service, lines)).status).toBe(200);
  await records.show(`${path}/compare?from=1&to=104`);
  await page.getByLabel('To version').fill('105');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.waitForURL(/to=105/);
  await page.getByText('One field differs.').waitFor();
});
