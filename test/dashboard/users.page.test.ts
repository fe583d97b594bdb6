import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  BrowserlessSession,
  expectAccessible,
  signIn,
  startDashboard,
  type TestDashboard,
  takePictures,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { inShort, installationEvents } from '../support/service.ts';

let dashboard: TestDashboard;
let page: Page;
beforeAll(async () => {
  dashboard = await startDashboard();
  page = await dashboard.openAs('admin', '/users');
});
afterAll(() => dashboard.stop());

const events = (work: () => Promise<unknown>) => installationEvents(dashboard.service, work);

const row = (name: string) => page.getByRole('row', { name });

async function openUser(name: string): Promise<void> {
  await page.goto('/dashboard/users');
  await row(name).getByRole('link', { name }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

async function inviteByForm(name: string, role: string) {
  await page.goto('/dashboard/users/new');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Role').selectOption(role);
  await page.getByLabel('All workspaces').check();
  await page.getByRole('button', { name: 'Invite user' }).click();
}

/** On a user's page, sets the role in all workspaces. */
async function setRole(role: string) {
  await page.getByLabel('Role').selectOption(role);
  await page.getByLabel('All workspaces').check();
  await page.getByRole('button', { name: 'Change roles' }).click();
}

const notice = () => page.getByRole('status').textContent();

/** Whether somebody is signed in. */
async function isSignedIn(somebody: Page): Promise<boolean> {
  await somebody.goto('/dashboard/account');
  return new URL(somebody.url()).pathname === '/dashboard/account';
}

test('a user is invited, changed, disabled and enabled; each change names who made it', async () => {
  const ada = { name: 'ada@clinic.example' };
  const appended = await events(async () => {
    await inviteByForm(ada.name, 'compliance');
    await page.goto('/dashboard/users');
    expect(await row(ada.name).textContent()).toMatch(
      /compliance in all workspaces\s*invited\s*password\s*never/,
    );

    await openUser(ada.name);
    await expectAccessible(page);
    await takePictures(page, 'user');
    await setRole('viewer');
    expect(await notice()).toContain(`The roles of user ${ada.name} were changed.`);

    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await page.getByRole('button', { name: 'Disable user' }).click();
    expect(await notice()).toContain(`User ${ada.name} is disabled.`);
    // Neither is possible, or of any use, before the user is enabled.
    for (const name of ['Create link', 'Unlock'])
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    await page.getByRole('button', { name: 'Enable' }).click();
    expect(await notice()).toContain(`User ${ada.name} is active.`);
  });
  expect(inShort(appended)).toEqual(['UserInvited', 'UserRoleSet', 'UserDisabled', 'UserEnabled']);
  for (const { metadata } of appended) {
    expect(metadata).toMatchObject({
      principal: { type: 'user', id: expect.stringMatching(/^usr_/) },
      clientIp: '127.0.0.1',
      requestId: expect.any(String),
    });
  }
});

test('the audit trail tells who made and changed users, and nothing of their passwords', async () => {
  const { id } = await dashboard.createUser('viewer');
  await eventually(async () => {
    const text = await (await page.goto('/dashboard/audit'))?.text();
    expect(text).toContain(id);
    expect(text).not.toMatch(/scrypt|"?salt/);
  });
});

test('what is wrong with a form is said beside its fields, and what was typed stays', async () => {
  const taken = await dashboard.createUser('viewer');
  const appended = await events(async () => {
    await inviteByForm(taken.name.toUpperCase(), 'compliance');
    expect(await page.getByRole('link', { name: 'A user with that name already exists.' }).count()).toBe(1);
    expect(await page.getByLabel('Role').inputValue()).toBe('compliance');
    await expectAccessible(page);
    await inviteByForm('x'.repeat(101), 'viewer');
    expect(await page.getByRole('link', { name: 'must have 1 to 100 characters' }).count()).toBe(1);
    expect(await page.getByLabel('Name').inputValue()).toBe('x'.repeat(101));
  });
  expect(appended).toEqual([]);
});

test('a role that is taken away is gone at once, and so is the session of a disabled user', async () => {
  const user = await dashboard.createUser('compliance');
  const theirs = await dashboard.open('/sign-in');
  await signIn(theirs, user);
  const menu = () => theirs.getByRole('navigation', { name: 'Main' }).textContent();
  expect(await menu()).toContain('Audit trail');
  await openUser(user.name);
  await setRole('viewer');
  await theirs.reload();
  expect(await menu()).not.toContain('Audit trail');
  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByRole('button', { name: 'Disable user' }).click();
  expect(await isSignedIn(theirs)).toBe(false);
  await page.getByRole('button', { name: 'Enable' }).click();
  await signIn(theirs, user);
  expect(await isSignedIn(theirs)).toBe(true);
  await theirs.context().close();
});

test('a name is text, whatever it holds', async () => {
  const name = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;
  await inviteByForm(name, 'viewer');
  await page.goto('/dashboard/users');
  expect(await row(name).count()).toBe(1);
  await openUser(name);
  expect(await page.locator('main script, main img').count()).toBe(0);
});

test('only administrators see users, by the menu or by the address', async () => {
  const user = await dashboard.createUser('viewer');
  for (const role of ['compliance', 'viewer'] as const) {
    const theirs = await dashboard.openAs(role, '/account');
    expect(await theirs.getByRole('navigation', { name: 'Main' }).textContent()).not.toContain('Users');
    const somebody = new BrowserlessSession(dashboard.service.url);
    const { cookies } = await theirs.context().storageState();
    somebody.takeOver(cookies);
    await somebody.get('/account');
    const appended = await events(async () => {
      for (const path of ['/users', `/users/${user.id}`, `/users/${user.id}/disable`]) {
        expect((await somebody.get(path)).status).toBe(403);
      }
      const form = { name: 'eve', role: 'admin', workspaces: '*' };
      expect((await somebody.post('/users/new', form)).status).toBe(403);
      for (const change of ['role', 'invite', 'disable', 'enable']) {
        expect((await somebody.post(`/users/${user.id}/${change}`, form)).status).toBe(403);
      }
    });
    expect(inShort(appended)).toEqual(Array(8).fill('request.refused permission_denied'));
    await theirs.context().close();
  }
  expect((await page.goto('/dashboard/users/usr_none'))?.status()).toBe(404);
});

test('the last active administrator stays one, and another one may go', async () => {
  await page.goto('/dashboard/account');
  const own = (await page.locator('dd').first().textContent()) as string;
  const appended = await events(async () => {
    await openUser(own);
    await setRole('viewer');
    expect(await page.getByRole('alert').textContent()).toContain(
      'This is the last active administrator of all workspaces.',
    );
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await page.getByRole('button', { name: 'Disable user' }).click();
    expect(await page.getByRole('alert').textContent()).toContain(
      'This is the last active administrator of all workspaces.',
    );
  });
  expect(appended).toEqual([]);

  await dashboard.createUser('admin');
  await eventually(async () => {
    await openUser(own);
    await setRole('viewer');
    await page.getByText(`The roles of user ${own} were changed.`).waitFor();
  });
  expect((await page.goto('/dashboard/users'))?.status()).toBe(403);
});
