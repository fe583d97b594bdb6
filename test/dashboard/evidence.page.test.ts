import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { expectAccessible, startDashboard, type TestDashboard, takePictures } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { unzipped } from '../support/files.ts';
import { samples } from '../support/samples.ts';
import { accessesBy, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let dashboard: TestDashboard;
let service: TestService;
const heads = join(temporaryFolder(), 'heads');
beforeAll(async () => {
  mkdirSync(heads);
  service = await startTestService({ HEADS_TO: heads }, { headPauses: { everyMs: 50, retryMs: 50 } });
  dashboard = await startDashboard(service);
  for (let n = 0; n < 5; n++) await service.post('/integration/payers', samples.payer());
}, LONG_MS);
afterAll(async () => {
  await dashboard.stop();
  await service.stop();
});

const path = () => `/workspaces/${service.workspaceId('clinic')}/evidence`;
const download = async (page: Page, role: 'link' | 'button', name: string): Promise<Buffer> => {
  const downloading = page.waitForEvent('download');
  await page.getByRole(role, { name }).click();
  return readFile(await (await downloading).path());
};

test(
  'a verification begins with a button, and shows by itself what came of it',
  async () => {
    const page = await dashboard.openAs('compliance', path());
    await page.getByText('No verification yet.').waitFor();
    // What was found comes first, and what finds it is beside the title.
    const parts = ['Verification', 'Last saved head', 'Export', 'Public key'];
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(parts);
    expect(await page.locator('.page-head').getByRole('button').allTextContents()).toEqual(['Verify now']);
    const accesses = await accessesBy(service, async () => {
      await page.getByRole('button', { name: 'Verify now' }).click();
      await page.getByText('Verification started.').waitFor();
      // Nobody loads the page again.
      await page.getByText('Verification passed').waitFor();
    });
    expect(accesses).toEqual([{ action: 'verify' }]);
    expect(await page.getByText('Verification started.').count()).toBe(1);
    await expectAccessible(page);
    await takePictures(page, 'evidence');
    const head = JSON.parse((await download(page, 'link', 'Download signed head')).toString());
    expect(head).toMatchObject({
      type: 'chartledger.tree_head.v1',
      workspace: service.workspaceId('clinic'),
    });
  },
  LONG_MS,
);

test(
  'without scripts the page shows the same when it is loaded again',
  async () => {
    const signedIn = await dashboard.openAs('compliance', path());
    const storageState = await signedIn.context().storageState();
    const page = await dashboard.open(path(), { javaScriptEnabled: false, storageState });
    const began = () => page.locator('#evidence-verification time').first().getAttribute('datetime');
    const before = await began();
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByRole('status').getByText('Verification started.').waitFor();
    await eventually(async () => {
      await page.reload();
      expect(await page.getByText('Verification passed').count()).toBe(1);
      expect(await began()).not.toBe(before);
    });
  },
  LONG_MS,
);

test(
  'the last head, the public key and an export with its manifest are downloaded',
  async () => {
    const page = await dashboard.openAs('compliance', path());
    await page.getByText(heads).waitFor();
    const head = JSON.parse((await download(page, 'link', 'Download head')).toString());
    expect(head).toMatchObject({
      type: 'chartledger.tree_head.v1',
      workspace: service.workspaceId('clinic'),
    });
    expect((await download(page, 'link', 'Download the public key')).toString()).toContain(
      'BEGIN PUBLIC KEY',
    );
    const files = await unzipped(await download(page, 'button', 'Export as NDJSON'));
    const name = `${service.workspaceId('clinic')}.ndjson`;
    expect([...files.keys()]).toEqual([name, `${name}.manifest.json`, 'chartledger.pem']);
  },
  LONG_MS,
);
