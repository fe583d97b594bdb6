import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  expectAccessible,
  type RecordsPages,
  startRecordsPages,
  type TestDashboard,
  takePictures,
  textOf,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, pdf, samples, upsertReferred } from '../support/samples.ts';
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

test(
  'an encounter leads to all it refers to, and to its documents with their bytes and history; and so does its patient',
  async () => {
    const referred = await upsertReferred(service);
    const encounter = {
      ...samples.encounter(referred.patient),
      provider_id: referred.provider,
      facility_id: referred.facility,
      is_completed: true,
      date_of_service: '2026-03-14T09:30:00Z',
    };
    await service.post('/integration/encounters', encounter);
    const [first, second] = [pdf('first'), pdf('second')];
    const documentId = phi('a/document');
    const filename = `${phi('report')} für <b>.pdf`;
    for (const content of [first, second]) {
      const form = documentForm({ document_id: documentId, content, filename });
      expect((await service.upload(documentsPath(encounter.id), form)).status).toBe(200);
    }
    const subject = { kind: 'document', record_id: encounter.id };
    const accesses = await accessesBy(service, () =>
      records.show(records.pathOf('encounters', encounter.id)),
    );
    expect(accesses[0]).toMatchObject({ action: 'record.read', kind: 'encounter' });
    for (const [name, plural, id] of [
      ['Patient', 'patients', referred.patient],
      ['Provider', 'providers', referred.provider],
      ['Rendering provider', 'providers', referred.provider],
      ['Facility', 'facilities', referred.facility],
    ] as const) {
      expect(await records.field(name).getByRole('link').getAttribute('href')).toBe(
        `/dashboard${records.pathOf(plural, id)}`,
      );
    }
    expect(await records.field('Completed').innerText()).toBe('Yes');
    await expectAccessible(page);
    await takePictures(page, 'record-encounter');
    await page.getByRole('link', { name: 'Documents', exact: true }).click();
    await page.getByRole('link', { name: `${filename}, ${documentId}`, exact: true }).waitFor();

    const downloads = await accessesBy(service, async () => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: `Download ${documentId}` }).click(),
      ]);
      expect(await readFile(await download.path())).toEqual(second);
      expect(download.suggestedFilename()).toContain('für');
    });
    expect(downloads).toEqual([{ action: 'document.download', ...subject, document_id: documentId }]);

    await page.getByRole('link', { name: `${filename}, ${documentId}`, exact: true }).click();
    await page.getByRole('heading', { level: 1, name: /^Document .+\.(?:pdf|docx)$/ }).waitFor();
    expect(await page.locator('tbody th').allInnerTexts()).toEqual(['2', '1']);
    expect(await page.getByRole('row').nth(1).innerText()).toContain(filename);
    expect(await textOf(page.locator('.record-facts'))).toMatch(
      new RegExp(`^Lab results \\d+ B ID ${documentId} Version 2 Last change`),
    );
    const [latest] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ]);
    expect(await readFile(await latest.path())).toEqual(second);
    await page.locator('summary', { hasText: filename }).first().click();
    await page.getByText(createHash('sha256').update(second).digest('hex')).waitFor();
    await expectAccessible(page);
    await takePictures(page, 'record-document');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download version 1' }).click(),
    ]);
    expect(await readFile(await download.path())).toEqual(first);
    const previews = await accessesBy(service, async () => {
      const answered = page.waitForResponse((response) => response.url().includes('/preview?version=2'));
      await page.getByRole('link', { name: 'Preview version 2' }).click();
      expect((await answered).headers()['content-type']).toBe('application/pdf');
    });
    expect(previews.map(({ action }) => action).filter((action) => action !== 'record.list')).toEqual([
      'document.history',
      'document.download',
    ]);
    await page.getByTitle('Version 2 of the document').waitFor();
    await expectAccessible(page);

    await service.delete(documentsPath(encounter.id, documentId));
    await page.reload();
    expect(await page.getByRole('row').nth(1).innerText()).toMatch(/removed.*No file/s);
    await records.show(`${records.pathOf('encounters', encounter.id)}/documents`);
    await page.getByText('No documents.').waitFor();
    const removed = page
      .getByRole('region', { name: 'Removed documents' })
      .getByRole('row', { name: documentId });
    expect(await textOf(removed)).toMatch(/removed .* UTC by Test key/);
    await expectAccessible(page);

    await records.show(records.pathOf('patients', referred.patient));
    await page.getByRole('link', { name: 'Encounters', exact: true }).click();
    await page
      .getByRole('region', { name: 'Encounters' })
      .getByRole('link', { name: encounter.id })
      .waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Documents', exact: true }).click();
    expect(await textOf(page.getByRole('region', { name: 'Documents' }))).toMatch(
      /removed .* UTC by Test key/,
    );
    await expectAccessible(page);
    await takePictures(page, 'record-patient');
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByRole('heading', { name: new RegExp(`^Document ${documentId} ?, version 3$`) }).waitFor();
    await expectAccessible(page);
    await takePictures(page, 'record-whole-timeline');
    await page.getByRole('link', { name: new RegExp(`^Encounter .*${encounter.id} ?, version 1$`) }).click();
    await page.getByText('This is the record as it was in version 1').waitFor();
    await page.getByRole('link', { name: 'Date of service' }).click();
    await page.getByRole('heading', { level: 1, name: /^Date of service of / }).waitFor();
    await page.getByRole('link', { name: 'Version 1', exact: true }).click();
    await page.getByText('This is the record as it was in version 1').waitFor();
    await records.show(`${records.root}?kind=encounters`);
    await page.getByRole('row', { name: encounter.id }).waitFor();
    await expectAccessible(page);
    await takePictures(page, 'records-encounters');
  },
  LONG_MS,
);
