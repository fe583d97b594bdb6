import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, startDashboard, type TestDashboard } from '../support/dashboard.ts';
import { notePhi, phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';

let dashboard: TestDashboard;
let root: string;
let page: Page;
beforeAll(async () => {
  dashboard = await startDashboard();
  const { service } = dashboard;
  root = `/workspaces/${service.workspaceId('clinic')}`;
  await service.post('/integration/patients', { ...samples.patient(), id: phi('patient').padEnd(120, '0') });
  page = await dashboard.openAs('admin', '/account');
});
afterAll(() => dashboard.stop());

const focused = (of: Page) => of.locator(':focus');

describe('a form that was refused', () => {
  test('says so in the title, and what was wrong with it has the focus, also without scripts', async () => {
    const user = await dashboard.createUser('admin');
    const plain = await dashboard.open('/sign-in', { javaScriptEnabled: false });
    await plain.getByLabel('Name').fill(user.name);
    await plain.getByLabel('Password').fill('not the password');
    await plain.getByRole('button', { name: 'Sign in', exact: true }).click();
    expect(await plain.title()).toBe('Error: Sign in · Chartledger');
    expect(await focused(plain).innerText()).toMatch(/^There is a problem\s+Incorrect name or password\.$/);

    await page.goto('/dashboard/users/new');
    await page.getByLabel('Name').fill('x'.repeat(300));
    await page.getByLabel('All workspaces').check();
    await page.getByRole('button', { name: 'Invite user' }).click();
    expect(await page.title()).toBe('Error: Invite user · Chartledger');
    expect(await focused(page).getAttribute('role')).toBe('alert');
    await expectAccessible(page);
    await page.getByRole('link', { name: 'The name of a user must have 1 to 100 characters.' }).click();
    expect(await focused(page).getAttribute('name')).toBe('name');
  });
});

describe('menus', () => {
  test('close on Escape, and the focus stays with them', async () => {
    await page.goto(`/dashboard${root}`);
    const menu = page.locator('.user-menu');
    await menu.locator('summary').click();
    await page.getByRole('link', { name: 'Account' }).focus();
    await page.keyboard.press('Escape');
    expect(await menu.getAttribute('open')).toBeNull();
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY');
  });
});

describe('what is to be copied', () => {
  test('is selected where there is no clipboard', async () => {
    const plain = await dashboard.openAs('admin', '/account');
    await plain.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await plain.goto(`/dashboard${root}/keys/new`);
    await plain.getByLabel('Name').fill('Copied');
    await plain.getByRole('button', { name: 'Create API key' }).click();
    const key = await plain.getByLabel('The key').inputValue();
    notePhi(key);
    await plain.getByRole('button', { name: 'Copy' }).click();
    await plain.getByRole('button', { name: 'Selected: copy it' }).waitFor();
    expect(await plain.evaluate('getSelection().toString()')).toBe(key);
  });
});

describe('some minutes before the session ends', () => {
  test('the page says so, and the session can be prolonged', async () => {
    const late = await dashboard.openAs('viewer', '/account');
    await late.clock.install();
    await late.reload();
    const warning = late.getByText(/^Your session/);
    await late.clock.runFor('10:00');
    expect(await warning.isVisible()).toBe(false);
    await late.clock.runFor('02:00');
    expect(await warning.textContent()).toBe('Your session ends in 2 minutes.');
    await expectAccessible(late);
    await late.getByRole('button', { name: 'Stay signed in' }).click();
    await warning.waitFor({ state: 'hidden' });
    await late.clock.runFor('14:10');
    expect(await warning.textContent()).toContain('Your session has ended.');
    expect(await late.getByRole('button', { name: 'Stay signed in' }).isVisible()).toBe(false);
  });
});

describe('on a phone', () => {
  test('a row of a table stands as lines under each other, each with the title of its column', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`/dashboard${root}/keys`);
    const cells = (await page.evaluate(`[...document.querySelector('.table-scroll tbody tr').children].map(
      (cell) => [cell.getBoundingClientRect().left, getComputedStyle(cell, '::before').content],
    )`)) as [number, string][];
    expect(cells.length).toBeGreaterThan(5);
    expect(new Set(cells.map(([left]) => left)).size).toBe(1);
    expect(cells.map(([, title]) => title)).toContain('"Permissions"');
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

test('a service without users says where the setup link is', async () => {
  const { service } = dashboard;
  const said = 'The setup link creates the first administrator.';
  expect((await service.get('/dashboard/sign-in')).text).not.toContain(said);
  const fresh = await startDashboard();
  const { text } = await fresh.service.get('/dashboard/sign-in');
  expect(text).toContain(said);
  expect(text).not.toContain('token=');
  await fresh.stop();
});
