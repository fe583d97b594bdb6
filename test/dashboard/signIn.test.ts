import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import type { RecordedEvent } from '../../src/ports/eventLog.ts';
import { UserManager } from '../../src/users/manageUsers.ts';
import { UserDirectory } from '../../src/users/UserDirectory.ts';
import {
  expectAccessible,
  startDashboard,
  type TestDashboard,
  type TestUser,
  takePictures,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { inShort, installationEvents } from '../support/installation.ts';
import { phi } from '../support/phi.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { Visitor } from '../support/visitor.ts';

const credentials = ({ name, password }: TestUser) => ({ name, password });

const WRONG = 'The name or the password is not right.';

let service: TestService;
let dashboard: TestDashboard;
let users: UserDirectory;
let manager: UserManager;
beforeAll(async () => {
  // Attempts are limited by IP address: each test has addresses of its own.
  service = await startTestService({ TRUST_PROXY: '1' });
  dashboard = await startDashboard(service);
  users = await UserDirectory.open(service.eventLog);
  manager = new UserManager(users, { principal: { type: 'operator', id: 'test' } });
});
afterAll(async () => {
  users.close();
  await dashboard.stop();
  await service.stop();
});

let lastAddress = 0;
/** Somebody at an IP address that nobody had before. */
function visitor(): Visitor {
  lastAddress += 1;
  return new Visitor(service.url, { 'x-forwarded-for': `192.0.2.${lastAddress}` });
}

const events = (work: () => Promise<unknown>) => installationEvents(service, work);

/** Whether somebody is signed in: others are sent to the sign-in page. */
async function isSignedIn(somebody: Visitor): Promise<boolean> {
  return (await somebody.get('/account')).status === 200;
}

describe('the setup link', () => {
  test('makes the first administrator, once; other links end with it', async () => {
    const token = await manager.issueSetupLink();
    const other = await manager.issueSetupLink();
    const name = 'ada@clinic.example';
    const password = phi('first password');
    const page = await dashboard.open(`/setup?token=${token}`);
    const fill = async (first: string, again: string) => {
      await page.getByLabel('Name').fill(name);
      await page.getByLabel('Password', { exact: true }).fill(first);
      await page.getByLabel('The same again').fill(again);
      await page.getByRole('button', { name: 'Create administrator' }).click();
    };
    const appended = await events(async () => {
      await fill(password, `${password}x`);
      expect(await page.getByText('The two passwords differ.').count()).toBe(1);
      await fill('too short', 'too short');
      expect(await page.getByText('A password has at least 12 characters.').count()).toBe(1);
      expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('');
      await expectAccessible(page);
      await takePictures(page, 'setup');
      await fill(password, password);
      expect(await page.getByRole('status').textContent()).toBe('Welcome. You are the first administrator.');
    });
    expect(inShort(appended)).toEqual(['UserCreated', 'sign_in']);
    expect(appended[0]).toMatchObject({
      data: { name, role: 'admin' },
      metadata: { principal: { type: 'service', id: 'setup-link' }, clientIp: expect.any(String) },
    });
    expect(JSON.stringify(appended)).not.toContain(password);
    const again = visitor();
    for (const used of [token, other, 'none', '']) {
      const refused = await events(async () => {
        expect((await again.get(`/setup?token=${used}`)).status).toBe(404);
        await again.get('/sign-in');
        const form = { token: used, name: 'eve', password, again: password };
        expect((await again.post('/setup', form)).status).toBe(404);
      });
      expect(refused).toEqual([]);
    }
  });

  test('of yesterday is too old', async () => {
    let fresh = '';
    const issued = await events(async () => {
      fresh = await manager.issueSetupLink();
    });
    const [{ stream, type, metadata, data, recordedAt }] = issued as [RecordedEvent];
    const lifetime = Date.parse(data.expires_at as string) - Date.parse(recordedAt);
    expect(Math.round(lifetime / 3_600_000)).toBe(24);
    expect((await visitor().get(`/setup?token=${fresh}`)).status).toBe(200);
    const token = 'a-token-of-yesterday';
    const sha256 = createHash('sha256').update(token).digest('hex');
    const expires_at = new Date(Date.now() - 1).toISOString();
    await service.eventLog.append(
      stream,
      { id: uuidv7(), type, data: { sha256, expires_at }, metadata },
      'any',
    );
    expect((await visitor().get(`/setup?token=${token}`)).status).toBe(404);
  });
});

describe('signing in', () => {
  let user: TestUser;
  beforeAll(async () => {
    user = await dashboard.createUser('compliance');
  });

  test('leads to the page that was asked for, and is in the audit trail', async () => {
    const page = await dashboard.open('/account?from=test');
    expect(new URL(page.url()).pathname).toBe('/dashboard/sign-in');
    await expectAccessible(page);
    await takePictures(page, 'sign-in');
    const appended = await events(async () => {
      await page.getByLabel('Name').fill(` ${user.name.toUpperCase()} `);
      await page.getByLabel('Password').fill('not the password');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      expect(await page.getByRole('alert').textContent()).toBe(WRONG);
      await expectAccessible(page);
      await takePictures(page, 'sign-in-wrong');
      await page.getByLabel('Password').fill(user.password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Account' }).waitFor();
      expect(page.url()).toBe(`${service.url}/dashboard/account?from=test`);
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
    const disabled = await dashboard.createUser('viewer');
    await manager.setState(disabled.id, 'disabled');
    const tries: [Omit<TestUser, 'id'>, string][] = [
      [{ ...user, password: `${user.password} ` }, 'wrong_password'],
      [{ name: 'nobody@clinic.example', password: user.password }, 'unknown_user'],
      [{ name: '', password: '' }, 'unknown_user'],
      [disabled, 'user_disabled'],
      [{ ...disabled, password: 'not the password' }, 'wrong_password'],
    ];
    const eve = visitor();
    const texts = new Set<string>();
    for (const [credentials, reason] of tries) {
      const appended = await events(async () => {
        const { status, text } = await eve.signIn(credentials);
        expect(status).toBe(401);
        texts.add(text.replace(/value="[^"]*"/g, ''));
      });
      expect(inShort(appended)).toEqual([`sign_in.refused ${reason}`]);
      expect(JSON.stringify(appended)).not.toContain('nobody@');
      expect(await isSignedIn(eve)).toBe(false);
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
    const somebody = visitor();
    const { status, headers } = await somebody.signIn(user, '//evil.example/dashboard/x');
    expect([status, headers.location]).toEqual([303, '/dashboard/']);
    for (const [next, target] of Object.entries(targets)) {
      const answer = await somebody.get(`/sign-in?next=${encodeURIComponent(next)}`);
      expect([next, answer.headers.location]).toEqual([next, target]);
    }
  });

  test('gives a new session, whose cookie no script can read', async () => {
    const somebody = visitor();
    await somebody.get('/sign-in');
    const before = somebody.cookie;
    expect(before).toBeDefined();
    const { headers } = await somebody.signIn(user);
    expect(somebody.cookie).not.toBe(before);
    expect([headers['set-cookie']].flat()[0]).toMatch(/; Path=\/dashboard; .*HttpOnly; SameSite=Lax$/);
  });

  test('without the form’s token is refused, and leaves nothing in the log', async () => {
    const somebody = visitor();
    const appended = await events(async () => {
      for (const csrf_token of ['', 'guessed']) {
        await somebody.get('/sign-in');
        expect((await somebody.post('/sign-in', { ...credentials(user), csrf_token })).status).toBe(403);
      }
      expect((await visitor().post('/sign-in', credentials(user))).status).toBe(403);
    });
    expect(appended).toEqual([]);
    expect(await isSignedIn(somebody)).toBe(false);
  });
});

describe('the limits of signing in', () => {
  test('five wrong passwords for a name, from anywhere; then not even the right one', async () => {
    const user = await dashboard.createUser('viewer');
    const appended = await events(async () => {
      for (let attempt = 1; attempt <= 5; attempt++) {
        expect((await visitor().signIn({ ...user, password: 'not the password' })).status).toBe(401);
      }
      for (let attempt = 1; attempt <= 3; attempt++) {
        const { status, headers, text } = await visitor().signIn({ ...user, name: user.name.toUpperCase() });
        expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^(8\d\d|900)$/)]);
        expect(text).toContain('Too many attempts to sign in. Try again in 15 minutes.');
      }
    });
    // The log tells that the limit was reached, and does not grow by what is tried beyond it.
    expect(inShort(appended)).toEqual([
      ...Array.from({ length: 5 }, () => 'sign_in.refused wrong_password'),
      'sign_in.refused rate_limited',
    ]);
  });

  test('a right password lets the count of a name begin again', async () => {
    const user = await dashboard.createUser('viewer');
    for (const round of [1, 2]) {
      for (let attempt = 1; attempt <= 4; attempt++) {
        const { status } = await visitor().signIn({ ...user, password: `wrong in round ${round}` });
        expect(status).toBe(401);
      }
      expect((await visitor().signIn(user)).status).toBe(303);
    }
  });

  test('ten attempts a minute from an address, for whatever names', async () => {
    const user = await dashboard.createUser('viewer');
    const eve = visitor();
    const appended = await events(async () => {
      for (let attempt = 1; attempt <= 10; attempt++) {
        expect((await eve.signIn({ name: `guess-${attempt}`, password: 'secret' })).status).toBe(401);
      }
      const { status, headers } = await eve.signIn(user);
      expect([status, Number(headers['retry-after'])]).toEqual([429, expect.any(Number)]);
      expect((await visitor().signIn(user)).status).toBe(303);
    });
    expect(inShort(appended).slice(10)).toEqual(['sign_in.refused rate_limited', 'sign_in']);
    expect(appended[0]?.metadata.principal).toEqual({ type: 'service', id: 'dashboard' });
  });
});

test('signing out ends the session, and is in the audit trail', async () => {
  const user = await dashboard.createUser('viewer');
  const page = await dashboard.open('/sign-in');
  await page.getByLabel('Name').fill(user.name);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText(user.name).click();
  const { cookies } = await page.context().storageState();
  const appended = await events(async () => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
  expect(inShort(appended)).toEqual(['sign_out']);
  expect(appended[0]?.metadata.principal).toEqual({ type: 'user', id: user.id });
  const thief = visitor();
  thief.cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  expect(await isSignedIn(thief)).toBe(false);
});

describe('one’s own password', () => {
  test('is changed with the present one; sessions elsewhere end, and this one goes on', async () => {
    const user = await dashboard.createUser('viewer');
    const elsewhere = visitor();
    await elsewhere.signIn(user);
    const here = visitor();
    await here.signIn(user);
    await here.get('/account');
    const password = phi('another password');
    const change = (present: string, first = password, again = password) =>
      here.post('/account/password', { present, password: first, again });
    const appended = await events(async () => {
      const wrong = await change('not the password');
      expect([wrong.status, wrong.text]).toEqual([
        400,
        expect.stringContaining('This is not your present password.'),
      ]);
      expect((await change(user.password, password, 'other')).text).toContain('The two passwords differ.');
      expect((await change(user.password, user.name, user.name)).text).toContain('must not be the name');
      expect(await isSignedIn(elsewhere)).toBe(true);
      expect((await change(user.password)).headers.location).toBe('/dashboard/account');
    });
    expect(inShort(appended)).toEqual(['sign_in.refused wrong_password', 'UserPasswordSet']);
    expect(appended[1]?.metadata.principal).toEqual({ type: 'user', id: user.id });
    expect(await isSignedIn(here)).toBe(true);
    await eventually(async () => expect(await isSignedIn(elsewhere)).toBe(false));
    expect((await visitor().signIn(user)).status).toBe(401);
    expect((await visitor().signIn({ ...user, password })).status).toBe(303);
  });

  test('has a page that is accessible and looks right', async () => {
    const page = await dashboard.openAs('viewer', '/account');
    await expectAccessible(page);
    await takePictures(page, 'account');
    await page.getByLabel('Present password').fill('not the password');
    await page.getByLabel('New password').fill('short');
    await page.getByLabel('The same again').fill('short');
    await page.getByRole('button', { name: 'Change password' }).click();
    await expectAccessible(page);
    await takePictures(page, 'account-wrong');
  });
});
