import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  expectAccessible,
  keepPicture,
  startDashboard,
  type TestDashboard,
  takePictures,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples, upsertReferred } from '../support/samples.ts';
import { accessesBy, sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const SENT_AT_ONCE = 20;

let dashboard: TestDashboard;
let service: TestService;
let root: string;
let page: Page;
beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
  ({ service } = dashboard);
  root = `/dashboard/workspaces/${service.workspaceId('clinic')}/records`;
  page = await dashboard.openAs('compliance', `/workspaces/${service.workspaceId('clinic')}/records`);
}, LONG_MS);
afterAll(() => dashboard.stop());

/** The page as a file, which is kept to be looked at; its number of pages. */
async function print(name: string): Promise<number> {
  const file = await page.pdf({ preferCSSPageSize: true, format: 'A4' });
  keepPicture(`${name}.pdf`, file);
  return file.toString('latin1').match(/\/Type \/Page\b/g)?.length ?? 0;
}

test('a record on paper: its state, its documents, every version, and who printed it', async () => {
  const referred = await upsertReferred(service);
  const encounter = { ...samples.encounter(referred.patient), status: phi('checked in') };
  for (const status of [encounter.status, phi('waiting'), null]) {
    await service.post('/integration/encounters', { ...encounter, provider_id: referred.provider, status });
  }
  const document_id = phi('document');
  await service.upload(documentsPath(encounter.id), documentForm({ document_id }));
  await page.goto(`${root}/encounters/${encodeURIComponent(encounter.id)}`);
  const accesses = await accessesBy(service, async () => {
    await page.getByRole('button', { name: 'Printable page' }).click();
    await page.getByText('All 3 versions, newest first.').waitFor();
  });
  const subject = { kind: 'encounter', record_id: encounter.id };
  expect(accesses).toEqual([
    { action: 'record.read', ...subject, query: { version: 3 } },
    { action: 'record.history', ...subject, query: { limit: 1000 } },
    { action: 'document.list', kind: 'document', record_id: encounter.id, query: { limit: 1000 } },
    ...['patient', 'patient', 'provider'].map((kind) =>
      expect.objectContaining({ action: 'record.list', kind, query: { fields: 'name' } }),
    ),
  ]);
  expect(await page.title()).toBe('Encounter, printable · Chartledger');
  const text = await page.locator('main').innerText();
  expect(text).toMatch(/Printed\s+.* UTC by compliance-.*@clinic\.example, request [-0-9a-f]{36}/);
  for (const shown of [encounter.id, document_id, encounter.status]) expect(text).toContain(shown);
  expect(await page.locator('.version h3').allInnerTexts()).toEqual([
    'Version 3 updated',
    'Version 2 updated',
    'Version 1 created',
  ]);
  await expectAccessible(page);
  await takePictures(page, 'record-print');
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  for (const hidden of ['.top', '.menu', '.actions']) {
    expect(await page.locator(hidden).first().isVisible()).toBe(false);
  }
  expect(await print('record-print')).toBeGreaterThanOrEqual(1);
});

test(
  'at most 1,000 versions, and the paper says when there are more',
  async () => {
    const payer = samples.payer();
    for (let sent = 0; sent < 1001; sent += SENT_AT_ONCE) {
      const some = Array.from({ length: Math.min(SENT_AT_ONCE, 1001 - sent) });
      await Promise.all(
        some.map(() => service.post('/integration/payers', { ...payer, city: phi('Omaha') })),
      );
    }
    await page.goto(`${root}/payers/${encodeURIComponent(payer.id)}/print`);
    await page.getByText('The newest 1,000 versions').waitFor();
    expect(await page.locator('.version').count()).toBe(1000);
    expect(await page.locator('.version h3').first().innerText()).toBe('Version 1001 updated');
    expect(await print('record-print-long')).toBeGreaterThan(20);
  },
  LONG_MS,
);
