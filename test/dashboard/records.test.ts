import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { expectAccessible, startDashboard, type TestDashboard, takePictures } from '../support/dashboard.ts';
import { documentForm, documentsPath } from '../support/documents.ts';
import { upsertReferred } from '../support/fieldValues.ts';
import { phi } from '../support/phi.ts';
import { pdf, samples } from '../support/samples.ts';
import { accessesBy, appendedBy, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let dashboard: TestDashboard;
let service: TestService;
let root: string;
let page: Page;
beforeAll(async () => {
  dashboard = await startDashboard();
  ({ service } = dashboard);
  root = `/workspaces/${service.workspaceId('clinic')}/records`;
  page = await dashboard.openAs('compliance', root);
}, LONG_MS);
afterAll(() => dashboard.stop());

const pathOf = (plural: string, id: string) => `${root}/${plural}/${encodeURIComponent(id)}`;
const show = (path: string) => page.goto(`/dashboard${path}`);
const h1 = (on = page) => on.getByRole('heading', { level: 1 }).innerText();
/** The value beside a name in a list of fields. */
const field = (name: string, on = page) =>
  on
    .locator('dl.facts > div')
    .filter({ has: on.getByText(name, { exact: true }) })
    .locator('dd')
    .first();
const versions = (on = page) => on.locator('.timeline h3').allInnerTexts();
const version = (number: number) =>
  page
    .locator('.timeline > li')
    .filter({ has: page.getByRole('link', { name: `Version ${number}`, exact: true }) });

/** A patient in three versions. */
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

describe('finding a record', () => {
  test('lists the records of a kind, leads to one by its id, and says when there is none', async () => {
    const { payer, patient } = await sendPatient();
    const accesses = await accessesBy(service, async () => {
      await show(root);
      expect(await page.title()).toBe('Records · Chartledger');
      await page.getByRole('link', { name: 'Payers' }).click();
      await page.getByRole('link', { name: payer.id }).waitFor();
      expect(await page.getByRole('row', { name: payer.id }).innerText()).toContain(payer.name);
      await expectAccessible(page);
      await page.getByLabel('Kind', { exact: true }).selectOption('Patient');
      await page.getByLabel('ID', { exact: true }).fill(payer.id);
      await page.getByRole('button', { name: 'Find' }).click();
      await page.getByText('There is no patient with this id.').waitFor();
      expect(await page.getByLabel('ID', { exact: true }).inputValue()).toBe(payer.id);
      await expectAccessible(page);
      await takePictures(page, 'records-find');
    });
    expect(accesses.map(({ action, kind }) => [action, kind])).toEqual([
      ['record.list', 'patient'],
      ['record.list', 'payer'],
      ['record.list', 'patient'],
    ]);
    await page.getByLabel('ID', { exact: true }).fill(patient.id);
    await page.getByRole('button', { name: 'Find' }).click();
    expect(await h1()).toBe(`Patient ${patient.first_name} ${patient.last_name}`);
    expect(new URL(page.url()).pathname).toBe(`/dashboard${pathOf('patients', patient.id)}`);
  });

  test('pages through a long list, each record once', async () => {
    const made: string[] = [];
    for (let count = 0; count < 120; count += 1) {
      const facility = samples.facility();
      await service.post('/integration/facilities', facility);
      made.push(facility.id);
    }
    await show(`${root}?kind=facilities`);
    const listed = () => page.locator('tbody th').allInnerTexts();
    const first = await listed();
    expect(first.length).toBe(100);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: made.at(-1) as string }).waitFor();
    expect([...first, ...(await listed())]).toEqual(made);
    expect(await page.getByRole('link', { name: 'Next page' }).count()).toBe(0);
  });

  test(
    'says that a list lags, with a way to try again; the record itself is shown',
    async () => {
      const alone = await startTestService({ ROLES: 'api' });
      const lagging = await startDashboard(alone);
      try {
        const patient = samples.patient();
        await alone.post('/integration/patients', patient);
        const path = `/workspaces/${alone.workspaceId('clinic')}/records`;
        const other = await lagging.openAs('compliance', path);
        const answered = other.waitForResponse((response) => response.url().includes('/records'));
        await other.getByRole('link', { name: 'Try again' }).click();
        expect((await answered).status()).toBe(503);
        await other.getByLabel('ID', { exact: true }).fill(patient.id);
        await other.getByRole('button', { name: 'Find' }).click();
        await other.getByRole('heading', { name: patient.first_name }).waitFor();
        expect(await field('First name', other).innerText()).toBe(patient.first_name);
      } finally {
        await lagging.stop();
        await alone.stop();
      }
    },
    LONG_MS,
  );
});

describe('a record', () => {
  test('its state with what billing may refuse, what it refers to, and its timeline', async () => {
    const { payer, patient, insurance, city } = await sendPatient();
    const provider = samples.provider();
    await service.post('/integration/providers', { ...provider, npi: '1234567890' });
    const accesses = await accessesBy(service, () => show(pathOf('patients', patient.id)));
    const subject = { kind: 'patient', record_id: patient.id };
    expect(accesses).toEqual([
      { action: 'record.read', ...subject },
      { action: 'record.history', ...subject, query: { limit: 20 } },
    ]);
    expect(await page.title()).toBe('Patient · Chartledger');
    expect(await page.locator('.record-columns dt').first().innerText()).toBe('ID');
    expect(await field('City').innerText()).toBe(city);
    expect(await field('Country').innerText()).toBe('US');
    expect(await field('Policy number').innerText()).toBe(insurance.policy_number);
    expect(await versions()).toEqual(['Version 3', 'Version 2', 'Version 1']);
    const [removed, changed, created] = [version(3), version(2), version(1)];
    const text = (await removed.innerText()).replace(/\s+/g, ' ');
    expect(text).toMatch(
      new RegExp(
        `updated .*UTC by Test key \\(API key\\) from 127\\.0\\.0\\.1, request [-0-9a-f]{36} 1 field changed Email removed ${patient.email}`,
      ),
    );
    const changes = (await changed.locator('dl').innerText()).replace(/\s+/g, ' ');
    expect(changes).toContain(`City changed ${patient.city} → became ${city}`);
    expect(changes).toContain(`Primary insurance, policy number added ${insurance.policy_number}`);
    expect(await created.innerText()).toContain('6 fields set');
    await expectAccessible(page);
    await takePictures(page, 'record');

    await field('Payer ID').getByRole('link', { name: payer.id }).click();
    await page.getByRole('heading', { name: `Payer ${payer.name}` }).waitFor();
    await show(pathOf('providers', provider.id));
    expect(await field('NPI').innerText()).toMatch(/^1234567890\s*Warning: has a wrong check digit$/);
    await page.getByText('One value is likely to be refused by billing.').waitFor();
    await expectAccessible(page);
    await takePictures(page, 'record-warning');
  });

  test('in any version, and as of a time', async () => {
    const { patient, city } = await sendPatient();
    await show(pathOf('patients', patient.id));
    const accesses = await accessesBy(service, async () => {
      await version(1).getByRole('link', { name: 'Version 1' }).click();
      await page.getByText('This is the record as it was in version 1').waitFor();
    });
    expect(accesses[0]).toEqual({
      action: 'record.read',
      kind: 'patient',
      record_id: patient.id,
      query: { version: 1 },
    });
    expect(await field('City').innerText()).toBe(patient.city);
    expect(await field('Email').innerText()).toContain(patient.email);
    await expectAccessible(page);
    await takePictures(page, 'record-version');
    await page.getByRole('link', { name: 'Show the latest version' }).click();
    await page.getByRole('heading', { name: 'Current state' }).waitFor();
    expect(await field('City').innerText()).toBe(city);

    await page.getByLabel('As it was at (UTC)').fill('2999-12-31T23:59:59');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('This is the record as it was in version 3').waitFor();
    expect(await page.getByLabel('As it was at (UTC)').inputValue()).toBe('2999-12-31T23:59:59');
    await page.getByLabel('As it was at (UTC)').fill('1999-12-31T23:59:59');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'There was no such patient at that time.' }).waitFor();
    expect(await field('City').innerText()).toBe(city);
    for (const [query, status] of [
      ['version=4', 404],
      ['version=one', 400],
      ['as_of=yesterday', 400],
      ['version=1&as_of=2026-01-01', 400],
      ['as_of=', 200],
    ] as const) {
      const answer = await show(`${pathOf('patients', patient.id)}?${query}`);
      expect([query, answer?.status()]).toEqual([query, status]);
    }
    expect((await show(pathOf('patients', phi('unknown'))))?.status()).toBe(404);
    expect((await show(pathOf('people', patient.id)))?.status()).toBe(404);
  });

  test('older versions follow, with scripts in the page and without; any two are compared', async () => {
    const payer = samples.payer();
    const names = Array.from({ length: 45 }, (_, count) => phi(`Aetna ${count + 1}`));
    for (const name of names) await service.post('/integration/payers', { id: payer.id, name });
    const path = pathOf('payers', payer.id);
    const all = names.map((_, at) => `Version ${at + 1}`).reverse();
    await show(path);
    expect(await versions()).toEqual(all.slice(0, 20));
    for (const oldest of [6, 1]) {
      const accesses = await accessesBy(service, async () => {
        await page.getByRole('link', { name: 'Older versions' }).click();
        await version(oldest).waitFor();
      });
      expect(accesses.map(({ action }) => action)).toEqual(['record.history']);
    }
    expect(await versions()).toEqual(all);

    const storageState = await page.context().storageState();
    const plain = await dashboard.open(path, { storageState, javaScriptEnabled: false });
    await plain.getByRole('link', { name: 'Older versions' }).click();
    await plain.waitForURL(/page_token/);
    expect(await versions(plain)).toEqual(all.slice(20, 40));
    await plain.getByRole('link', { name: 'To the latest versions' }).click();
    await plain.getByRole('link', { name: 'Version 45' }).waitFor();
    await plain.context().close();

    const accesses = await accessesBy(service, async () => {
      await page.getByLabel('from version 2', { exact: true }).check();
      await page.getByLabel('to version 44', { exact: true }).check();
      await page.getByRole('button', { name: 'Compare the chosen versions' }).click();
      await page.getByRole('heading', { name: 'Compare versions' }).waitFor();
    });
    expect(accesses.map(({ action, query }) => [action, query])).toEqual([
      ['record.read', { version: 2 }],
      ['record.read', { version: 44 }],
    ]);
    await page.getByText('One field differs.').waitFor();
    const row = (await page.getByRole('row', { name: 'Name' }).innerText()).replace(/\s+/g, ' ');
    expect(row).toBe(`Name ${names[1]} ${names[43]} changed`);
    expect(await page.getByRole('row', { name: 'ID' }).locator('ins, del').count()).toBe(0);
    await expectAccessible(page);
    await page.getByLabel('To version').fill('99');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('alert').filter({ hasText: 'The payer has no version 99.' }).waitFor();
    expect((await show(`${path}/compare?from=x&to=1`))?.status()).toBe(400);
  });
});

describe('an encounter', () => {
  test('leads to all it refers to, and to its documents with their bytes and history', async () => {
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
    const accesses = await accessesBy(service, () => show(pathOf('encounters', encounter.id)));
    expect(accesses[2]).toEqual({ action: 'document.list', ...subject, query: { limit: 10 } });
    for (const [name, plural, id] of [
      ['Patient ID', 'patients', referred.patient],
      ['Provider ID', 'providers', referred.provider],
      ['Rendering provider ID', 'providers', referred.provider],
      ['Facility ID', 'facilities', referred.facility],
    ] as const) {
      expect(await field(name).getByRole('link').getAttribute('href')).toBe(
        `/dashboard${pathOf(plural, id)}`,
      );
    }
    expect(await field('Is completed').innerText()).toBe('Yes');
    await expectAccessible(page);
    await takePictures(page, 'record-encounter');

    const downloads = await accessesBy(service, async () => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: `Download ${documentId}` }).click(),
      ]);
      expect(await readFile(await download.path())).toEqual(second);
      expect(download.suggestedFilename()).toContain('für');
    });
    expect(downloads).toEqual([{ action: 'document.download', ...subject, document_id: documentId }]);

    await page.getByRole('link', { name: documentId, exact: true }).click();
    await page.getByRole('heading', { name: 'Document', exact: true }).waitFor();
    expect(await page.locator('tbody th').allInnerTexts()).toEqual(['2', '1']);
    expect(await page.getByRole('row').nth(1).innerText()).toContain(filename);
    await expectAccessible(page);
    await takePictures(page, 'record-document');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download version 1' }).click(),
    ]);
    expect(await readFile(await download.path())).toEqual(first);

    await service.delete(documentsPath(encounter.id, documentId));
    await page.reload();
    expect(await page.getByRole('row').nth(1).innerText()).toContain('removed');
    await show(`${pathOf('encounters', encounter.id)}/documents`);
    await page.getByText('There are no documents.').waitFor();
  });
});

describe('what callers send', () => {
  test(
    'is text wherever it stands, and every id leads to its record',
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
        await show(`${root}?kind=payers`);
        await page.getByRole('link', { name: id, exact: true }).click();
        expect(await h1()).toBe(`Payer ${name}`);
        expect(await field('ID').innerText()).toBe(id);
        expect(await version(2).innerText()).toContain(name);
        await page.getByRole('button', { name: 'Compare the chosen versions' }).click();
        expect(await page.getByRole('row', { name: 'City' }).innerText()).toContain(name);
        await page.getByLabel('Breadcrumb').getByRole('link', { name: id, exact: true }).click();
        await page.getByRole('button', { name: 'Printable page' }).click();
        expect(await h1()).toBe(`Payer ${name}`);
        await show(pathOf('patients', patient.id));
        await field('Payer ID').getByRole('link', { name: id, exact: true }).click();
        expect(await h1()).toBe(`Payer ${name}`);
        await show(`${root}?kind=patients&id=${encodeURIComponent(id)}`);
        expect(await page.getByLabel('ID', { exact: true }).inputValue()).toBe(id);
        expect(await page.locator('main script, main img, main b').count()).toBe(0);
      }
      expect(dialogs).toEqual([]);
    },
    LONG_MS,
  );
});

test('pages of records are for those who may see PHI, and change nothing', async () => {
  const encounter = samples.encounter(phi('nobody'));
  const record = pathOf('encounters', encounter.id);
  const paths = [root, record, `${record}/compare?from=1&to=1`, `${record}/print`, `${record}/documents`];
  const more = [`${record}/documents/x`, `${record}/documents/x/download`];
  const appended = await appendedBy(service, async () => {
    const viewer = await dashboard.openAs('viewer', '/');
    expect(await viewer.getByRole('link', { name: 'Records' }).count()).toBe(0);
    for (const path of [...paths, ...more]) {
      expect([path, (await viewer.goto(`/dashboard${path}`))?.status()]).toEqual([path, 403]);
    }
    const stranger = await dashboard.open(record);
    expect(new URL(stranger.url()).pathname).toBe('/dashboard/sign-in');
    await stranger.context().close();
  });
  expect(appended).toEqual([]);
});
