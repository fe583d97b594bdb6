import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, storesOf } from '../support/cli.ts';
import {
  type BrowserlessSession,
  expectAccessible,
  setUpApp,
  signIn,
  startUserTests,
  TestApp,
  type TestUser,
  takePictures,
  type UserTests,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { inShort } from '../support/service.ts';

// A code is taken once, and the next one may have to be waited for.
let tests: UserTests;
beforeAll(async () => {
  tests = await startUserTests();
});
afterAll(() => tests.stop());

/** Sends the password, then the code. */
async function signInWithCode(somebody: BrowserlessSession, user: TestUser, code: string) {
  const first = await somebody.signIn(user);
  expect([first.status, first.headers.location]).toEqual([303, '/dashboard/sign-in/code']);
  await somebody.get('/sign-in/code');
  return somebody.post('/sign-in/code', { code });
}

const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();

test('an app is set up on the account’s page; then a sign-in takes its code', async () => {
  const user = await tests.dashboard.createUser('viewer');
  const page = await tests.dashboard.openFor(user, '/account');
  await page.getByRole('button', { name: 'Set up an app' }).click();
  const app = new TestApp((await page.locator('main code').textContent()) ?? '');
  const appended = await tests.events(async () => {
    await page.getByLabel('Code').fill('000000');
    await page.getByRole('button', { name: 'Turn on' }).click();
    expect(await page.getByRole('link', { name: 'This is not the current code' }).count()).toBe(1);
    await page.getByLabel('Code').fill(await app.code());
    await page.getByRole('button', { name: 'Turn on' }).click();
    expect(await heading(page)).toBe('Two-factor sign-in is on');
  });
  expect(inShort(appended)).toEqual(['UserTotpCodeUsed', 'UserTotpSet']);
  await expectAccessible(page);
  await takePictures(page, 'two-factor-on');
  const codes = ((await page.locator('#recovery-codes').textContent()) ?? '').split('\n');
  expect(codes).toHaveLength(10);
  const logged = JSON.stringify(appended);
  for (const secret of codes) expect(logged).not.toContain(secret);

  const theirs = await tests.dashboard.open('/account');
  await signIn(theirs, user);
  expect(await heading(theirs)).toBe('Enter the code');
  await theirs.getByText(user.name).waitFor();
  expect(await theirs.evaluate('document.activeElement.name')).toBe('code');
  const signedIn = await tests.events(async () => {
    await theirs.getByLabel('Code').fill(await app.code());
    await theirs.getByRole('button', { name: 'Sign in' }).click();
    await theirs.getByRole('heading', { name: 'Account' }).waitFor();
  });
  expect(inShort(signedIn)).toEqual(['UserTotpCodeUsed', 'sign_in']);
});

describe('the second step of a sign-in', () => {
  let user: TestUser;
  let app: TestApp;
  let recoveryCodes: string[];
  beforeAll(async () => {
    user = await tests.dashboard.createUser('viewer');
    ({ app, recoveryCodes } = await setUpApp(tests.service, user));
  });

  test('lets nobody in before the code, to any page', async () => {
    const somebody = tests.visitor();
    await somebody.signIn(user);
    for (const path of ['/', '/account', '/account/two-factor', '/reference']) {
      expect((await somebody.get(path)).headers.location).toMatch(/^\/dashboard\/sign-in/);
    }
    expect((await tests.visitor().get('/sign-in/code')).headers.location).toBe('/dashboard/sign-in');
  });

  test('takes a code once, by whichever process, and after a restart too', async () => {
    const other = await tests.service.another({ TRUST_PROXY: '1' });
    const code = await app.code();
    expect((await signInWithCode(tests.visitor(), user, code)).status).toBe(303);
    const appended = await tests.events(async () => {
      expect((await signInWithCode(tests.visitor(), user, code)).status).toBe(401);
      expect((await signInWithCode(tests.visitor(other.url), user, code)).status).toBe(401);
    });
    expect(inShort(appended)).toEqual(['sign_in.refused wrong_code', 'sign_in.refused wrong_code']);
    await other.stop();
  });

  test('takes one of two equal codes that come at the same moment', async () => {
    const hasty = await tests.dashboard.createUser('viewer');
    const theirs = await setUpApp(tests.service, hasty);
    const code = await theirs.app.code();
    const both = [tests.visitor(), tests.visitor()];
    for (const one of both) {
      await one.signIn(hasty);
      await one.get('/sign-in/code');
    }
    const answers = await Promise.all(both.map((one) => one.post('/sign-in/code', { code })));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 401]);
  });

  test('takes each recovery code once, however it is typed', async () => {
    const [code = ''] = recoveryCodes;
    const typed = code.toUpperCase().replaceAll('-', ' ');
    const somebody = tests.visitor();
    const appended = await tests.events(async () => {
      expect((await signInWithCode(somebody, user, typed)).status).toBe(303);
    });
    expect(inShort(appended)).toEqual(['UserRecoveryCodeUsed', 'sign_in']);
    expect((await somebody.get('/account')).text).toContain('Recovery codes left: 9.');
    expect((await signInWithCode(tests.visitor(), user, code)).status).toBe(401);
  });

  test('counts its attempts with those at the password, which a right password does not give back', async () => {
    const locked = await tests.dashboard.createUser('viewer');
    const theirs = await setUpApp(tests.service, locked);
    for (const n of [1, 2]) {
      expect((await signInWithCode(tests.visitor(), locked, `00000${n}`)).status).toBe(401);
    }
    const eve = tests.visitor();
    expect((await eve.signIn(locked)).status).toBe(303);
    await eve.get('/sign-in/code');
    expect((await eve.post('/sign-in/code', { code: await theirs.app.code() })).status).toBe(429);
  });

  test('ends with a new password', async () => {
    const somebody = tests.visitor();
    const changed = await tests.dashboard.createUser('viewer');
    const theirs = await setUpApp(tests.service, changed);
    await somebody.signIn(changed);
    await somebody.get('/sign-in/code');
    await tests.manager.setPassword(changed.id, `${changed.password}!`);
    const answer = await somebody.post('/sign-in/code', { code: await theirs.app.code() });
    expect(answer.headers.location).toBe('/dashboard/sign-in');
    expect(await somebody.isSignedIn()).toBe(false);
  });
});

test('a lost app is reset by an administrator, or at the command line', async () => {
  const user = await tests.dashboard.createUser('viewer');
  await setUpApp(tests.service, user);
  const page = await tests.dashboard.openAs('admin', `/users/${user.id}`);
  await page.getByRole('button', { name: 'Reset two-factor sign-in' }).click();
  const appended = await tests.events(async () => {
    await page.getByRole('button', { name: 'Reset two-factor sign-in' }).click();
    expect(await page.getByRole('status').textContent()).toContain('was reset.');
  });
  expect(inShort(appended)).toEqual(['UserTotpReset']);
  expect((await tests.visitor().signIn(user)).headers.location).toBe('/dashboard/');
  await setUpApp(tests.service, user);
  const { code, stdout } = await runCli(['users', 'reset-totp', user.name], {
    env: storesOf(tests.service.config),
  });
  expect([code, stdout]).toEqual([0, expect.stringContaining('signs in with only the password')]);
  expect((await tests.visitor().signIn(user)).headers.location).toBe('/dashboard/');
});

test('another app is set up in the half minute in which a code of the first one was used', async () => {
  const user = await tests.dashboard.createUser('viewer');
  const first = await setUpApp(tests.service, user);
  const second = await setUpApp(tests.service, user);
  const somebody = tests.visitor();
  expect((await signInWithCode(somebody, user, await first.app.code())).status).toBe(401);
  expect((await signInWithCode(tests.visitor(), user, await second.app.code())).status).toBe(303);
});

test('the user turns it off', async () => {
  const user = await tests.dashboard.createUser('viewer');
  const page = await tests.dashboard.openFor(user, '/account');
  await setUpApp(tests.service, user);
  await eventually(async () => {
    await page.reload();
    expect(await page.getByRole('button', { name: 'Turn off' }).count()).toBe(1);
  });
  await takePictures(page, 'account-two-factor');
  await page.getByRole('button', { name: 'Turn off' }).click();
  expect(await page.getByRole('status').textContent()).toContain('Two-factor sign-in is off.');
  expect((await tests.visitor().signIn(user)).headers.location).toBe('/dashboard/');
});

test('where it is required, nothing is open to a user with a password before it is set up', async () => {
  const strict = await tests.service.another({ DASHBOARD_REQUIRE_TOTP: 'true', TRUST_PROXY: '1' });
  const user = await tests.dashboard.createUser('viewer');
  const somebody = tests.visitor(strict.url);
  await somebody.signIn(user);
  for (const path of ['/', '/account', '/reference']) {
    expect((await somebody.get(path)).headers.location).toBe('/dashboard/account/two-factor');
  }
  const { text } = await somebody.get('/account/two-factor');
  const app = new TestApp(/<code[^>]*>([A-Z2-7 ]+)<\/code>/.exec(text)?.[1] ?? '');
  expect((await somebody.post('/account/two-factor', { code: await app.code() })).text).toContain('is on');
  expect((await somebody.get('/account')).status).toBe(200);
  await somebody.get('/account');
  expect((await somebody.post('/account/two-factor/off', {})).status).toBe(409);
  await strict.stop();
});
