import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runInWorkspace } from '../support/cli.ts';
import {
  expectAccessible,
  startDashboard,
  type TestDashboard,
  takePictures,
  textOf,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;

let dashboard: TestDashboard;
let service: TestService;
let page: Page;
beforeAll(async () => {
  dashboard = await startDashboard(await sharedService());
  ({ service } = dashboard);
  page = await dashboard.openAs('admin', '/account');
}, LONG_MS);
afterAll(() => dashboard.stop());

const path = () => `/dashboard/workspaces/${service.workspaceId('clinic')}/returned`;

test(
  'an administrator has erased records reviewed, and lets one return',
  async () => {
    const patient = samples.patient();
    await service.post('/integration/patients', patient);
    const erasing = ['records', 'erase', 'patient', patient.id, '--reason', 'Asked'];
    expect(await runInWorkspace(service, ...erasing)).toMatchObject({ code: 0 });
    await page.goto(path());
    const set = await appendedBy(service, async () => {
      await page.getByLabel('Erased records that are sent again').selectOption('review');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('refuse them until somebody decides.').waitFor();
    });
    expect(set).toEqual(['access: WorkspaceReturnsSet']);
    await eventually(async () => {
      expect((await service.post('/integration/patients', patient)).body.code).toBe('return_pending');
    });

    await page.goto(path());
    const row = page.getByRole('row', { name: patient.id });
    expect(await textOf(row)).toContain('Waits for a decision');
    await expectAccessible(page);
    await takePictures(page, 'returned');
    const officer = await dashboard.openAs('compliance', path().slice('/dashboard'.length));
    expect(await officer.getByRole('button', { name: 'Save' }).count()).toBe(0);
    await officer.getByRole('link', { name: `Let it return: ${patient.id}` }).click();
    const decided = await appendedBy(service, async () => {
      await officer.getByLabel('Reason').fill('Erased by mistake');
      await officer.getByRole('button', { name: 'Let it return' }).click();
      await officer.getByText('The record returns when it is sent again.').waitFor();
    });
    expect(decided).toEqual([`clinic.return-patient%2F${patient.id}: RecordReturnDecided`]);
    expect(await textOf(officer.getByRole('row', { name: patient.id }))).toContain('Erased by mistake');
    expect((await service.post('/integration/patients', patient)).body.outcome).toBe('created');
    await officer.reload();
    expect(await textOf(officer.getByRole('row', { name: patient.id }))).toContain('Exists again');
  },
  LONG_MS,
);
