import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { admins, everyone, phiReaders } from '../../src/dashboard/shell/route.ts';
import { type DashboardPorts, dashboardRoutes } from '../../src/dashboard/shell/routes.ts';
import { INSTALLATION } from '../../src/events/streamNames.ts';
import { type Role, roles } from '../../src/principals/users/user.ts';
import { startDashboard, type TestDashboard } from '../support/dashboard.ts';
import { readAll } from '../support/events.ts';
import { appendedBy } from '../support/service.ts';

const roleNames = { public: 'public', everyone, phiReaders, admins } as const;

/** Who may do what, by URL. A page or action that is not listed here fails, and so does one with other roles. */
const expected: Record<keyof typeof roleNames, string[]> = {
  public: [
    'get /sign-in',
    'post /sign-in',
    'get /sign-in/openid-connect',
    'get /sign-in/openid-connect/callback',
    ...both('/sign-in/code'),
    ...both('/setup'),
    ...both('/invitation'),
  ],
  everyone: [
    'get /',
    'post /sign-out',
    'get /account',
    'post /account/password',
    'post /account/time-zone',
    'get /session',
    ...both('/account/two-factor'),
    'post /account/two-factor/off',
    'get /workspaces/:workspace',
    'get /workspaces/:workspace/figures',
    'post /reference/operations/:operation',
    'get /workspaces/:workspace/events',
    'get /workspaces/:workspace/events/news',
    'get /reference',
    ...['operations/:operation', 'messages', 'errors', 'schemas/:schema'].map(
      (part) => `get /reference/${part}`,
    ),
  ],
  phiReaders: [
    'get /workspaces/:workspace/records',
    'get /workspaces/:workspace/records/:kind/:id',
    'get /workspaces/:workspace/records/:kind/:id/certificate',
    'get /workspaces/:workspace/records/:kind/:id/compare',
    'get /workspaces/:workspace/records/:kind/:id/fields/:field',
    'get /workspaces/:workspace/records/:kind/:id/timeline',
    ...both('/workspaces/:workspace/records/:kind/:id/print'),
    'get /workspaces/:workspace/records/:kind/:id/proof',
    'get /workspaces/:workspace/records/encounters/:id/documents',
    'get /workspaces/:workspace/records/encounters/:id/documents/:documentId',
    ...both('/workspaces/:workspace/records/encounters/:id/documents/:documentId/download'),
    'get /workspaces/:workspace/records/encounters/:id/documents/:documentId/preview',
    ...both('/workspaces/:workspace/records/encounters/:id/billed/acknowledge'),
    'get /workspaces/:workspace/records/patients/:id/disclosures',
    'get /workspaces/:workspace/records/patients/:id/disclosures/print',
    'get /workspaces/:workspace/records/patients/:id/disclosures/export',
    'get /workspaces/:workspace/readiness',
    'get /workspaces/:workspace/readiness/export',
    ...['simulation', 'scorecard'].flatMap((part) => [
      ...both(`/workspaces/:workspace/readiness/${part}`),
      `get /workspaces/:workspace/readiness/${part}/state`,
    ]),
    'get /workspaces/:workspace/readiness/scorecard/export',
    'get /workspaces/:workspace/holds',
    ...both('/workspaces/:workspace/search'),
    ...['', '/:message', '/:message/download'].map((part) => `get /workspaces/:workspace/messages${part}`),
    'get /workspaces/:workspace/sources',
    'get /workspaces/:workspace/requests',
    'get /workspaces/:workspace/requests/:id',
    'get /workspaces/:workspace/audit',
    'get /workspaces/:workspace/audit/export',
    ...['', '/state', '/head', '/verified-head', '/public-key'].map(
      (part) => `get /workspaces/:workspace/evidence${part}`,
    ),
    'post /workspaces/:workspace/evidence/verify',
    'post /workspaces/:workspace/evidence/export',
    'get /audit',
    'get /audit/export',
  ],
  admins: [
    'get /overview',
    'get /users',
    'post /users',
    'get /users/:user',
    'post /users/:user/role',
    'post /users/:user/invite',
    'get /users/:user/invited',
    'post /users/:user/unlock',
    ...both('/users/:user/reset-two-factor'),
    'get /users/:user/disable',
    'post /users/:user/disable',
    'post /users/:user/enable',
    'get /workspaces',
    'post /workspaces',
    ...['deactivate', 'activate'].flatMap((action) => both(`/workspaces/:workspace/${action}`)),
    'get /workspaces/:workspace/keys',
    'get /workspaces/:workspace/keys/:id/made',
    ...both('/workspaces/:workspace/keys/new'),
    ...['recipient', 'limits', 'rotate', 'deactivate', 'activate', 'delete'].flatMap((action) =>
      both(`/workspaces/:workspace/keys/:id/${action}`),
    ),
    ...['erase', 'hold'].flatMap((action) => both(`/workspaces/:workspace/records/:kind/:id/${action}`)),
    ...both('/workspaces/:workspace/holds/new'),
    ...both('/workspaces/:workspace/holds/:hold/release'),
    ...['new', ':source/edit', ':source/remove'].flatMap((part) =>
      both(`/workspaces/:workspace/sources/${part}`),
    ),
    'get /workspaces/:workspace/webhooks',
    'get /workspaces/:workspace/webhooks/:id',
    'get /workspaces/:workspace/webhooks/:id/made',
    ...both('/workspaces/:workspace/webhooks/new'),
    ...['edit', 'ping', 'replay', 'retry', 'secret', 'disable', 'enable', 'delete'].flatMap((action) =>
      both(`/workspaces/:workspace/webhooks/:id/${action}`),
    ),
  ],
};

/** The question and its answer. */
function both(path: string): string[] {
  return [`get ${path}`, `post ${path}`];
}

/** With an identity provider, so that its pages are among them. */
const routes = dashboardRoutes({ identityProvider: {} } as DashboardPorts);
const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

let dashboard: TestDashboard;
const pages = new Map<Role, Page>();

beforeAll(async () => {
  dashboard = await startDashboard();
  for (const role of roles) pages.set(role, await dashboard.openAs(role, '/account'));
});
afterAll(() => dashboard.stop());

/** The address of a route, of things that there may not be. */
const urlOf = (path: string) => {
  const filled = path
    .replace(':workspace', dashboard.service.workspaceId('clinic'))
    .replace(':kind', 'patients')
    .replace(/:\w+/g, 'none');
  return `${dashboard.service.url}/dashboard${filled}`;
};

async function send(page: Page | undefined, method: string, path: string, accept = 'text/html') {
  if (!page) throw new Error('there is no such page');
  return page.request.fetch(urlOf(path), { method, maxRedirects: 0, headers: { accept } });
}

test.each(Object.entries(expected))('for %s are the pages and actions of the list', (name, listed) => {
  const allowed = roleNames[name as keyof typeof roleNames];
  const actual = routes.filter((route) => route.roles === allowed).map(nameOf);
  expect(actual.toSorted()).toEqual(listed.toSorted());
});

test('every page and action is for one of these', () => {
  const listed = Object.values(roleNames);
  expect(routes.filter(({ roles: allowed }) => !listed.includes(allowed as never)).map(nameOf)).toEqual([]);
});

describe.each(roles)('the role %s', (role) => {
  const limited = routes.filter(({ roles: allowed }) => allowed !== 'public');

  test('is refused what is for others, with 403, and changes nothing', async () => {
    const refused: string[] = [];
    const appended = await appendedBy(dashboard.service, async () => {
      for (const route of limited.filter(({ roles: allowed }) => !allowed.includes(role))) {
        const answer = await send(pages.get(role), route.method, route.path);
        expect([nameOf(route), answer.status()]).toEqual([nameOf(route), 403]);
        expect(await answer.text()).toContain(`The role ${role} cannot view this page.`);
        refused.push(nameOf(route));
      }
    });
    expect(appended).toEqual([]);
    const others = {
      admin: [],
      compliance: expected.admins,
      viewer: [...expected.admins, ...expected.phiReaders],
    };
    expect(refused.toSorted()).toEqual(others[role].toSorted());
  });

  const others = role === 'admin' ? [] : ['/workspaces/:workspace/keys', '/users'];
  for (const path of others)
    test(`leaves in the audit trail that ${path} was refused`, async () => {
      const before = await dashboard.service.eventLog.head();
      await send(pages.get(role), 'get', path);
      const events = await readAll(dashboard.service.eventLog, before);
      expect(events.map(({ data, metadata }) => [metadata.workspace, data])).toEqual([
        [
          path.includes(':workspace') ? dashboard.service.workspaceId('clinic') : INSTALLATION,
          {
            action: 'request.refused',
            outcome: 'refused',
            code: 'permission_denied',
            method: 'GET',
            route: `/dashboard${path}`,
            status: 403,
          },
        ],
      ]);
    });

  test('gets the pages that are for it, or hears that there is no such thing', async () => {
    for (const { method, path, roles: allowed } of limited) {
      if (method !== 'get' || !allowed.includes(role)) continue;
      const answer = await send(pages.get(role), method, path);
      expect([path, [200, 303, 400, 404].includes(answer.status()) || answer.status()]).toEqual([path, true]);
    }
  });

  test('is offered nothing in its menus that it may not see', async () => {
    const page = await dashboard.openAs(role, '/account');
    const links = await page
      .locator('nav a, header a')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
    expect(links.length).toBeGreaterThan(2);
    for (const link of links) {
      const answer = await page.request.get(new URL(link, dashboard.service.url).href);
      expect([link, answer.status()]).toEqual([link, 200]);
    }
  });
});

test('whoever is not signed in is led to the sign-in, and then to the page', async () => {
  const page = await dashboard.open('/sign-in');
  for (const { method, path, roles: allowed, isOnEveryPage } of routes) {
    if (allowed === 'public') continue;
    const answer = await send(page, method, path);
    const next = `?next=${encodeURIComponent(new URL(urlOf(path)).pathname)}`;
    expect([path, answer.status(), answer.headers().location]).toEqual([
      path,
      303,
      `/dashboard/sign-in${method === 'get' || isOnEveryPage ? next : ''}`,
    ]);
  }
});

test('a link on another site opens no page without asking, and leaves nothing in the audit trail', async () => {
  const appended = await appendedBy(dashboard.service, async () => {
    for (const role of roles) {
      for (const { method, path, roles: allowed } of routes) {
        if (method !== 'get' || allowed === 'public') continue;
        for (const site of ['cross-site', 'same-site']) {
          const answer = await pages.get(role)?.request.get(urlOf(path), {
            headers: { 'sec-fetch-site': site },
            maxRedirects: 0,
          });
          expect([path, answer?.status()]).toEqual([path, 403]);
          expect(await answer?.text()).toContain('<h1>Open this page?</h1>');
        }
      }
    }
  });
  expect(appended).toEqual([]);
});
