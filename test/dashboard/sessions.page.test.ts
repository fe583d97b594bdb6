import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UserManager } from '../../src/modules/auth/userManager.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import {
  BrowserlessSession,
  StoredSession,
  signIn,
  startDashboard,
  type TestDashboard,
} from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';

let dashboard: TestDashboard;
let stateStore: StateStore;
let users: UserDirectory;

beforeAll(async () => {
  dashboard = await startDashboard();
  stateStore = await openStateStore(dashboard.service.config.stateUrl);
  users = await UserDirectory.open(dashboard.service.eventLog);
});
afterAll(async () => {
  users.close();
  await stateStore.close();
  await dashboard.stop();
});

const manager = () => new UserManager(users, { principal: { type: 'operator', id: 'test' } });
const urlOf = (path: string) => `${dashboard.service.url}/dashboard${path}`;
const isSignIn = (page: Page) => new URL(page.url()).pathname === '/dashboard/sign-in';

/** Loads the page anew until the session has ended. */
const untilSignedOut = (page: Page) =>
  eventually(async () => {
    await page.reload();
    expect(isSignIn(page)).toBe(true);
  });

/** A form of a visitor's, whose answer can be looked at as it arrives. */
function form(visitor: BrowserlessSession, path: string, fields: Record<string, string>) {
  const body = new URLSearchParams({ csrf_token: visitor.csrf, ...fields }).toString();
  const headers = {
    cookie: [...visitor.cookies].map((pair) => pair.join('=')).join('; '),
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': Buffer.byteLength(body),
    expect: '100-continue',
  };
  return { sent: request(urlOf(path), { method: 'POST', headers }), body };
}

/** Sends a form but for its body; what it returns sends that, and resolves with the answer. */
async function halfSent(...all: Parameters<typeof form>): Promise<() => Promise<IncomingMessage>> {
  const { sent, body } = form(...all);
  const answered = once(sent, 'response');
  sent.flushHeaders();
  await once(sent, 'continue');
  return async () => {
    sent.end(body);
    const [answer] = (await answered) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    return answer;
  };
}

describe('a session', () => {
  test('ends when it was not used for 15 minutes', async () => {
    const page = await dashboard.openFor(await dashboard.createUser('viewer'), '/reference');
    const session = await StoredSession.of(page, stateStore);
    await session.setBack(14 * 60_000);
    await page.reload();
    expect(isSignIn(page)).toBe(false);
    await session.setBack(15 * 60_000 + 1);
    await page.reload();
    expect(isSignIn(page)).toBe(true);
    expect(new URL(page.url()).searchParams.get('next')).toBe('/dashboard/reference');
  });

  test('ends 12 hours after the sign-in, however much it is used', async () => {
    const page = await dashboard.openFor(await dashboard.createUser('viewer'), '/reference');
    const session = await StoredSession.of(page, stateStore);
    await session.signedInBefore(12 * 3_600_000 - 60_000);
    await page.reload();
    expect(isSignIn(page)).toBe(false);
    await session.signedInBefore(12 * 3_600_000 + 1);
    await page.reload();
    expect(isSignIn(page)).toBe(true);
  });

  test('ends with the sign-out, for whoever kept the cookie too', async () => {
    const page = await dashboard.openFor(await dashboard.createUser('viewer'), '/reference');
    const cookies = await page.context().cookies();
    await page.locator('.user-menu summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(urlOf('/sign-in'));
    await page.context().addCookies(cookies);
    await page.goto(urlOf('/reference'));
    expect(isSignIn(page)).toBe(true);
  });

  test('ends with the sign-out: a form of it that is still under way is not carried out, and revives nothing', async () => {
    const user = await dashboard.createUser('compliance');
    const visitor = new BrowserlessSession(dashboard.service.url);
    await visitor.signIn(user);
    const search = `/workspaces/${dashboard.service.workspaceId('clinic')}/search`;
    await visitor.get(search);
    const forms = [
      await halfSent(visitor, search, { q: phi('Quetzal') }),
      await halfSent(visitor, '/account/time-zone', { time_zone: 'America/Chicago' }),
    ];
    const thief = new BrowserlessSession(dashboard.service.url);
    thief.takeOver([...visitor.cookies].map(([name, value]) => ({ name, value })));
    expect((await visitor.post('/sign-out', {})).status).toBe(303);
    for (const rest of forms) {
      expect((await rest()).headers.location).toMatch(/^\/dashboard\/sign-in(?:\?next=|$)/);
    }
    expect(await thief.isSignedIn()).toBe(false);
    await users.refresh();
    expect(users.find(user.id)?.timeZone).toBeUndefined();
  });

  test('is stored before an answer leads on, to whichever instance', async () => {
    const user = await dashboard.createUser('viewer');
    const other = await dashboard.service.another({});
    const visitor = new BrowserlessSession(dashboard.service.url);
    const next = new BrowserlessSession(other.url);
    await visitor.signIn(user);
    await visitor.get('/account');
    for (let time = 1; time <= 10; time++) {
      const { sent, body } = form(visitor, '/account/time-zone', { time_zone: '' });
      sent.end(body);
      // A browser goes on as soon as it reads where to.
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      next.takeOver([...visitor.cookies].map(([name, value]) => ({ name, value })));
      expect((await next.get('/account')).text).toContain('Your time zone was set.');
      answer.resume();
      await once(answer, 'end');
    }
    await other.stop();
  });

  test('ends when the user is disabled', async () => {
    const user = await dashboard.createUser('viewer');
    const page = await dashboard.openFor(user, '/reference');
    await manager().setState(user.id, 'disabled');
    await untilSignedOut(page);
  });

  test('stays ended when the user is enabled again, whether or not it was used meanwhile', async () => {
    const user = await dashboard.createUser('viewer');
    const [used, unused] = [await dashboard.openFor(user, '/reference'), await dashboard.openFor(user, '/')];
    await manager().setState(user.id, 'disabled');
    await untilSignedOut(used);
    await manager().setState(user.id, 'active');
    for (const page of [used, unused]) {
      await page.goto(urlOf('/reference'));
      expect(isSignIn(page)).toBe(true);
    }
    await signIn(used, user);
    expect(isSignIn(used)).toBe(false);
  });

  test('ends when the password changes', async () => {
    const user = await dashboard.createUser('viewer');
    const page = await dashboard.openFor(user, '/reference');
    await manager().setPassword(user.id, phi('another battery, correct'));
    await untilSignedOut(page);
  });

  test('has another id after the sign-in than before', async () => {
    const page = await dashboard.open('/sign-in');
    const ids = async () => (await page.context().cookies()).map(({ value }) => value);
    const before = await ids();
    await signIn(page, await dashboard.createUser('viewer'));
    await page.waitForURL((url) => url.pathname !== '/dashboard/sign-in');
    const after = await ids();
    expect(before.filter((id) => after.includes(id))).toEqual([]);
  });

  test('goes on after a restart of the service', async () => {
    const other = await startDashboard();
    const page = await other.openFor(await other.createUser('viewer'), '/reference');
    const cookies = await page.context().cookies();
    await other.service.restart();
    const moved = await other.browser.newContext({ baseURL: other.service.url });
    await moved.addCookies(cookies.map((cookie) => ({ ...cookie, domain: '127.0.0.1' })));
    const again = await moved.newPage();
    await again.goto('/dashboard/reference');
    expect(isSignIn(again)).toBe(false);
    await other.stop();
  });
});
