import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  startUserTests,
  type TestUser,
  takePictures,
  type UserTests,
} from '../support/dashboard.ts';
import { inShort } from '../support/service.ts';

const credentials = ({ name, password }: TestUser) => ({ name, password });

const WRONG = 'Incorrect name or password.';

let tests: UserTests;
beforeAll(async () => {
  tests = await startUserTests();
});
afterAll(() => tests.stop());

describe('signing in', () => {
  let user: TestUser;
  beforeAll(async () => {
    user = await tests.dashboard.createUser('compliance');
  });

  test('leads to the page that was asked for, and is in the audit trail', async () => {
    const page = await tests.dashboard.open('/account?from=test');
    expect(new URL(page.url()).pathname).toBe('/dashboard/sign-in');
    const appended = await tests.events(async () => {
      await page.getByLabel('Name').fill(` ${user.name.toUpperCase()} `);
      await page.getByLabel('Password').fill('not the password');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      expect(await page.getByRole('alert').textContent()).toContain(WRONG);
      await expectAccessible(page);
      await takePictures(page, 'sign-in-wrong');
      await page.getByLabel('Password').fill(user.password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Account' }).waitFor();
      expect(page.url()).toBe(`${tests.service.url}/dashboard/account?from=test`);
    });
    expect(inShort(appended)).toEqual(['sign_in.refused wrong_password', 'sign_in']);
    expect(appended[1]).toMatchObject({
      stream: expect.stringMatching(/^\*\.audit-\d{4}-\d\d-\d\d$/),
      metadata: {
        principal: { type: 'user', id: user.id },
        clientIp: expect.any(String),
        userAgent: expect.stringContaining('Chrome'),
      },
    });
  });

  test('says the same to a wrong password, an unknown user and a disabled one', async () => {
    const disabled = await tests.dashboard.createUser('viewer');
    await tests.manager.setState(disabled.id, 'disabled');
    const tries: [Omit<TestUser, 'id'>, string][] = [
      [{ ...user, password: `${user.password} ` }, 'wrong_password'],
      [{ name: 'nobody@clinic.example', password: user.password }, 'unknown_user'],
      [{ name: '', password: '' }, 'unknown_user'],
      [disabled, 'user_disabled'],
      [{ ...disabled, password: 'not the password' }, 'wrong_password'],
    ];
    const eve = tests.visitor();
    const texts = new Set<string>();
    for (const [credentials, reason] of tries) {
      const appended = await tests.events(async () => {
        const { status, text } = await eve.signIn(credentials);
        expect(status).toBe(401);
        texts.add(text.replace(/value="[^"]*"/g, ''));
      });
      expect(inShort(appended)).toEqual([`sign_in.refused ${reason}`]);
      expect(JSON.stringify(appended)).not.toContain('nobody@');
      expect(await eve.isSignedIn()).toBe(false);
    }
    expect([...texts]).toEqual([expect.stringContaining(WRONG)]);
  });

  test('leads nowhere else than into the dashboard', async () => {
    const targets = {
      '/dashboard/workspaces?x=1': '/dashboard/workspaces?x=1',
      'https://evil.example/dashboard/x': '/dashboard/',
      '//evil.example/dashboard/x': '/dashboard/',
      '/\\evil.example': '/dashboard/',
      '/dashboard/../evil': '/dashboard/',
      '/dashboard-evil': '/dashboard/',
      'javascript:alert(1)': '/dashboard/',
      '': '/dashboard/',
    };
    const somebody = tests.visitor();
    const { status, headers } = await somebody.signIn(user, '//evil.example/dashboard/x');
    expect([status, headers.location]).toEqual([303, '/dashboard/']);
    for (const [next, target] of Object.entries(targets)) {
      const answer = await somebody.get(`/sign-in?next=${encodeURIComponent(next)}`);
      expect([next, answer.headers.location]).toEqual([next, target]);
    }
  });

  test('gives a new session, whose cookie no script can read', async () => {
    const somebody = tests.visitor();
    const session = () => somebody.cookies.get('chartledger_session');
    await somebody.get('/sign-in');
    expect(session()).toBeUndefined();
    const { headers } = await somebody.signIn(user);
    const first = session();
    expect(first).toBeDefined();
    for (const cookie of [headers['set-cookie']].flat()) {
      expect(cookie).toMatch(/; Path=\/dashboard; .*HttpOnly; SameSite=Lax$/);
    }
    await somebody.get('/account');
    await somebody.post('/sign-in', credentials(user));
    expect(session()).not.toBe(first);
  });

  test('without the form’s token is refused, and leaves nothing in the log', async () => {
    const somebody = tests.visitor();
    const appended = await tests.events(async () => {
      for (const csrf_token of ['', 'guessed']) {
        await somebody.get('/sign-in');
        expect((await somebody.post('/sign-in', { ...credentials(user), csrf_token })).status).toBe(403);
      }
      expect((await tests.visitor().post('/sign-in', credentials(user))).status).toBe(403);
    });
    expect(appended).toEqual([]);
    expect(await somebody.isSignedIn()).toBe(false);
  });
});

test('signing out ends the session, and is in the audit trail', async () => {
  const user = await tests.dashboard.createUser('viewer');
  const page = await tests.dashboard.open('/sign-in');
  await page.getByLabel('Name').fill(user.name);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText(user.name).click();
  const { cookies } = await page.context().storageState();
  const appended = await tests.events(async () => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
  expect(inShort(appended)).toEqual(['sign_out']);
  expect(appended[0]?.metadata.principal).toEqual({ type: 'user', id: user.id });
  const thief = tests.visitor();
  thief.takeOver(cookies);
  expect(await thief.isSignedIn()).toBe(false);
});
