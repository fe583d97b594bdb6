import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addHold, releaseHold } from '../../src/modules/erasure/holds.ts';
import {
  expectAccessible,
  RecordsPages,
  startDashboard,
  type TestDashboard,
  takePictures,
  textOf,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { accessesBy, appendedBy, changesBy, sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const CASE = 'Case 2031-17';

let dashboard: TestDashboard;
let service: TestService;
let page: Page;
let records: RecordsPages;
beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
  ({ service } = dashboard);
  page = await dashboard.openAs('admin', '/account');
  records = new RecordsPages(page, service);
}, LONG_MS);
afterAll(() => dashboard.stop());

const holdsPath = () => `/workspaces/${service.workspaceId('clinic')}/holds`;
const send = async (path: string, body: object) =>
  expect((await service.post(`/integration/${path}`, body)).status).toBe(200);

/** Gives the reason on the page that asks, and waits until what it did is told. */
async function answer(button: string, reason = CASE): Promise<void> {
  await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: button }).click();
  await page.waitForLoadState();
}

const idOf = (text: string) => /hold_\w{16}/.exec(text)?.[0] ?? '';

test(
  'an administrator holds a patient on its page, which then says so, and releases the hold',
  async () => {
    const patient = { ...samples.patient(), last_name: phi('Lopez') };
    await send('patients', patient);
    const encounter = { id: phi('encounter'), patient_id: patient.id };
    await send('encounters', encounter);
    const path = records.pathOf('patients', patient.id);
    await records.show(path);
    await page.getByRole('button', { name: 'More actions' }).click();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Put under legal hold' }).click();
    await records.shows('Put this patient under legal hold?');
    expect(await textOf(page.locator('main'))).toContain(
      `${patient.last_name} ${patient.id}. Until the hold`,
    );
    const refused = await appendedBy(service, async () => {
      await answer('Hold patient', ' ');
      await page.getByRole('alert').filter({ hasText: 'Reason must have 1 to 1000 characters' }).waitFor();
    });
    expect(refused).toEqual([]);
    const added = await changesBy(service, async () => {
      await answer('Hold patient');
      await page.locator('.banner').waitFor();
    });
    expect(added).toMatchObject([
      {
        type: 'HoldAdded',
        data: { kind: 'patient', record_id: patient.id, reason: CASE },
        metadata: { principal: { type: 'user' }, clientIp: '127.0.0.1' },
      },
    ]);
    const id = idOf(await textOf(page.getByRole('status')));
    expect(await textOf(page.locator('.banner'))).toMatch(
      /^This patient cannot be erased: it is under legal hold \(since \w{3} \d+, \d{4}, \d\d:\d\d UTC\)\. Legal holds$/,
    );
    await expectAccessible(page);
    await takePictures(page, 'record-held');

    await records.show(records.pathOf('encounters', encounter.id));
    expect(await textOf(page.locator('.banner'))).toContain('its patient is under legal hold');
    await records.show(`${path}/erase`);
    expect(await textOf(page.locator('.banner').first())).toContain('it is under legal hold');
    expect(await page.getByRole('button', { name: 'Erase patient' }).count()).toBe(0);

    await page.goto(`/dashboard${holdsPath()}`);
    const row = page.getByRole('row', { name: id });
    expect(await textOf(row)).toMatch(new RegExp(`Patient .*${patient.last_name} ${patient.id} ${CASE}`));
    await row.getByRole('link', { name: `Release ${id}` }).click();
    await records.shows('Release this legal hold?');
    const released = await appendedBy(service, async () => {
      await answer('Release hold', 'Case closed');
      await page.getByText(`Hold ${id} is released.`).waitFor();
    });
    expect(released).toEqual(['clinic.holds: HoldReleased']);
    await page.getByText('No legal hold is in force.').waitFor();
    await page.getByRole('link', { name: 'Released 1' }).click();
    expect(await textOf(page.getByRole('row', { name: id }))).toContain('Case closed');
    await records.show(path);
    expect(await page.locator('.banner').count()).toBe(0);
  },
  LONG_MS,
);

test('a hold on an encounter shows on the page of its patient', async () => {
  const patient = { ...samples.patient(), last_name: phi('Lopez') };
  await send('patients', patient);
  const encounter = { id: phi('encounter'), patient_id: patient.id };
  await send('encounters', encounter);
  await records.show(`${records.pathOf('encounters', encounter.id)}/hold`);
  await answer('Hold encounter');
  await page.locator('.banner').waitFor();
  await records.show(records.pathOf('patients', patient.id));
  expect(await textOf(page.locator('.banner'))).toContain('a record that refers to it is under legal hold');
});

test('a hold that came while the page was open stops the erasure that it asks for', async () => {
  const payer = samples.payer();
  await send('payers', payer);
  await records.show(`${records.pathOf('payers', payer.id)}/erase`);
  const other = await dashboard.openAs('admin', `${records.pathOf('payers', payer.id)}/hold`);
  await other.getByLabel('Reason').fill(CASE);
  await other.getByRole('button', { name: 'Hold payer' }).click();
  await other.locator('.banner').waitFor();
  const appended = await appendedBy(service, async () => {
    await page.getByLabel('Reason').fill('Request 2026-117');
    await page.getByLabel('Type the ID of the payer').fill(payer.id);
    await page.getByRole('button', { name: 'Erase payer' }).click();
    await page.getByRole('alert').filter({ hasText: 'it is under legal hold' }).waitFor();
  });
  expect(appended).toEqual([]);
});

test('an administrator holds the workspace; compliance may release it, others do not see the holds, and who read them is in the audit trail', async () => {
  await page.goto(`/dashboard${holdsPath()}`);
  await page.getByRole('button', { name: 'Hold workspace' }).click();
  const appended = await appendedBy(service, async () => {
    await answer('Hold workspace');
    await page.getByRole('row', { name: 'The workspace' }).waitFor();
  });
  expect(appended).toEqual(['clinic.holds: HoldAdded']);
  const accesses = await accessesBy(service, async () => {
    const other = await dashboard.openAs('compliance', holdsPath());
    await other.getByRole('row', { name: 'The workspace' }).waitFor();
    // Of the encounter, the payer and the workspace.
    expect(await other.getByRole('link', { name: /^Release hold_/ }).count()).toBe(3);
    // A reason that somebody looks for may be a name.
    await other.getByLabel('Reason contains').fill(CASE);
    await other.getByRole('button', { name: 'Show' }).click();
    await other.waitForURL(/holds\?state=in_force&n=\d+$/);
    const billing = await dashboard.openAs('billing', holdsPath());
    for (const path of [holdsPath(), `${holdsPath()}/new`])
      expect((await billing.request.get(`/dashboard${path}`)).status()).toBe(403);
  });
  expect(accesses.filter(({ action }) => action === 'hold.list')).toEqual([
    { action: 'hold.list', query: { state: 'in_force', limit: 100 } },
    { action: 'hold.list', query: { state: 'in_force', for: 'reason', limit: 100 } },
  ]);
  await page.goto(`/dashboard/workspaces/${service.workspaceId('clinic')}/audit?action=HoldAdded`);
  expect(await textOf(page.locator('tr', { hasText: 'Hold added' }).first())).toContain('Workspace');
});

test('many holds are listed in pages, and found by their reasons and ids', async () => {
  await service.keys.createWorkspace('archive');
  const caller = {
    workspace: 'archive',
    principal: { type: 'operator', id: 'test' },
    requestId: 'test',
  } as const;
  const ids: string[] = [];
  for (let number = 1; number <= 102; number += 1) {
    const reason = number === 2 ? 'תיק 77' : `Case ${number}`;
    ids.push(await addHold(service.eventLog, caller, undefined, reason));
  }
  await releaseHold(service.eventLog, caller, ids[0] as string, 'Settled');
  const path = '/dashboard/workspaces/archive/holds';
  const shown = () => page.locator('tbody td[data-title="Hold"]').allInnerTexts();
  await page.goto(path);
  expect(await textOf(page.getByLabel('States'))).toBe('In force 101 Released 1');
  expect(await shown()).toEqual(ids.slice(2).reverse());
  // A hold that comes while somebody reads moves none to another page.
  ids.push(await addHold(service.eventLog, caller, undefined, 'Case 103'));
  await page.getByRole('link', { name: 'Older' }).click();
  expect(await shown()).toEqual([ids[1]]);
  await expectAccessible(page);
  const address = page.url();
  expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Newer' }).click();
  expect(await shown()).toEqual(ids.slice(3).reverse());

  const filter = async (reason: string) => {
    await page.getByLabel('Reason contains').fill(reason);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/[?&]n=\d+$/);
  };
  await filter('תיק');
  expect(await shown()).toEqual([ids[1]]);
  await page.goto(`${path}?id=${ids[50]}`);
  expect(await shown()).toEqual([ids[50]]);
  await page.goto(path);
  await filter('settled');
  await page.getByText('No holds match.').waitFor();
  await page.getByRole('link', { name: 'Released 1' }).click();
  expect(await shown()).toEqual([ids[0]]);
  for (const wrong of [`${address}&id=${ids[3]}`, `${path}?state=gone`, `${path}?page_token=2`]) {
    expect((await page.request.get(wrong)).status()).toBe(400);
  }
  await page.goto(`${path}?n=999`);
  await page.getByText('Enter the reason again.').waitFor();
});
