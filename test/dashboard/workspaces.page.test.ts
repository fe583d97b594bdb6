import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, startDashboard, type TestDashboard, takePictures } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { newEvents } from '../support/service.ts';

describe('the page of workspaces', () => {
  let dashboard: TestDashboard;
  let page: Page;
  beforeAll(async () => {
    dashboard = await startDashboard();
    page = await dashboard.openAs('admin', '/workspaces');
  });
  afterAll(() => dashboard.stop());

  const row = (id: string) => page.getByRole('row', { name: id });

  test('a workspace is made, deactivated and activated', async () => {
    const { service } = dashboard;
    const workspace = service.workspaceId('north');
    const events = await newEvents(service, async () => {
      await page.getByLabel('ID', { exact: true }).fill(workspace);
      await page.getByRole('button', { name: 'Create workspace' }).click();
      await expectPath(`/workspaces/${workspace}/keys`);
      expect(await page.getByRole('status').textContent()).toContain(`Workspace ${workspace} was created.`);
      expect(await page.getByText('No API keys').count()).toBe(1);
      const { key } = await service.createKey('north');
      const status = async () => (await service.as(key).post('/integration/payers', samples.payer())).status;

      await service.keys.setRetention(workspace, 7);
      await page.goto('/dashboard/workspaces');
      expect(await row(workspace).textContent()).toMatch(/active\s*1/);
      expect(await row(workspace).textContent()).toContain('7 years');
      expect(await row(service.workspaceId('clinic')).textContent()).toContain('off by default');
      await row(workspace)
        .getByRole('link', { name: `Deactivate ${workspace}` })
        .click();
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
        `Deactivate workspace ${workspace}?`,
      );
      await page.getByRole('button', { name: 'Deactivate workspace' }).click();
      await expectPath('/workspaces');
      await eventually(async () => expect(await status()).toBe(403));
      await expectAccessible(page);
      await takePictures(page, 'workspaces');

      await row(workspace)
        .getByRole('link', { name: `Activate ${workspace}` })
        .click();
      await page.getByRole('button', { name: 'Activate workspace' }).click();
      await eventually(async () => expect(await status()).toBe(200));
    });
    const changes = events.filter(({ type }) => type.startsWith('Workspace'));
    expect(changes.map(({ type }) => type)).toEqual([
      'WorkspaceCreated',
      'WorkspaceRetentionSet',
      'WorkspaceDeactivated',
      'WorkspaceActivated',
    ]);
    for (const { metadata } of changes.filter(({ type }) => type !== 'WorkspaceRetentionSet')) {
      expect(metadata).toMatchObject({ workspace, principal: { type: 'user' }, clientIp: '127.0.0.1' });
    }
  });

  test('a sandbox is marked beside its name on every page', async () => {
    const { service } = dashboard;
    const workspace = service.workspaceId('sandbox');
    const events = await newEvents(service, async () => {
      await page.goto('/dashboard/workspaces');
      await page.getByLabel('ID', { exact: true }).fill(workspace);
      await page.getByLabel('Sandbox, for tests').check();
      await page.getByRole('button', { name: 'Create workspace' }).click();
      await expectPath(`/workspaces/${workspace}/keys`);
    });
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['WorkspaceCreated', { workspace, sandbox: true }],
    ]);
    const mark = page.locator('.workspace-menu > summary');
    expect(await mark.textContent()).toMatch(/^Sandbox sandbox_\w+$/);
    await expectAccessible(page);
    await takePictures(page, 'sandbox');
    await page.goto(`/dashboard/workspaces/${service.workspaceId('clinic')}`);
    expect(await mark.textContent()).not.toContain('Sandbox');
    await page.goto('/dashboard/workspaces');
    expect(await row(workspace).textContent()).toContain('Sandbox');
  });

  test('an id that cannot be is refused beside the form, and appends nothing', async () => {
    const taken = dashboard.service.workspaceId('clinic');
    const events = await newEvents(dashboard.service, async () => {
      for (const [id, message] of [
        ['Bad Id', 'The id of a workspace must have 2 to 40 characters'],
        [taken, `Workspace ${taken} already exists.`],
      ] as const) {
        await page.goto('/dashboard/workspaces');
        await page.getByLabel('ID', { exact: true }).fill(id);
        await page.getByLabel('Sandbox, for tests').check();
        await page.getByRole('button', { name: 'Create workspace' }).click();
        expect(await page.getByRole('alert').textContent()).toContain(message);
        expect(await page.getByLabel('ID', { exact: true }).inputValue()).toBe(id);
        expect(await page.getByLabel('Sandbox, for tests').isChecked()).toBe(true);
      }
      await expectAccessible(page);
    });
    expect(events).toEqual([]);
  });

  async function expectPath(path: string): Promise<void> {
    await page.waitForLoadState();
    expect(new URL(page.url()).pathname).toBe(`/dashboard${path}`);
  }

  test('the areas of ZIP codes are filled in from a file, and set by the form', async () => {
    await page.goto(`/dashboard/workspaces/${dashboard.service.workspaceId('clinic')}/settings`);
    const buffer = Buffer.from('681\n021\n');
    await page
      .getByLabel('Fill in from a file')
      .setInputFiles({ name: 'areas.txt', mimeType: 'text/plain', buffer });
    const areas = page.getByLabel('Areas of ZIP codes');
    await eventually(async () => expect(await areas.inputValue()).toBe('681\n021\n'));
    await page.getByRole('button', { name: 'Save: De-identified view' }).click();
    await page.getByText('De-identified view: saved.').waitFor();
    expect(await areas.inputValue()).toBe('021\n681');
    await expectAccessible(page);
  });
});
