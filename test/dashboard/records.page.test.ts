import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  type RecordsPages,
  startRecordsPages,
  type TestDashboard,
  takePictures,
  textOf,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { accessesBy, sharedService, startTestService, type TestService } from '../support/service.ts';

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

describe('finding a record', () => {
  test('opens with the search, and shows nobody unasked', async () => {
    const accesses = await accessesBy(service, async () => {
      await records.show(records.root);
      expect(await page.title()).toBe('Records · Chartledger');
      expect(await page.getByRole('table').count()).toBe(0);
      await page.getByLabel('Search for').fill(phi('nobody'));
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByText('Nothing matches all of').waitFor();
    });
    expect(accesses).toMatchObject([{ action: 'record.search', shown: { things: [] } }]);
  });

  test('lists the records of a kind, leads to one by its id, and says when there is none', async () => {
    const [payer, patient] = [samples.payer(), samples.patient()];
    await service.post('/integration/payers', payer);
    await service.post('/integration/patients', patient);
    const accesses = await accessesBy(service, async () => {
      await records.show(records.root);
      expect(await textOf(page.locator('.tiles'))).toMatch(
        /^Patients [1-9]\d* Encounters \d+ Payers [1-9]\d* Providers \d+ Facilities \d+$/,
      );
      await page.getByRole('link', { name: 'Payers' }).click();
      await page.getByRole('link', { name: payer.id }).waitFor();
      expect(await page.getByRole('row', { name: payer.id }).innerText()).toContain(payer.name);
      await expectAccessible(page);
      await page.getByLabel('Kinds of records').getByRole('link', { name: 'Patients' }).click();
      await page.getByLabel('ID', { exact: true }).fill(payer.id);
      await page.getByRole('button', { name: 'Show' }).click();
      await page.getByRole('link', { name: 'There is no patient with this ID.' }).waitFor();
      expect(await page.getByLabel('ID', { exact: true }).inputValue()).toBe(payer.id);
      await expectAccessible(page);
      await takePictures(page, 'records-find');
    });
    expect(accesses.map(({ action, kind }) => [action, kind])).toEqual([
      ['record.list', 'payer'],
      ['record.list', 'patient'],
      ['record.list', 'patient'],
    ]);
    await page.getByLabel('ID', { exact: true }).fill(patient.id);
    await page.getByRole('button', { name: 'Show' }).click();
    await records.shows(`Patient ${patient.first_name} ${patient.last_name}`);
    expect(new URL(page.url()).pathname).toBe(`/dashboard${records.pathOf('patients', patient.id)}`);
  });

  test('pages through a long list, each record once, those first that changed last', async () => {
    const made: string[] = [];
    for (let count = 0; count < 60; count += 1) {
      const facility = samples.facility();
      await service.post('/integration/facilities', facility);
      made.push(facility.id);
    }
    await records.show(`${records.root}?kind=facilities`);
    const listed = () => page.locator('tbody td[data-title="ID"]').allInnerTexts();
    const first = await listed();
    expect(first.length).toBe(50);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: made[0] as string }).waitFor();
    expect([...first, ...(await listed())]).toEqual(made.toReversed());
    expect(await page.getByRole('link', { name: 'Next page' }).count()).toBe(0);
  });

  test(
    'says that a list lags, with a way to try again; the record itself is shown',
    async () => {
      const alone = await startTestService({ ROLES: 'api' });
      const { dashboard: lagging, records: shown } = await startRecordsPages(alone);
      try {
        await alone.post('/integration/patients', samples.patient());
        await shown.show(`${shown.root}?kind=patients`);
        const answered = shown.page.waitForResponse((response) => response.url().includes('/records'));
        await shown.page.getByRole('link', { name: 'Try again' }).click();
        expect((await answered).status()).toBe(503);
        await expectAccessible(shown.page);
        const patient = samples.patient();
        await alone.post('/integration/patients', patient);
        await shown.page.getByLabel('ID', { exact: true }).fill(patient.id);
        await shown.page.getByRole('button', { name: 'Show' }).click();
        await shown.shows(`Patient ${patient.first_name} ${patient.last_name}`);
        const encounter = samples.encounter(patient.id);
        await alone.post('/integration/encounters', encounter);
        const answer = await shown.show(shown.pathOf('encounters', encounter.id));
        expect(answer?.status()).toBe(200);
        await shown.page.getByRole('link', { name: 'Try again' }).waitFor();
      } finally {
        await lagging.stop();
        await alone.stop();
      }
    },
    LONG_MS,
  );
});

test(
  'what callers send is text wherever it stands, and every id leads to its record',
  async () => {
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const ids = [
      '"><script>alert(1)</script>',
      "<img src=x onerror='alert(2)'>",
      'a/b%2Fc?d#e&f=g+h',
      '../%2e',
      'Zoë 病历 🩺',
    ];
    for (const label of ids) {
      const id = phi(label);
      const name = phi(label);
      const payer = { id, name, city: name };
      await service.post('/integration/payers', payer);
      await service.post('/integration/payers', { ...payer, city: phi(label) });
      const patient = { ...samples.patient(), first_name: name, primary_insurance: { payer_id: id } };
      await service.post('/integration/patients', patient);
      await records.show(`${records.root}?kind=payers`);
      await page.getByRole('link', { name: `${name}, ${id}`, exact: true }).click();
      await records.shows(`Payer ${name}`);
      expect(await page.locator('.record-facts code').innerText()).toBe(id);
      await page.getByRole('link', { name: 'Timeline' }).click();
      expect(await records.version(2).innerText()).toContain(name);
      await page.getByRole('link', { name: 'Compare versions 1 and 2' }).click();
      expect(await page.getByRole('row', { name: 'City' }).innerText()).toContain(name);
      await page.getByLabel('Breadcrumb').getByRole('link', { name, exact: true }).click();
      await page.getByRole('button', { name: 'Printable page' }).click();
      await page.getByRole('button', { name: 'Back to record' }).waitFor();
      await records.shows(`Payer ${name}`);
      await records.show(records.pathOf('patients', patient.id));
      await records.field('Payer').getByRole('link', { name, exact: true }).click();
      await records.shows(`Payer ${name}`);
      await records.show(`${records.root}?kind=patients&id=${encodeURIComponent(id)}`);
      expect(await page.getByLabel('ID', { exact: true }).inputValue()).toBe(id);
      expect(await page.locator('main script, main img, main b').count()).toBe(0);
    }
    expect(dialogs).toEqual([]);
  },
  LONG_MS,
);
