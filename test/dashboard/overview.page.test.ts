import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { recordsModel } from '../../projections/records.ts';
import { openReadModels, openStateStore } from '../../src/server/openStorage.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import {
  expectAccessible,
  StoredSession,
  startDashboard,
  type TestDashboard,
  takePictures,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';

let dashboard: TestDashboard;
let readModels: ReadModels;
let stateStore: StateStore;
const patientId = phi('patient-of-the-overview');
const lastName = phi('Overviewed');

beforeAll(async () => {
  dashboard = await startDashboard();
  const { service } = dashboard;
  readModels = await openReadModels(service.config.readModelUrl);
  stateStore = await openStateStore(service.config.stateUrl);
  const patient = { id: patientId, first_name: 'Ada', last_name: lastName, date_of_birth: '1984-02-29' };
  await service.post('/integration/patients', patient);
  await service.post('/integration/patients', { ...patient, city: 'Omaha' });
  await service.post('/integration/patients', { id: patientId });
  await service.get(`/integration/payers/${phi('unknown-payer')}`);
  await service.get(`/integration/patients/${patientId}`);
});
afterAll(async () => {
  await Promise.all([readModels.close(), stateStore.close()]);
  await dashboard.stop();
});

const pathOf = (label: string) => `/workspaces/${dashboard.service.workspaceId(label)}`;

/** The overview once the projector has come so far that the page shows a chart of that name. */
async function openWith(page: Page, chart: RegExp): Promise<void> {
  await eventually(async () => {
    await page.reload();
    expect(await page.getByRole('img', { name: chart }).count()).toBe(1);
  });
}

/** The row of a table that a text stands in. */
const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

test('shows requests, writes and refusals by reason, and how the read models stand', async () => {
  const page = await dashboard.openAs('viewer', pathOf('clinic'));
  await openWith(page, /^Requests per minute: 5 in the last 60 minutes, at most \d, at \d\d:\d\d UTC$/);

  expect(await page.getByRole('img', { name: /^Writes per minute: 2 in the last 60 minutes/ }).count()).toBe(
    1,
  );
  expect(await page.getByRole('img', { name: /^Refusals per minute: 2 in the last 60/ }).count()).toBe(1);
  expect(await rowOf(page, 'Validation failed').innerText()).toMatch(/Validation failed\s+1/);
  expect(await rowOf(page, 'Not found').innerText()).toMatch(/Not found\s+1/);
  expect(await page.locator('.tiles').innerText()).toMatch(/Requests\s+5\s+Writes\s+2\s+Refusals\s+2/);
  await page.goto('/dashboard/system');
  for (const projection of projections) {
    expect(await rowOf(page, modelName(projection)).innerText()).toMatch(
      /\S+ \S+.*up to date\s+nothing\s+0/s,
    );
  }
});

test('gives the figures of each bar as a table too', async () => {
  const page = await dashboard.openAs('viewer', pathOf('clinic'));
  await page.getByText('Figures for each bar').click();
  const rows = page
    .getByRole('region', { name: 'Figures for the last 60 minutes', exact: true })
    .getByRole('row');
  expect(await rows.count()).toBe(61);
  const cells = await rows.locator('td:nth-child(2)').allInnerTexts();
  expect(cells.reduce((sum, text) => sum + Number(text), 0)).toBe(5);
});

test('holds neither an id of the caller nor anything else of a record', async () => {
  const page = await dashboard.openAs('viewer', pathOf('clinic'));
  const text = await page.content();
  expect(text).not.toContain(patientId);
  expect(text).not.toContain(lastName);
});

test('says so where nothing happened yet', async () => {
  const { service } = dashboard;
  await service.keys.createWorkspace(service.workspaceId('empty'));
  const page = await dashboard.openAs('viewer', pathOf('empty'));
  await openWith(page, /^Requests per minute: none in the last 60 minutes$/);
  expect(await page.getByText('No refusals in the last 60 minutes.').count()).toBe(1);
  expect(await page.getByText('0 of 4 steps done').count()).toBe(1);
  expect(await page.getByText('No problems').count()).toBe(1);
  expect(await page.getByText('No webhook fails, no message waits').count()).toBe(1);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await openWith(page, /^Requests per minute: none in the last 60 minutes$/);
  expect(await page.getByText('Get started').count()).toBe(0);
});

test('draws the figures anew every ten seconds, and leaves the focus and what is opened', async () => {
  const { service } = dashboard;
  const page = await dashboard.openAs('viewer', pathOf('clinic'));
  await page.clock.install();
  await page.reload();
  const summary = page.getByText('Figures for each bar');
  await summary.click();
  const before = await page.getByRole('img', { name: /^Requests/ }).getAttribute('aria-label');
  await service.get(`/integration/patients/${patientId}`);

  await eventually(async () => {
    const answered = page.waitForResponse(/\/figures\?range=1h$/);
    await page.clock.runFor(10_000);
    await answered;
    expect(await page.getByRole('img', { name: /^Requests/ }).getAttribute('aria-label')).not.toBe(before);
  });
  expect(await summary.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  expect(await page.locator('details.figures').getAttribute('open')).toBe('');
});

test('the page that draws itself anew does not keep the session alive', async () => {
  const { service } = dashboard;
  const page = await dashboard.openAs('viewer', pathOf('clinic'));
  const session = await StoredSession.of(page, stateStore);
  await session.setBack(5 * 60_000);
  const before = await session.lastUsed();

  const figures = await page.request.get(`${service.url}/dashboard${pathOf('clinic')}/figures`);
  expect(figures.status()).toBe(200);
  expect(figures.headers()['set-cookie']).toBeUndefined();
  expect(await session.lastUsed()).toBe(before);

  await page.reload();
  await eventually(async () => expect(await session.lastUsed()).toBeGreaterThan(before));
});

test('once the session has ended, the page goes to the sign-in by itself', async () => {
  const user = await dashboard.createUser('viewer');
  const page = await dashboard.openFor(user, pathOf('clinic'));
  await page.clock.install();
  await page.reload();
  await (await StoredSession.of(page, stateStore)).setBack(15 * 60_000 + 1);
  const left = page.waitForURL(/\/dashboard\/sign-in/);
  await page.clock.runFor(10_000);
  await left;
  expect(new URL(page.url()).searchParams.get('next')).toBe(`/dashboard${pathOf('clinic')}`);
});

test('tells of webhooks that send nothing, and leads administrators to them', async () => {
  const { service } = dashboard;
  const { key } = await service.createKey('hooked', ['webhooks', 'write']);
  const client = service.as(key);
  // Nothing answers there.
  await client.post('/integration/webhooks', { url: 'https://nobody.invalid/hook' });
  await client.post('/integration/payers', samples.payer());
  const { body } = await client.post('/integration/webhooks', { url: 'https://receiver.example/hook' });
  await client.send(`/integration/webhooks/${body.id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ state: 'disabled' }),
  });
  const admin = await dashboard.openAs('admin', pathOf('hooked'));
  expect(await admin.getByText('1 disabled').count()).toBe(1);
  await eventually(async () => {
    await admin.reload();
    expect(await admin.getByText('1 failing').count()).toBe(1);
  });
  await admin.getByRole('link', { name: 'View webhooks' }).click();
  expect(new URL(admin.url()).pathname).toBe(`/dashboard${pathOf('hooked')}/webhooks`);

  const viewer = await dashboard.openAs('viewer', pathOf('hooked'));
  expect(await viewer.getByText('1 disabled').count()).toBe(1);
  expect(await viewer.getByRole('link', { name: 'View webhooks' }).count()).toBe(0);
  expect(await viewer.content()).not.toContain('receiver.example');
});

test('shows events that a read model could not take', async () => {
  await readModels.park(recordsModel, { position: 1, eventId: 'event-1', reason: 'a test' });
  const page = await dashboard.openAs('viewer', '/system');
  expect(await rowOf(page, recordsModel).innerText()).toMatch(
    /^Lists of records, filters and names\s.*nothing\s+1$/s,
  );
});

test('is accessible, and looks right in light, dark and on a phone', async () => {
  const page = await dashboard.openAs('admin', pathOf('clinic'));
  await page.getByText('Figures for each bar').click();
  await expectAccessible(page);
  await page.getByText('Figures for each bar').click();
  await takePictures(page, 'overview');
});
