import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DashboardPorts, dashboardRoutes } from '../../src/dashboard/app.ts';
import { needsProof } from '../../src/dashboard/components/page.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import {
  expectAccessible,
  StoredSession,
  setUpApp,
  startUserTests,
  takePictures,
  type UserTests,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { inShort } from '../support/service.ts';

let tests: UserTests;
let stateStore: StateStore;
beforeAll(async () => {
  tests = await startUserTests();
  stateStore = await openStateStore(tests.service.config.stateUrl);
});
afterAll(async () => {
  await stateStore.close();
  await tests.stop();
});

/** Makes the page's session one whose user proved more than ten minutes ago who he is. */
async function growOld(page: Page): Promise<void> {
  await (await StoredSession.of(page, stateStore)).provedBefore(10 * 60_000 + 1);
}

test('everything that lets data out, changes who gets in, stops a clinic or erases takes a fresh proof', () => {
  const sensitive = dashboardRoutes({} as DashboardPorts).filter(needsProof);
  expect(sensitive.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    [
      '/account/two-factor',
      '/account/two-factor/off',
      '/users/:user/disable',
      '/users/:user/enable',
      '/users/:user/invite',
      '/users/:user/reset-two-factor',
      '/users/:user/role',
      '/users/:user/unlock',
      '/users/new',
      '/workspaces',
      '/workspaces/:workspace/activate',
      '/workspaces/:workspace/audit/report/vip',
      '/workspaces/:workspace/changes/undo',
      '/workspaces/:workspace/consumers/:consumer/remove',
      '/workspaces/:workspace/deactivate',
      '/workspaces/:workspace/evidence/export',
      '/workspaces/:workspace/holds/:hold/release',
      '/workspaces/:workspace/holds/new',
      '/workspaces/:workspace/keys/:id/activate',
      '/workspaces/:workspace/keys/:id/deactivate',
      '/workspaces/:workspace/keys/:id/delete',
      '/workspaces/:workspace/keys/:id/limits',
      '/workspaces/:workspace/keys/:id/public-keys',
      '/workspaces/:workspace/keys/:id/recipient',
      '/workspaces/:workspace/keys/:id/rotate',
      '/workspaces/:workspace/keys/new',
      '/workspaces/:workspace/readiness/simulation/apply',
      '/workspaces/:workspace/records/:kind/:id/break-glass',
      '/workspaces/:workspace/records/:kind/:id/copy',
      '/workspaces/:workspace/records/:kind/:id/erase',
      '/workspaces/:workspace/records/:kind/:id/hold',
      '/workspaces/:workspace/returned',
      '/workspaces/:workspace/returned/:kind/:id/allow',
      '/workspaces/:workspace/returned/:kind/:id/refuse',
      '/workspaces/:workspace/settings',
      '/workspaces/:workspace/sources/:source/edit',
      '/workspaces/:workspace/sources/:source/remove',
      '/workspaces/:workspace/sources/new',
      ...['delete', 'disable', 'edit', 'enable', 'ping', 'replay', 'retry', 'secret'].map(
        (action) => `/workspaces/:workspace/webhooks/:id/${action}`,
      ),
      '/workspaces/:workspace/webhooks/new',
    ].map((path) => `post ${path}`),
  );
});

test('after ten minutes the password is asked for, and the form that was sent goes on with it', async () => {
  const admin = await tests.dashboard.createUser('admin');
  const page = await tests.dashboard.openFor(admin, '/users/new');
  await growOld(page);
  const name = 'asked-anew@clinic.example';
  const appended = await tests.events(async () => {
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Role').selectOption('compliance');
    await page.getByLabel('All workspaces').check();
    await page.getByRole('button', { name: 'Invite user' }).click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Confirm your identity');
    await expectAccessible(page);
    await takePictures(page, 'confirm');
    await page.getByLabel('Your password').fill('not the password');
    await page.getByRole('button', { name: 'Confirm and continue' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('That is not correct.');
    expect(tests.users.findByName(name)).toBeUndefined();
    await page.getByLabel('Your password').fill(admin.password);
    await page.getByRole('button', { name: 'Confirm and continue' }).click();
    await page.getByLabel('The link').waitFor();
  });
  expect(inShort(appended)).toEqual(['sign_in.refused wrong_password', 'UserInvited']);
  expect(appended[1]?.data).toMatchObject({ name, roles: { '*': 'compliance' } });
  // For the next ten minutes nothing is asked.
  await page.goto('/dashboard/users');
  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  await page.getByLabel('The link').waitFor();
});

test('boxes that were ticked stay so, and a key is made once it is confirmed', async () => {
  const admin = await tests.dashboard.createUser('admin');
  const workspace = tests.service.workspaceId('clinic');
  const page = await tests.dashboard.openFor(admin, `/workspaces/${workspace}/keys/new`);
  await growOld(page);
  await page.getByLabel('Name').fill('Warehouse');
  const ticked = page.getByRole('checkbox');
  const wanted: string[] = [];
  for (const box of await ticked.all()) {
    if (await box.isChecked()) wanted.push(await box.inputValue());
  }
  await page.getByRole('button', { name: 'Create API key' }).click();
  await page.getByLabel('Your password').fill(admin.password);
  await page.getByRole('button', { name: 'Confirm and continue' }).click();
  await page.getByLabel('The key').waitFor();
  expect(await page.locator('main').textContent()).toContain(`permissions: ${wanted.join(', ')}`);
});

test('who has an authenticator app gives its code', async () => {
  const admin = await tests.dashboard.createUser('admin');
  const user = await tests.dashboard.createUser('viewer');
  const page = await tests.dashboard.openFor(admin, `/users/${admin.id}`);
  const { app } = await setUpApp(tests.service, admin);
  // The service follows what others change.
  await eventually(async () => {
    await page.reload();
    expect(await page.locator('main').textContent()).toContain('Authenticator app set up');
  });
  await page.goto(`/dashboard/users/${user.id}`);
  await growOld(page);
  const appended = await tests.events(async () => {
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByLabel('Code').fill(await app.code());
    await page.getByRole('button', { name: 'Confirm and continue' }).click();
    expect(await page.getByRole('status').textContent()).toContain('is unlocked.');
  });
  expect(inShort(appended)).toEqual(['UserTotpCodeUsed', 'UserUnlocked']);
});

test('a new password needs no code, and stands in for none', async () => {
  const user = await tests.dashboard.createUser('viewer');
  const page = await tests.dashboard.openFor(user, '/account');
  const { app } = await setUpApp(tests.service, user);
  await eventually(async () => {
    await page.reload();
    expect(await page.getByRole('button', { name: 'Turn off' }).count()).toBe(1);
  });
  await growOld(page);
  const password = phi('another battery, correct');
  await page.getByLabel('Current password').fill(user.password);
  await page.getByLabel('New password', { exact: true }).fill(password);
  await page.getByLabel('Confirm password').fill(password);
  await page.getByRole('button', { name: 'Change password' }).click();
  expect(await page.getByRole('status').textContent()).toContain('Your password was changed.');
  const appended = await tests.events(async () => {
    await page.getByRole('button', { name: 'Turn off' }).click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Confirm your identity');
    await page.getByLabel('Code').fill(await app.code());
    await page.getByRole('button', { name: 'Confirm and continue' }).click();
    expect(await page.getByRole('status').textContent()).toContain('Two-factor sign-in is off.');
  });
  expect(inShort(appended)).toEqual(['UserTotpCodeUsed', 'UserTotpReset']);
});
