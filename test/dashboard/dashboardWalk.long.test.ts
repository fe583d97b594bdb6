import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, signIn, startDashboard, type TestDashboard } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { notePhi, phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { newEvents } from '../support/service.ts';
import { missingBrowser } from '../support/vitest.ts';

const describeInBrowser = missingBrowser ? describe.skip : describe;

onEmbeddedEngines((start) => {
  describeInBrowser(
    `the dashboard, from the first link to a deleted key (${missingBrowser ?? 'Chromium'})`,
    () => {
      let dashboard: TestDashboard;
      let page: Page;
      let workspace: string;
      let key: string;
      beforeAll(async () => {
        dashboard = await startDashboard(await start());
        workspace = dashboard.service.workspaceId('walk');
      });
      afterAll(async () => {
        await dashboard?.stop();
        await dashboard?.service.stop();
      });

      const write = (record = samples.payer()) =>
        dashboard.service.as(key).post('/integration/payers', record);
      const click = (role: 'button' | 'link', name: string) =>
        page.getByRole(role, { name, exact: true }).click();
      const keyRow = () => page.getByRole('row', { name: 'EMR sync' });
      const typesOf = async (work: () => Promise<unknown>) =>
        (await newEvents(dashboard.service, work)).map(({ type }) => type);

      test('the first administrator is made by the link that the start printed, which works once', async () => {
        const path = `${dashboard.service.setupUrl}`.slice(`${dashboard.service.url}/dashboard`.length);
        page = await dashboard.open(path);
        const [name, password] = [phi('root@clinic.example'), phi('correct horse battery')];
        await page.getByLabel('Name').fill(name);
        await page.getByLabel('Password', { exact: true }).fill(password);
        await page.getByLabel('Confirm password').fill(password);
        await click('button', 'Create administrator');
        expect(await page.getByRole('status').textContent()).toContain('You are the first administrator.');
        const again = await dashboard.open(path);
        expect(await again.getByRole('heading', { level: 1 }).textContent()).toBe('Not found');
        await signIn(await dashboard.open('/sign-in'), { name, password });
      });

      test('a workspace and a key are made, and the key is shown once', async () => {
        const types = await typesOf(async () => {
          await page.goto('/dashboard/workspaces');
          await page.getByLabel('ID').fill(workspace);
          await click('button', 'Create workspace');
          await click('button', 'Create API key');
          await page.getByLabel('Name').fill('EMR sync');
          await click('button', 'Create API key');
        });
        expect(types).toEqual(['WorkspaceCreated', 'ApiKeyCreated']);
        key = await page.getByLabel('The key').inputValue();
        notePhi(key);
      });

      test('the use of the key, accepted and refused, is in the audit trail', async () => {
        const payer = samples.payer();
        const types = await typesOf(async () => {
          expect((await write(payer)).status).toBe(200);
          expect((await write({ ...payer, name: '' })).status).toBe(400);
        });
        expect(types).toEqual(['PayerUpserted', 'AccessRecorded']);
        await page.goto(`/dashboard/workspaces/${workspace}/audit`);
        const row = (outcome: string) =>
          page.getByRole('row').filter({ hasText: payer.id }).filter({ hasText: outcome });
        expect(await row('accepted').textContent()).toContain('EMR sync');
        expect(await row('refused').textContent()).toContain('validation failed');
        await expectAccessible(page);
      });

      test('a deactivated key is refused with 403, an activated one works, a deleted one is refused with 401', async () => {
        const change = async (action: string) => {
          await page.goto(`/dashboard/workspaces/${workspace}/keys`);
          await keyRow().getByRole('link', { name: 'EMR sync' }).click();
          await page.getByRole('button', { name: `${action} EMR sync` }).click();
          if (action === 'Delete') await page.getByLabel('Type the name of the key').fill('EMR sync');
          await click('button', `${action} API key`);
        };
        const answers = (status: number) =>
          eventually(async () => expect((await write()).status).toBe(status));
        const types = await typesOf(async () => {
          await change('Deactivate');
          await answers(403);
          await change('Activate');
          await answers(200);
          await change('Delete');
          await answers(401);
        });
        expect(types.filter((type) => type.startsWith('ApiKey'))).toEqual([
          'ApiKeyDeactivated',
          'ApiKeyActivated',
          'ApiKeyDeleted',
        ]);
        await page.goto(`/dashboard/workspaces/${workspace}/audit`);
        for (const reason of ['key deactivated', 'unauthorized']) {
          expect(await page.getByRole('row').filter({ hasText: reason }).count()).toBeGreaterThan(0);
        }
      });
    },
  );
});
