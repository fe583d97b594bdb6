import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import {
  BrowserlessSession,
  expectAccessible,
  signIn,
  startDashboard,
  type TestDashboard,
  takePictures,
} from '../support/dashboard.ts';
import { appendedBy, startFaultyApp } from '../support/service.ts';

let dashboard: TestDashboard;

beforeAll(async () => {
  dashboard = await startDashboard();
});
afterAll(async () => {
  await dashboard.stop();
});

const urlOf = (path: string) => `${dashboard.service.url}/dashboard${path}`;
const isSignIn = (page: Page) => new URL(page.url()).pathname === '/dashboard/sign-in';

describe('what is sent with every page', () => {
  test.each(['/sign-in', '/no-such-page', '/assets/pico.0.css'])(
    '%s has headers of protection',
    async (path) => {
      const { headers } = await dashboard.service.get(`/dashboard${path}`);
      expect(headers).toMatchObject({
        'content-security-policy':
          "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';frame-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'",
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
        'cache-control': 'no-store',
      });
      expect(headers['x-powered-by']).toBeUndefined();
    },
  );

  test('assets have a hash of their content in their names, and are kept for ever', async () => {
    const { text } = await dashboard.service.get('/dashboard/sign-in');
    const paths = [...text.matchAll(/(?:src|href)="(\/dashboard\/assets\/[^"]+)"/g)].map(
      ([, path]) => path ?? '',
    );
    expect(paths.map((path) => path.replace(/[0-9a-f]{16}/, 'HASH'))).toEqual([
      '/dashboard/assets/logo.HASH.svg',
      '/dashboard/assets/pico.HASH.css',
      '/dashboard/assets/dashboard.HASH.css',
      '/dashboard/assets/dashboard.HASH.js',
      '/dashboard/assets/htmx.HASH.js',
      '/dashboard/assets/logo.HASH.svg',
    ]);
    const types: Record<string, string> = {
      '.css': 'text/css; charset=utf-8',
      '.js': 'text/javascript; charset=utf-8',
      '.svg': 'image/svg+xml',
    };
    for (const path of paths) {
      const { status, headers, text: content } = await dashboard.service.get(path);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': types[path.slice(path.lastIndexOf('.'))],
        'x-content-type-options': 'nosniff',
      });
      expect(headers['set-cookie']).toBeUndefined();
      expect(content.length).toBeGreaterThan(300);
    }
  });

  test('cookies are for the dashboard only, and no script or other site gets them', async () => {
    const user = await dashboard.createUser('viewer');
    const proxied = await dashboard.service.another({ TRUST_PROXY: '127.0.0.1' });
    /** The cookies of a sign-in, without their values. */
    const cookiesOf = async (url: string, headers: Record<string, string>) => {
      const answer = await new BrowserlessSession(url, headers).signIn(user);
      return [answer.headers['set-cookie']].flat().map((cookie) => {
        const [pair = '', ...attributes] = String(cookie).split('; ');
        const kept = attributes.filter((attribute) => !/^(Expires|Max-Age)=/.test(attribute));
        return [pair.split('=')[0], ...kept].join('; ');
      });
    };
    const cookies = (attributes: string) => [
      `chartledger_browser; ${attributes}`,
      `chartledger_session; ${attributes}`,
    ];
    const plain = cookies('Path=/dashboard; HttpOnly; SameSite=Lax');
    const https = { 'x-forwarded-proto': 'https' };
    expect(await cookiesOf(proxied.url, {})).toEqual(plain);
    expect(await cookiesOf(proxied.url, https)).toEqual(
      cookies('Path=/dashboard; HttpOnly; Secure; SameSite=Lax'),
    );
    await proxied.stop();
    expect(await cookiesOf(dashboard.service.url, https)).toEqual(plain);
    const published = await dashboard.service.another({ PUBLIC_URL: 'https://chartledger.example.com' });
    expect(await cookiesOf(published.url, {})).toEqual(
      cookies('Path=/dashboard; HttpOnly; Secure; SameSite=Lax'),
    );
    const { headers } = await new BrowserlessSession(published.url).get('/sign-in');
    expect([headers['set-cookie']].flat().join()).toMatch(/^chartledger_csrf=[^,]*; Secure;/);
    await published.stop();
  });
});

describe('a form', () => {
  const send = async (page: Page, form: Record<string, string>) =>
    page.request.post(urlOf('/workspaces'), { form, maxRedirects: 0 });
  const tokenOn = (page: Page) => page.locator('main input[name=csrf_token]').first().inputValue();

  test.each([
    ['without a token', async () => ({})],
    ['with a wrong token', async () => ({ csrf_token: 'a'.repeat(64) })],
    [
      "with another session's token",
      async () => ({
        csrf_token: await tokenOn(
          await dashboard.openFor(await dashboard.createUser('admin'), '/workspaces'),
        ),
      }),
    ],
  ])('%s is refused, and changes nothing', async (_name, fields) => {
    const page = await dashboard.openAs('admin', '/workspaces');
    const id = dashboard.service.workspaceId('forged');
    const form = { id, ...(await fields()) };
    const appended = await appendedBy(dashboard.service, async () => {
      const answer = await send(page, form);
      expect(answer.status()).toBe(403);
      expect(await answer.text()).toContain('This form has expired, or was not sent from the dashboard.');
    });
    expect(appended).toEqual([]);
  });

  test('with its token is taken', async () => {
    const page = await dashboard.openAs('admin', '/workspaces');
    const form = { id: dashboard.service.workspaceId('meant'), csrf_token: await tokenOn(page) };
    const appended = await appendedBy(dashboard.service, async () => {
      expect((await send(page, form)).status()).toBe(303);
    });
    expect(appended).toEqual(['access: WorkspaceCreated']);
  });
});

describe('what is not there', () => {
  test('an unknown page and an unknown workspace are 404', async () => {
    const page = await dashboard.openAs('viewer', '/reference');
    for (const [path, text] of [
      ['/no-such-page', 'There is no such page.'],
      ['/workspaces/no_such_workspace', 'There is no such workspace.'],
      ['/workspaces/%3Cscript%3E', 'There is no such workspace.'],
    ] as const) {
      const answer = await page.goto(urlOf(path));
      expect(answer?.status()).toBe(404);
      expect(await page.locator('main').innerText()).toContain(text);
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Not found');
    }
    expect((await page.request.post(urlOf('/no-such-page'))).status()).toBe(404);
    await expectAccessible(page);
    await takePictures(page, 'not-found');
  });

  test('from a record that is not there, its workspace is searched', async () => {
    const workspace = `/workspaces/${dashboard.service.workspaceId('clinic')}`;
    const page = await dashboard.openAs('compliance', `${workspace}/records/patients/nobody`);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Not found');
    // What helps on the page of a record does not help here.
    expect(await page.locator('.help').innerText()).toContain('What each page is for.');
    await page.getByRole('button', { name: 'Search the workspace' }).click();
    await page.waitForURL(urlOf(`${workspace}/search`));
    const viewer = await dashboard.openAs('viewer', `${workspace}/keys/none`);
    expect(await viewer.getByRole('button', { name: 'Search the workspace' }).count()).toBe(0);
  });

  test('while the state store is away, 503 says so', async () => {
    const page = await dashboard.openFor(await dashboard.createUser('viewer'), '/reference');
    const app = await startFaultyApp(dashboard.service, {
      stateStore: { load: () => Promise.reject(unavailable('state store', new Error('gone'))) },
    });
    const answer = await page.goto(`${app.url}/dashboard/reference`);
    expect(answer?.status()).toBe(503);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Not available right now');
    expect(await page.content()).not.toContain('gone');
    await app.stop();
  });
});

describe('by keyboard', () => {
  const focused = (page: Page) =>
    page.evaluate(
      'document.activeElement.textContent.trim() || document.activeElement.id || document.activeElement.tagName',
    );

  test('the first stop leads past the menu', async () => {
    const page = await dashboard.openAs('viewer', '/reference');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
  });

  test('every part is reached in the order of the page', async () => {
    const page = await dashboard.openAs('admin', '/workspaces');
    const stops: string[] = [];
    while (stops.at(-1) !== 'Create workspace' && stops.length < 60) {
      await page.keyboard.press('Tab');
      stops.push(String(await focused(page)));
    }
    const wanted = [
      'Skip to content',
      'Chartledger',
      'Overview',
      'API reference',
      'Dark',
      'Create workspace',
    ];
    expect(stops.filter((stop) => wanted.includes(stop))).toEqual(wanted);
  });
});

test('colours are those of the system until the button chooses others, and stay so', async () => {
  const page = await dashboard.openAs('viewer', '/reference');
  const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await background();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.reload();
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.getByRole('button', { name: 'Use light theme' }).click();
  expect(await background()).toBe(light);
  await page.reload();
  expect(await background()).toBe(light);
  await page.getByRole('button', { name: 'Use dark theme' }).click();
  expect(await background()).toBe(dark);
});

test('works without scripts', async () => {
  const user = await dashboard.createUser('admin');
  const page = await dashboard.open('/sign-in', { javaScriptEnabled: false });
  await signIn(page, user);
  await page.goto(urlOf('/workspaces'));
  const id = dashboard.service.workspaceId('unscripted');
  await page.getByLabel('ID').fill(id);
  await page.getByRole('button', { name: 'Create workspace' }).click();
  expect(await page.locator('.notice').innerText()).toContain(id);
  await page.locator('.user-menu summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  expect(isSignIn(page)).toBe(true);
});

test("the service's address leads browsers to the dashboard, and tells programs that nothing is there", async () => {
  const { service } = dashboard;
  const browser = await service.get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  expect([browser.status, browser.headers.location, browser.headers.vary]).toEqual([
    302,
    '/dashboard',
    'Accept',
  ]);
  for (const accept of ['application/json', '*/*']) {
    const program = await service.get('/', { accept });
    expect([program.status, program.body.code]).toEqual([404, 'not_found']);
  }
});
