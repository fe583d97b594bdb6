import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { certificateProblem, parseCertificate } from '../../src/modules/integrity/erasureCertificate.ts';
import { PublicKeys } from '../../src/modules/integrity/publicKeys.ts';
import { parseSigningKey } from '../../src/modules/integrity/signing.ts';
import { openStateStore } from '../../src/server/openStorage.ts';

import {
  expectAccessible,
  RecordsPages,
  StoredSession,
  startDashboard,
  type TestDashboard,
  type TestUser,
  takePictures,
  textOf,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { accessesBy, appendedBy, changesBy, sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const REASON = 'Request 2026-117';

let dashboard: TestDashboard;
let service: TestService;
let admin: TestUser;
let page: Page;
let records: RecordsPages;
beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
  ({ service } = dashboard);
  admin = await dashboard.createUser('admin');
  page = await dashboard.openFor(admin, '/account');
  records = new RecordsPages(page, service);
}, LONG_MS);
afterAll(() => dashboard.stop());

const send = async (path: string, body: object) =>
  expect((await service.post(`/integration/${path}`, body)).status).toBe(200);

/** A patient with an encounter that has two documents, one of them removed. */
async function sendPatient() {
  const patient = { ...samples.patient(), last_name: phi('Lopez') };
  await send('patients', patient);
  const encounter = { id: phi('encounter'), patient_id: patient.id };
  await send('encounters', encounter);
  const documents = [phi('kept'), phi('removed')];
  for (const document_id of documents) {
    const form = documentForm({ document_id });
    expect((await service.upload(documentsPath(encounter.id), form)).status).toBe(200);
  }
  const [document = '', removed = ''] = documents;
  expect((await service.delete(documentsPath(encounter.id, removed))).status).toBe(200);
  return { patient, encounter, document };
}

/** Fills the form of the page that asks, and sends it. */
async function answer(kind: string, id: string, reason = REASON): Promise<void> {
  await page.getByLabel('Reason').fill(reason);
  await page.getByLabel(`Type the ID of the ${kind}`).fill(id);
  await page.getByRole('button', { name: `Erase ${kind}` }).click();
  await page.waitForLoadState();
}

test(
  'an administrator erases a patient with its encounter, and its page then says so',
  async () => {
    const { patient, encounter, document } = await sendPatient();
    const path = records.pathOf('patients', patient.id);
    await records.show(path);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('link', { name: 'Erase', exact: true }).click();
    await records.shows('Erase this patient?');
    expect(await textOf(page.locator('.banner'))).toBe(
      '1 encounter refers to it, with 2 documents. The patient cannot be erased without them.',
    );
    const named = page.getByText(`Patient ${patient.first_name} ${patient.last_name}, born `);
    expect(await named.textContent()).toContain(patient.id);

    const refusals = await appendedBy(service, async () => {
      await answer('patient', 'another');
      await page.getByRole('alert').filter({ hasText: 'is not the ID of the patient' }).waitFor();
      expect(await page.getByLabel('Reason').inputValue()).toBe(REASON);
      await answer('patient', patient.id, ' ');
      await page.getByRole('alert').filter({ hasText: 'Reason must have 1 to 1000 characters' }).waitFor();
      await expectAccessible(page);
      await answer('patient', patient.id);
      await page.getByRole('alert').filter({ hasText: '1 encounter still refers to it.' }).waitFor();
    });
    expect(refusals).toEqual([]);

    await page.getByLabel('Also erase the encounters').check();
    const erased = await changesBy(service, async () => {
      await answer('patient', patient.id);
      await page.getByText('This patient was erased').waitFor();
    });
    expect(erased.map(({ type }) => type)).toEqual([
      'RecordErased',
      'RecordErased',
      'DocumentErased',
      'DocumentErased',
    ]);
    for (const { metadata, data } of erased) {
      expect(metadata.principal).toEqual({ type: 'user', id: admin.id });
      expect(data).toMatchObject({ reason: REASON });
    }
    expect(await textOf(page.getByRole('status'))).toBe(
      'The patient was erased, with 1 encounter and 2 documents. It can no longer be read. Its bytes will be removed from the stores’ files shortly.',
    );

    await showsErased(path, patient.last_name);
    await expectAccessible(page);
    await takePictures(page, 'record-erased');
    await showsErased(`${path}/print`, patient.last_name);
    await showsErased(`${path}/compare?from=1&to=2`, patient.last_name);
    await showsErased(`${path}?version=1`, patient.last_name);
    await showsErased(`${path}/erase`, patient.last_name);
    const encounterPath = records.pathOf('encounters', encounter.id);
    await showsErased(encounterPath);
    await expectAccessible(page);
    expect(await certified()).toBe(3);
    await showsErased(path);
    expect(await certified()).toBe(4);
    await expectAccessible(page);
    await takePictures(page, 'erasure-certificate');
    expect(await textOf(page.locator('main'))).toContain(
      `Patient ${patient.id}, with 1 encounter and 2 documents, was permanently removed`,
    );
    await showsErased(`${encounterPath}/documents`);
    const documentPath = `${encounterPath}/documents/${encodeURIComponent(document)}`;
    expect((await records.show(documentPath))?.status()).toBe(410);
    await page.getByText('This document was erased').waitFor();
    expect(await textOf(page.getByRole('row', { name: 'erased' }))).toMatch(
      new RegExp(`erased .* UTC ${admin.name} \\(user\\) Reason: ${REASON}`),
    );
    await expectAccessible(page);
    await takePictures(page, 'record-erased-document');
    const download = await page.request.get(`/dashboard${documentPath}/download`);
    expect(download.status()).toBe(410);
  },
  LONG_MS,
);

/** How many tombstones the certificate holds that the page offers, which the service's key has signed. */
async function certified(): Promise<number> {
  const downloading = page.waitForEvent('download');
  const accesses = await accessesBy(service, async () => {
    await page.getByRole('button', { name: 'Erasure certificate' }).click();
    await page.getByRole('heading', { level: 1, name: 'Certificate of erasure' }).waitFor();
    await page.getByRole('button', { name: 'Download signed certificate' }).click();
    await downloading;
  });
  expect(accesses.map(({ action }) => action)).toEqual(['record.proof', 'record.proof']);
  const paper = await textOf(page.locator('.paper'));
  expect(paper).toMatch(new RegExp(`Erased \\w{3} \\d+, .* By ${admin.name} \\(user\\) Reason ${REASON}`));
  const parsed = parseCertificate(await readFile(await (await downloading).path(), 'utf8'));
  if (parsed === undefined || !('certificate' in parsed)) throw new Error('it is no certificate');
  const key = await readFile(join(service.config.dataDir, 'signing-key'));
  expect(
    certificateProblem(parsed.certificate, new PublicKeys([createPublicKey(parseSigningKey(key))])),
  ).toBeUndefined();
  const { tombstones } = parsed.certificate;
  for (const { leaf } of tombstones) expect(paper).toContain(leaf);
  expect(await page.locator('tbody tr').count()).toBe(tombstones.length);
  return tombstones.length;
}

const byAdmin = () => new RegExp(`erased .* UTC by ${admin.name} \\(user\\) .* Reason: ${REASON}`);

/** Sees that a page answers that the record was erased, by whom and why, and nothing of what it said. */
async function showsErased(path: string, value?: string): Promise<void> {
  const accesses = await accessesBy(service, async () => {
    expect([path, (await records.show(path))?.status()]).toEqual([path, 410]);
  });
  expect([path, [...new Set(accesses.map(({ action }) => action))]]).toEqual([path, ['record.history']]);
  expect(await textOf(page.locator('.banner'))).toMatch(/^This \w+ was erased on \w{3} \d+, \d{4}, .* UTC\./);
  expect(await textOf(page.locator('.timeline > li').first())).toMatch(byAdmin());
  if (value) expect(await page.content()).not.toContain(value);
}

test('what others refer to cannot be erased, and the page says how many do', async () => {
  const payer = samples.payer();
  await send('payers', payer);
  const insurance = { payer_id: payer.id, policy_number: phi('W1') };
  await send('patients', { ...samples.patient(), primary_insurance: insurance });
  await records.show(`${records.pathOf('payers', payer.id)}/erase`);
  expect(await textOf(page.locator('.banner'))).toContain('1 patient refers to it, so it cannot be erased.');
  expect(await page.getByRole('button', { name: 'Erase payer' }).count()).toBe(0);
  await expectAccessible(page);
});

test(
  'it takes a fresh proof; an id in use again shows the new record, and that the one before was erased',
  async () => {
    const payer = { ...samples.payer(), name: phi('Aetna') };
    await send('payers', payer);
    const path = records.pathOf('payers', payer.id);
    await records.show(`${path}/erase`);
    const stateStore = await openStateStore(service.config.stateUrl);
    await (await StoredSession.of(page, stateStore)).provedBefore(10 * 60_000 + 1);
    await stateStore.close();
    expect(await appendedBy(service, () => answer('payer', payer.id))).toEqual([]);
    await records.shows('Confirm your identity');
    const appended = await appendedBy(service, async () => {
      await page.getByLabel('Your password').fill(admin.password);
      await page.getByRole('button', { name: 'Confirm and continue' }).click();
      await page.getByText('This payer was erased').waitFor();
    });
    expect(appended).toEqual([`clinic.payer-${encodeURIComponent(payer.id)}: RecordErased`]);

    for (const name of [phi('Anew'), phi('Newer')]) await send('payers', { id: payer.id, name });
    expect((await records.show(path))?.status()).toBe(200);
    await records.show(`${path}/timeline`);
    expect(await records.versions()).toEqual(['Payer, version 4', 'Payer, version 3', 'Payer, version 2']);
    expect(await textOf(records.version(2))).toMatch(byAdmin());
    await expectAccessible(page);
    expect((await records.show(`${path}/print`))?.status()).toBe(200);
    expect(await page.locator('main').textContent()).toContain(`Reason: ${REASON}`);
    for (const asked of ['?version=1', '/compare?from=1&to=4']) {
      expect([asked, (await records.show(path + asked))?.status()]).toEqual([asked, 410]);
      await page.getByRole('alert').filter({ hasText: 'Payer was erased.' }).waitFor();
      expect(await page.content()).not.toContain(payer.name);
    }
  },
  LONG_MS,
);

test('there is no certificate of what is not erased', async () => {
  const payer = samples.payer();
  await send('payers', payer);
  const path = `${records.pathOf('payers', payer.id)}/certificate`;
  for (const asked of [path, records.pathOf('payers', 'nobody/certificate')]) {
    expect(await records.status(asked)).toBe(404);
  }
});

test('nobody else is offered the page', async () => {
  const payer = samples.payer();
  await send('payers', payer);
  const path = records.pathOf('payers', payer.id);
  const other = await dashboard.openAs('compliance', path);
  await other.getByRole('link', { name: 'Seen by' }).waitFor();
  await other.getByRole('button', { name: 'More actions' }).click();
  await other.getByRole('link', { name: 'Put under legal hold' }).waitFor();
  expect(await other.getByRole('link', { name: 'Erase' }).count()).toBe(0);
  expect((await other.goto(`/dashboard${path}/erase`))?.status()).toBe(403);
});
