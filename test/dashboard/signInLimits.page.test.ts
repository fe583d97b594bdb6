import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStateStore } from '../../src/server/openStorage.ts';
import { runCli, storesOf } from '../support/cli.ts';
import {
  BrowserlessSession,
  countSessions,
  startUserTests,
  type TestUser,
  type UserTests,
} from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { inShort } from '../support/service.ts';

let tests: UserTests;
beforeAll(async () => {
  tests = await startUserTests();
});
afterAll(() => tests.stop());

const WRONG = 'not the password';

/** Uses up what strangers may try for a user's name. */
async function lock(user: TestUser): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    expect((await tests.visitor().signIn({ ...user, password: WRONG })).status).toBe(401);
  }
  expect((await tests.visitor().signIn(user)).status).toBe(429);
}

/** Names of nine users, and one of nobody: a user's password is hashed cheaply here, and anybody else's as a service does. */
async function tenNames(): Promise<string[]> {
  const users = await Promise.all(Array.from({ length: 9 }, () => tests.dashboard.createUser('viewer')));
  return ['nobody', ...users.map(({ name }) => name)];
}

/** A browser in which a user has signed in before, and is signed out. */
async function knownBrowser(user: TestUser, browser = tests.visitor()): Promise<BrowserlessSession> {
  expect((await browser.signIn(user)).status).toBe(303);
  await browser.get('/account');
  expect((await browser.post('/sign-out', {})).status).toBe(303);
  return browser;
}

describe('for strangers', () => {
  test('five wrong passwords for a name, from anywhere; then not even the right one', async () => {
    const user = await tests.dashboard.createUser('viewer');
    const appended = await tests.events(async () => {
      for (let attempt = 1; attempt <= 5; attempt++) {
        expect((await tests.visitor().signIn({ ...user, password: WRONG })).status).toBe(401);
      }
      for (let attempt = 1; attempt <= 3; attempt++) {
        const { status, headers, text } = await tests
          .visitor()
          .signIn({ ...user, name: user.name.toUpperCase() });
        expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^(8\d\d|900)$/)]);
        expect(text).toContain('Too many sign-in attempts. Try again in 15 minutes.');
      }
    });
    // The log tells that the limit was reached, and does not grow by what is tried beyond it.
    expect(inShort(appended)).toEqual([
      ...Array.from({ length: 5 }, () => 'sign_in.refused wrong_password'),
      'sign_in.refused rate_limited',
    ]);
  });

  test('a right password lets the count of a name begin again', async () => {
    const user = await tests.dashboard.createUser('viewer');
    for (const round of [1, 2]) {
      for (let attempt = 1; attempt <= 4; attempt++) {
        const { status } = await tests.visitor().signIn({ ...user, password: `wrong in round ${round}` });
        expect(status).toBe(401);
      }
      expect((await tests.visitor().signIn(user)).status).toBe(303);
    }
  });

  test('ten attempts a minute from an address, for whatever names', async () => {
    const user = await tests.dashboard.createUser('viewer');
    const names = await tenNames();
    const eve = tests.visitor();
    const appended = await tests.events(async () => {
      for (const name of names) expect((await eve.signIn({ name, password: WRONG })).status).toBe(401);
      const { status, headers } = await eve.signIn(user);
      expect([status, Number(headers['retry-after'])]).toEqual([429, expect.any(Number)]);
      expect((await tests.visitor().signIn(user)).status).toBe(303);
    });
    expect(inShort(appended).slice(10)).toEqual(['sign_in.refused rate_limited', 'sign_in']);
    expect(appended[0]?.metadata.principal).toEqual({ type: 'service', id: 'dashboard' });
  });

  test('ten attempts a minute from all the addresses of an IPv6 network', async () => {
    const from = (address: string) =>
      new BrowserlessSession(tests.service.url, { 'x-forwarded-for': address });
    const statuses: number[] = [];
    const user = await tests.dashboard.createUser('viewer');
    for (const [host, name] of [...(await tenNames()), user.name].entries()) {
      const eve = from(`2001:db8:1:2:${host}::${host}`);
      statuses.push((await eve.signIn({ name, password: WRONG })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    expect((await from('2001:db8:1:3::1').signIn(user)).status).toBe(303);
  });
});

describe('a browser in which the user has signed in before', () => {
  test('gets in while strangers have locked the name, and has five attempts of its own', async () => {
    const user = await tests.dashboard.createUser('viewer');
    const known = await knownBrowser(user);
    await lock(user);
    await knownBrowser(user, known);
    // That opens the name to nobody else.
    expect((await tests.visitor().signIn(user)).status).toBe(429);
    for (let attempt = 1; attempt <= 5; attempt++) {
      expect((await known.signIn({ ...user, password: WRONG })).status).toBe(401);
    }
    expect((await known.signIn(user)).status).toBe(429);
  });

  test('is known for its own users alone, and by what the service signed', async () => {
    const [user, other] = [
      await tests.dashboard.createUser('viewer'),
      await tests.dashboard.createUser('viewer'),
    ];
    const known = await knownBrowser(other);
    const forger = tests.visitor();
    forger.cookies.set('chartledger_browser', encodeURIComponent(`s:${user.id}:guessed.guessed`));
    await lock(user);
    expect((await known.signIn(user)).status).toBe(429);
    expect((await forger.signIn(user)).status).toBe(429);
  });

  test('serves several users', async () => {
    const users = [await tests.dashboard.createUser('viewer'), await tests.dashboard.createUser('viewer')];
    const browser = tests.visitor();
    for (const user of users) await knownBrowser(user, browser);
    for (const user of users) {
      await lock(user);
      await knownBrowser(user, browser);
    }
  });
});

describe('a name that is locked', () => {
  test('is opened by `chartledger users unlock`', async () => {
    const user = await tests.dashboard.createUser('viewer');
    await lock(user);
    const appended = await tests.events(async () => {
      const { code, stdout } = await runCli(['users', 'unlock', user.name], {
        env: storesOf(tests.service.config),
      });
      expect([code, stdout]).toEqual([0, `User ${user.name} is unlocked.\n`]);
    });
    expect(inShort(appended)).toEqual(['UserUnlocked']);
    expect((await tests.visitor().signIn(user)).status).toBe(303);
  });

  test('is opened by an administrator, on the page of the user', async () => {
    const user = await tests.dashboard.createUser('viewer');
    await lock(user);
    const page = await tests.dashboard.openAs('admin', `/users/${user.id}`);
    await page.getByRole('button', { name: 'Unlock' }).click();
    expect(await page.getByRole('status').textContent()).toContain(`User ${user.name} is unlocked.`);
    expect((await tests.visitor().signIn(user)).status).toBe(303);
  });

  test('is open again with another password', async () => {
    const user = await tests.dashboard.createUser('viewer');
    await lock(user);
    const password = phi('another password');
    await tests.manager.setPassword(user.id, password);
    expect((await tests.visitor().signIn({ ...user, password })).status).toBe(303);
  });

  test('does not keep the user who is in from changing the password', async () => {
    const user = await tests.dashboard.createUser('viewer');
    const here = tests.visitor();
    await here.signIn(user);
    await lock(user);
    const password = phi('another password');
    await here.get('/account');
    const answer = await here.post('/account/password', {
      present: user.password,
      password,
      again: password,
    });
    expect(answer.headers.location).toBe('/dashboard/account');
  });
});

test('a stolen session has five attempts at the present password', async () => {
  const user = await tests.dashboard.createUser('viewer');
  const thief = tests.visitor();
  await thief.signIn(user);
  await thief.get('/account');
  const password = phi('another password');
  const attempt = async (present: string) =>
    (await thief.post('/account/password', { present, password, again: password })).status;
  for (let tried = 1; tried <= 5; tried++) expect(await attempt(WRONG)).toBe(400);
  expect(await attempt(user.password)).toBe(429);
});

test('pages before the sign-in, and what is sent from them, leave nothing in the store of sessions', async () => {
  const stateStore = await openStateStore(tests.service.config.stateUrl);
  const before = await countSessions(stateStore);
  const somebody = tests.visitor();
  await somebody.get('/sign-in');
  await somebody.get(`/setup?token=${await tests.links.issueSetupLink().catch(() => 'none')}`);
  await somebody.get('/no-such-page');
  await somebody.get('/account');
  expect((await somebody.signIn({ name: 'nobody', password: WRONG })).status).toBe(401);
  expect(await countSessions(stateStore)).toBe(before);
  expect(somebody.cookies.has('chartledger_session')).toBe(false);
  const user = await tests.dashboard.createUser('viewer');
  await somebody.signIn(user);
  expect(await countSessions(stateStore)).toBe(before + 1);
  await stateStore.close();
});
