import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDashboard, type TestDashboard, Walk } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { freshClaim, sendClaim } from '../support/readiness.ts';
import { sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let dashboard: TestDashboard;
let service: TestService;
let page: Page;
let root: string;
const person = { first_name: 'María', last_name: phi('Quetzalcoatl'), phone: '+1 (402) 555-7319' };
const claim = freshClaim({ payer: { payer_code: undefined } });
Object.assign(claim.patient, person);

beforeAll(async () => {
  service = await sharedService();
  dashboard = await startDashboard(service);
  root = `/workspaces/${service.workspaceId('clinic')}`;
  await sendClaim(service, claim);
  page = await dashboard.openAs('admin', root);
}, LONG_MS);
afterAll(async () => {
  await dashboard.stop();
});

const path = () => `${root}/records/patients/${encodeURIComponent(String(claim.patient.id))}`;
const heading = () =>
  page.getByRole('heading', { level: 1, name: `Patient ${person.first_name} ${person.last_name}` });

test.each([
  ['half a name', () => `quetzalco mar`],
  ['the beginning of a phone number', () => '402555'],
  ['a phone number with other punctuation', () => '402.555.7319'],
  ['an id', () => String(claim.patient.id)],
])('a patient is found by %s', async (_, text) => {
  const walk = await Walk.from(page, root);
  await walk.search(text());
  await walk.sees(page.getByRole('region', { name: 'Patients' }));
  await walk.follow(`${person.first_name} ${person.last_name}`);
  await walk.sees(heading());
  walk.ends();
});

test('what changed between two dates and by whom is found, and exported', async () => {
  const walk = await Walk.from(page, path());
  await walk.follow('Timeline');
  await walk.sees(page.getByRole('button', { name: /^Export these/ }));
  await walk.type(page.getByLabel('From (UTC)'), '2000-01-01T00:00:00');
  await walk.type(page.getByLabel('Before (UTC)'), '2999-01-01T00:00:00');
  await walk.sees(page.getByLabel('Before (UTC)'));
  await walk.enter();
  await walk.sees(page.locator('.timeline > li').filter({ hasText: /Patient, version 1.*Test key/s }));
  walk.ends();
  const downloading = page.waitForEvent('download');
  await walk.press(/^Export these \d+ changes as CSV$/);
  const text = await readFile(await (await downloading).path(), 'utf8');
  expect(text).toMatch(
    /^Report,Changes\r\nPatient,.*\r\n.*Period,"from 2000-01-01T00:00(?::00.000Z)?, before/s,
  );
  expect(text).toContain(',Test key,');
  await walk.sees(/^\d+ changes$/);
  walk.ends();
});

test('who saw a patient is handed to an auditor as a file', async () => {
  const walk = await Walk.from(page, path());
  await walk.follow('Seen by');
  const downloading = page.waitForEvent('download');
  await walk.press('Export for the auditor');
  const text = await readFile(await (await downloading).path(), 'utf8');
  expect(text).toMatch(/^Report,Access report\r\nPatient,.*Exported by,admin-/s);
  await walk.sees(heading());
  walk.ends();
});

test('what cannot be billed is found by reason and payer, and goes once it is put right', async () => {
  const walk = await Walk.from(page, `${root}/readiness`);
  const row = page.getByRole('row').filter({ hasText: 'No payer ID' }).first();
  const count = row.getByRole('link').nth(1);
  expect(await count.textContent()).toBe('1');
  await walk.click(count);
  const found = page.getByRole('link', { name: `${person.first_name} ${person.last_name}` });
  await walk.sees(found);
  expect(new URL(page.url()).searchParams.get('payer_id')).toBe(claim.payer.id);
  const fixed = await service.post('/integration/payers', { ...claim.payer, payer_code: '60054' });
  expect(fixed.status).toBe(200);
  await page.reload();
  await walk.sees('No encounters match.');
  walk.ends();
});

test('a patient is erased, and the certificate is handed out', async () => {
  const other = freshClaim({});
  await sendClaim(service, other);
  const id = String(other.patient.id);
  const walk = await Walk.from(page, `${root}/records/patients/${encodeURIComponent(id)}`);
  await walk.press('More actions');
  await walk.follow('Erase');
  await walk.sees(page.getByRole('heading', { name: 'Erase this patient?' }));
  await walk.type(page.getByLabel('Reason'), 'Request 2026-121');
  await page.getByLabel('Type the ID of the patient').fill(id);
  await walk.click(page.getByLabel('Also erase the encounters'));
  await walk.sees(page.getByRole('button', { name: 'Erase patient' }));
  await walk.press('Erase patient');
  await walk.press('Erasure certificate');
  await walk.sees(page.getByRole('heading', { level: 1, name: 'Certificate of erasure' }));
  walk.ends();
  const again = await Walk.from(page, root);
  await again.search(id);
  await again.sees(page.getByRole('region', { name: 'Erased' }).getByText(`Patient ${id}`));
  again.ends();
});
