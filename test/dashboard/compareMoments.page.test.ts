import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nextMoment } from '../support/asOf.ts';
import {
  expectAccessible,
  type RecordsPages,
  startRecordsPages,
  type TestDashboard,
  textOf,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { accessesBy, appendedBy, sharedService, type TestService } from '../support/service.ts';

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

test('two moments are compared from the page of changes: counts, then each difference, and both files', async () => {
  const changed = { ...samples.patient(), city: phi('Omaha') };
  const restored = { ...samples.patient(), city: phi('Boston') };
  for (const patient of [changed, restored]) await service.post('/integration/patients', patient);
  const then = await nextMoment(1_000);
  const [city, payer] = [phi('Lincoln'), samples.payer()];
  for (const patient of [changed, restored])
    await service.post('/integration/patients', { ...patient, city });
  await service.post('/integration/patients', restored);
  await service.post('/integration/payers', payer);
  const root = `/workspaces/${service.workspaceId('clinic')}`;
  await records.show(`${root}/changes`);
  await page.getByRole('link', { name: 'compare two moments' }).click();
  await page.getByRole('heading', { name: 'Compare two moments' }).waitFor();
  await page.getByLabel(/^Then/).fill(then.slice(0, -5));
  const accesses = await accessesBy(service, async () => {
    const appended = await appendedBy(service, async () => {
      await page.getByRole('button', { name: 'Show' }).click();
      await page.getByRole('region', { name: 'Records by kind' }).waitFor();
    });
    expect(appended).toEqual([]);
  });
  expect(accesses.map(({ action, kind }) => [action, kind])).toEqual([
    ['record.diff', undefined],
    ['record.diff', 'patient'],
    ['record.diff', 'payer'],
    ['record.list', 'patient'],
    ['record.list', 'payer'],
  ]);
  const tables = page.locator('main table');
  expect(await textOf(tables.nth(0))).toMatch(/Patient 1 Payer 1/);
  expect(await textOf(tables.nth(1))).toMatch(/Test key .*2 2/);
  expect(await textOf(tables.nth(2))).toMatch(/Patient City 1/);
  const rows = await textOf(tables.nth(3));
  expect(rows).toContain(`${changed.id} changed City: ${changed.city} → ${city}`);
  expect(rows).toContain(`${payer.id} created`);
  expect(rows).not.toContain(restored.id);
  const fileOf = async (format: string) => {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: `Export as ${format}` }).click();
    return readFileSync(await (await download).path(), 'utf8');
  };
  expect(await fileOf('CSV')).toContain(`patient,${changed.id},,changed,city,${changed.city},${city},2`);
  const { counts, items } = JSON.parse(await fileOf('JSON'));
  expect(counts.fields).toEqual({ 'patient.city': 1 });
  expect(items.map(({ id, change }: { id: string; change: string }) => [id, change])).toEqual([
    [changed.id, 'changed'],
    [payer.id, 'created'],
  ]);
});

test('a list as of a moment has the records of then, and links to them at that moment', async () => {
  const patient = { ...samples.patient(), last_name: phi('Before') };
  await service.post('/integration/patients', patient);
  const as_of = await nextMoment(1_000);
  await service.post('/integration/patients', { ...patient, last_name: phi('After') });
  const root = `/workspaces/${service.workspaceId('clinic')}`;
  await records.show(`${root}/records?kind=patients`);
  await page.getByLabel(/^As of/).fill(as_of.slice(0, -5));
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByText('without what has been erased since').waitFor();
  const row = page.locator('main table tr', { hasText: patient.id });
  expect(await textOf(row)).toContain(patient.last_name);
  await expectAccessible(page);
  await row.getByRole('link', { name: patient.id }).click();
  await page.getByRole('heading', { name: 'State in version 1' }).waitFor();
});
