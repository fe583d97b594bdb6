import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UserManager } from '../../src/modules/auth/userManager.ts';
import { UserDirectory } from '../../src/modules/auth/users.ts';

import {
  BrowserlessSession,
  expectAccessible,
  signIn,
  startDashboard,
  type TestDashboard,
  takePictures,
} from '../support/dashboard.ts';
import { inShort, installationEvents, startTestService, type TestService } from '../support/service.ts';
import { startIdentityProvider, type TestIdentityProvider } from '../support/users.ts';

const CALLBACK = '/sign-in/openid-connect/callback';

let provider: TestIdentityProvider;
let service: TestService;
let dashboard: TestDashboard;
beforeAll(async () => {
  provider = await startIdentityProvider('id token');
  service = await startTestService(provider.env);
  provider.allow(`${service.url}/dashboard${CALLBACK}`);
  dashboard = await startDashboard(service);
});
afterAll(async () => {
  await dashboard.stop();
  await service.stop();
  await provider.stop();
});

const events = (work: () => Promise<unknown>) => installationEvents(service, work);
const providerButton = (page: Page) => page.getByRole('button', { name: 'Sign in with 127.0.0.1' });

/** Somebody without a session goes to a page, and signs in through the provider. */
async function signInByProvider(path = '/account'): Promise<Page> {
  const signInPage = `${service.url}/dashboard/sign-in?`;
  const page = await dashboard.open(path);
  await providerButton(page).click();
  await page.waitForURL(({ href }) => href.startsWith(service.url) && !href.startsWith(signInPage));
  return page;
}

const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();

describe('signing in through an identity provider', () => {
  test('that a link on another site begins leads to no page that the link names', async () => {
    provider.account = { sub: 'sub-0', preferred_username: 'alice', roles: 'compliance' };
    const page = await dashboard.open('/sign-in');
    await page.route('https://elsewhere.example/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<a href="${service.url}/dashboard/sign-in/openid-connect?next=/dashboard/account">Look</a>`,
      }),
    );
    await page.goto('https://elsewhere.example/');
    await page.getByText('Look').click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.context().close();
  });

  test('makes a user the first time, and leads to the page that was asked for', async () => {
    provider.account = {
      sub: 'sub-1',
      preferred_username: 'grace',
      roles: ['staff', 'viewer', 'compliance'],
    };
    const appended = await events(async () => {
      const page = await signInByProvider('/account?from=test');
      await page.waitForURL(`${service.url}/dashboard/account?from=test`);
      const facts = await page.locator('dl').textContent();
      expect(facts).toMatch(/grace\s*Role\s*compliance in all workspaces.*identity provider/s);
      expect(await page.getByLabel('Current password').count()).toBe(0);
      await expectAccessible(page);
      await page.context().close();
    });
    expect(inShort(appended)).toEqual(['UserCreated', 'sign_in']);
    const [created, signedIn] = appended;
    expect(created).toMatchObject({
      data: {
        name: 'grace',
        roles: { '*': 'compliance' },
        origin: 'openid_connect',
        identity: { issuer: provider.issuer, subject: 'sub-1' },
      },
      metadata: { principal: { type: 'service', id: 'openid-connect' } },
    });
    expect(signedIn?.metadata.principal).toEqual({ type: 'user', id: created?.data.user_id });
    const again = await events(async () => (await signInByProvider()).context().close());
    expect(inShort(again)).toEqual(['sign_in']);
  });

  test('gives the role that the provider says now, be it the last administrator’s', async () => {
    for (const [roles, appended] of [
      ['admin', ['UserCreated', 'sign_in']],
      [['viewer'], ['UserRoleSet', 'sign_in']],
      [
        ['admin', 'viewer'],
        ['UserRoleSet', 'sign_in'],
      ],
    ] as const) {
      provider.account = { sub: 'sub-2', email: 'linus@clinic.example', roles };
      expect(inShort(await events(async () => (await signInByProvider()).context().close()))).toEqual(
        appended,
      );
    }
  });

  test.each([
    ['no role', undefined],
    ['roles of others', ['root', 'Admin', { admin: true }]],
    ['a text that holds one', 'not-admin'],
  ])('lets nobody in with %s', async (_what, roles) => {
    provider.account = { sub: 'sub-3', preferred_username: 'eve', roles };
    const appended = await events(async () => {
      const page = await signInByProvider();
      expect(await heading(page)).toBe('Sign in');
      expect(await page.getByRole('alert').textContent()).toContain(
        'did not assign you a role in Chartledger',
      );
      await page.context().close();
    });
    expect(inShort(appended)).toEqual(['sign_in.refused no_role']);
  });

  test('keeps a disabled user out', async () => {
    provider.account = { sub: 'sub-4', preferred_username: 'mallory', roles: 'viewer' };
    await (await signInByProvider()).context().close();
    const users = await UserDirectory.open(service.eventLog);
    const manager = new UserManager(users, { principal: { type: 'operator', id: 'test' } });
    await manager.setState(users.findByName('mallory')?.id as string, 'disabled');
    users.close();
    provider.account = { ...provider.account, roles: 'admin' };
    const appended = await events(async () => {
      const page = await signInByProvider();
      expect(await page.getByRole('alert').textContent()).toContain('This user is disabled here.');
      await page.context().close();
    });
    expect(inShort(appended)).toEqual(['sign_in.refused user_disabled']);
  });

  test('never makes somebody the user whose name he has', async () => {
    const own = await dashboard.createUser('admin');
    provider.account = { sub: 'sub-5', preferred_username: own.name, roles: 'viewer' };
    const page = await signInByProvider();
    expect(await page.locator('dl').textContent()).toContain(`${own.name} (sub-5)`);
    await page.context().close();
    const theirs = await dashboard.open('/account');
    await signIn(theirs, own);
    expect(await theirs.locator('dl').textContent()).toContain('admin in all workspaces');
    await theirs.context().close();
  });

  test('that the user breaks off leads back to the sign-in page', async () => {
    provider.account = undefined;
    const appended = await events(async () => {
      const page = await signInByProvider();
      expect(await page.getByRole('alert').textContent()).toContain('did not sign you in');
      await expectAccessible(page);
      await takePictures(page, 'sign-in-provider');
      await page.context().close();
    });
    expect(appended).toEqual([]);
  });

  test('takes no answer but that to its own question, and each once', async () => {
    provider.account = { sub: 'sub-6', preferred_username: 'trent', roles: 'viewer' };
    const somebody = new BrowserlessSession(service.url);
    const appended = await events(async () => {
      // No question was asked.
      const unasked = await somebody.get(`${CALLBACK}?code=guessed&state=guessed`);
      expect([unasked.status, unasked.headers.location]).toEqual([303, '/dashboard/sign-in']);
      const begun = await somebody.get('/sign-in/openid-connect');
      const question = new URL(begun.headers.location as string);
      expect(Object.fromEntries(question.searchParams)).toMatchObject({
        response_type: 'code',
        code_challenge_method: 'S256',
        redirect_uri: `${service.url}/dashboard${CALLBACK}`,
        state: expect.stringMatching(/^.{43}$/),
        nonce: expect.stringMatching(/^.{43}$/),
      });
      const iss = encodeURIComponent(provider.issuer);
      // Another state; and then the right one, too late.
      const other = await somebody.get(`${CALLBACK}?code=guessed&state=guessed&iss=${iss}`);
      expect([other.status, other.text]).toEqual([401, expect.stringContaining('did not sign you in')]);
      const state = question.searchParams.get('state');
      const late = await somebody.get(`${CALLBACK}?code=guessed&state=${state}&iss=${iss}`);
      expect(late.status).toBe(303);
      // The right state with a code that the provider did not give.
      const asked = await somebody.get('/sign-in/openid-connect');
      const right = new URL(asked.headers.location as string).searchParams.get('state');
      expect((await somebody.get(`${CALLBACK}?code=guessed&state=${right}&iss=${iss}`)).status).toBe(401);
    });
    expect(appended).toEqual([]);
  });
});

test('before users are changed, the user proves anew at the provider who he is, and nobody else may', async () => {
  provider.account = { sub: 'sub-8', preferred_username: 'judy', roles: 'admin' };
  const page = await signInByProvider('/users');
  await page.waitForURL('**/dashboard/users');
  const other = await dashboard.createUser('viewer');
  const unlock = async () => {
    await page.goto(`/dashboard/users/${other.id}`);
    await page.getByRole('button', { name: 'Unlock' }).click();
  };
  const confirm = page.getByRole('button', { name: 'Confirm with the identity provider' });
  const appended = await events(async () => {
    await unlock();
    expect(await heading(page)).toBe('Confirm your identity');
    await expectAccessible(page);
    provider.account = { sub: 'sub-9', preferred_username: 'mallet', roles: 'admin' };
    await confirm.click();
    expect(await page.getByRole('alert').textContent()).toContain('signed in a different user');
    await unlock();
    provider.account = { sub: 'sub-8', preferred_username: 'judy', roles: 'admin' };
    await confirm.click();
    await page.waitForURL(`**/dashboard/users/${other.id}`);
    await page.getByRole('button', { name: 'Unlock' }).click();
    expect(await page.getByRole('status').textContent()).toContain('is unlocked.');
  });
  expect(inShort(appended)).toEqual(['UserUnlocked']);
  await page.context().close();
});

test('claims that only the user info tells are found, by a name with dots too, and groups name roles by workspace', async () => {
  const other = await startIdentityProvider('user info');
  // The browser comes to the service by another address than the service itself knows.
  const outside = createServer((req, res) => res.writeHead(303, { location: `${url}${req.url}` }).end());
  await once(outside.listen(0), 'listening');
  const publicUrl = `http://localhost:${(outside.address() as AddressInfo).port}`;
  const { url, stop } = await service.another({
    ...other.env,
    OIDC_ROLE_CLAIM: 'roles.chartledger',
    OIDC_GROUPS: '{"Clinic": "billing@clinic", "Staff": ["viewer@clinic", "viewer@lab"]}',
    PUBLIC_URL: publicUrl,
  });
  try {
    other.account = {
      sub: 'sub-7',
      preferred_username: 'heidi',
      roles: { chartledger: ['compliance', 'Staff', 'Clinic'] },
    };
    other.allow(`${publicUrl}/dashboard${CALLBACK}`);
    const appended = await events(async () => {
      const page = await dashboard.browser.newPage();
      await page.goto(`${url}/dashboard/account`);
      await providerButton(page).click();
      await page.getByText('heidi').first().waitFor();
      await page.close();
    });
    expect(inShort(appended)).toEqual(['UserCreated', 'sign_in']);
    expect(appended[0]?.data).toMatchObject({
      name: 'heidi',
      roles: { '*': 'compliance', lab: 'viewer', clinic: 'billing' },
    });
  } finally {
    await stop();
    await other.stop();
    outside.close();
  }
});

test('a provider that is away is told on the sign-in page; passwords work on', async () => {
  const gone = await startIdentityProvider('id token');
  const { url, stop } = await service.another(gone.env);
  try {
    await gone.stop();
    const user = await dashboard.createUser('viewer');
    const somebody = new BrowserlessSession(url);
    const { status, text, headers } = await somebody.get('/sign-in/openid-connect');
    expect([status, headers['retry-after']]).toEqual([503, '2']);
    expect(text).toContain('The identity provider is temporarily unavailable.');
    expect((await somebody.post('/sign-in', { name: user.name, password: user.password })).status).toBe(303);
  } finally {
    await stop();
  }
});

test('without a provider there is no way to one', async () => {
  const { url, stop } = await service.another({
    OIDC_ISSUER: '',
    OIDC_CLIENT_ID: '',
    OIDC_CLIENT_SECRET: '',
  });
  const somebody = new BrowserlessSession(url);
  expect((await somebody.get('/sign-in')).text).not.toContain('openid-connect');
  expect((await somebody.get('/sign-in/openid-connect')).status).toBe(404);
  await stop();
});
