import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardPorts, dashboardRoutes } from '../../src/dashboard/app.ts';
import {
  admins,
  type DashboardRoute,
  everyone,
  holdKeepers,
  integrators,
  messageEditors,
  messageWorkers,
  phiReaders,
  recordReaders,
  requestReaders,
  trailReaders,
} from '../../src/dashboard/components/page.ts';
import { INSTALLATION } from '../../src/domain/events/streams.ts';
import { type Role, roles } from '../../src/modules/auth/users.ts';
import { Client, type TestResponse } from '../support/client.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { appendedBy, readAll, startTestService, type TestService } from '../support/service.ts';

const roleNames = {
  ...({ public: 'public', 'signed-in': 'signed-in' } as const),
  ...{ everyone, recordReaders, requestReaders, phiReaders, holdKeepers, integrators, admins },
  ...{ messageWorkers, messageEditors, trailReaders },
};

/** Which of these each role has. */
const groupsOf: Record<Role, (keyof typeof roleNames)[]> = {
  admin: [
    ...(['everyone', 'recordReaders', 'requestReaders', 'phiReaders', 'trailReaders'] as const),
    ...(['holdKeepers', 'integrators', 'admins', 'messageWorkers', 'messageEditors'] as const),
  ],
  compliance: ['everyone', 'recordReaders', 'requestReaders', 'phiReaders', 'trailReaders', 'holdKeepers'],
  billing: ['everyone', 'recordReaders'],
  integrator: ['everyone', 'requestReaders', 'integrators', 'messageWorkers'],
  auditor: ['everyone', 'trailReaders'],
  viewer: ['everyone'],
};

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
    ...['', '/:doc', '/:folder/:doc'].map((part) => `get /docs${part}`),
  ],
  'signed-in': [
    'get /',
    'post /sign-out',
    'get /account',
    'post /account/password',
    'post /account/time-zone',
    'get /session',
    ...both('/account/two-factor'),
    'post /account/two-factor/off',
    'post /reference/operations/:operation',
    'get /reference',
    ...['operations/:operation', 'messages', 'errors', 'schemas/:schema'].map(
      (part) => `get /reference/${part}`,
    ),
  ],
  everyone: [
    'get /workspaces/:workspace',
    'get /workspaces/:workspace/figures',
    'get /system',
    'post /workspaces/:workspace/first-steps/dismiss',
    ...both('/workspaces/:workspace/notifications'),
    ...both('/workspaces/:workspace/reason'),
    'get /workspaces/:workspace/events',
    'get /workspaces/:workspace/events/news',
    'post /workspaces/:workspace/records/:kind/:id/break-glass',
  ],
  recordReaders: [
    ...both('/workspaces/:workspace/records'),
    'get /workspaces/:workspace/records/:kind/:id',
    'get /workspaces/:workspace/records/:kind/:id/compare',
    'get /workspaces/:workspace/records/:kind/:id/fields/:field',
    ...['', '/export', '/print'].map(
      (part) => `get /workspaces/:workspace/records/:kind/:id/timeline${part}`,
    ),
    'get /workspaces/:workspace/records/patients/:id/documents',
    'get /workspaces/:workspace/records/patients/:id/encounters',
    ...both('/workspaces/:workspace/records/:kind/:id/print'),
    'get /workspaces/:workspace/records/encounters/:id/documents',
    'get /workspaces/:workspace/records/encounters/:id/documents/:documentId',
    ...both('/workspaces/:workspace/records/encounters/:id/documents/:documentId/download'),
    'get /workspaces/:workspace/records/encounters/:id/documents/:documentId/preview',
    ...both('/workspaces/:workspace/records/encounters/:id/billed/acknowledge'),
    ...both('/workspaces/:workspace/records/encounters/:id/readiness/answer'),
    'get /workspaces/:workspace/readiness',
    'get /workspaces/:workspace/readiness/export',
    ...['simulation', 'scorecard'].flatMap((part) => [
      ...both(`/workspaces/:workspace/readiness/${part}`),
      `get /workspaces/:workspace/readiness/${part}/state`,
    ]),
    'get /workspaces/:workspace/readiness/scorecard/export',
    ...both('/workspaces/:workspace/search'),
  ],
  requestReaders: [
    'get /workspaces/:workspace/messages',
    'get /workspaces/:workspace/messages/:message',
    'get /workspaces/:workspace/sources',
    'get /workspaces/:workspace/requests',
    'get /workspaces/:workspace/requests/:id',
  ],
  messageWorkers: [
    'post /workspaces/:workspace/messages/resend',
    'post /workspaces/:workspace/messages/:message/resend',
    ...both('/workspaces/:workspace/messages/:message/put-aside'),
  ],
  messageEditors: both('/workspaces/:workspace/messages/:message/correct'),
  phiReaders: [
    'get /workspaces/:workspace/records/:kind/:id/certificate',
    'get /workspaces/:workspace/records/:kind/:id/certificate/download',
    'get /workspaces/:workspace/records/:kind/:id/proof',
    ...both('/workspaces/:workspace/records/:kind/:id/copy'),
    'get /workspaces/:workspace/records/patients/:id/disclosures',
    'get /workspaces/:workspace/records/patients/:id/disclosures/print',
    'get /workspaces/:workspace/records/patients/:id/disclosures/export',
    ...both('/workspaces/:workspace/records/patients/:id/disclosures/add'),
    ...both('/workspaces/:workspace/records/patients/:id/disclosures/:event/purpose'),
    ...['', '/export', '/diff', '/diff/export', '/undo', '/counts', '/diff/counts', '/undo/counts'].map(
      (part) => `get /workspaces/:workspace/changes${part}`,
    ),
    ...both('/workspaces/:workspace/holds'),
    'get /workspaces/:workspace/returned',
    'get /workspaces/:workspace/messages/:message/download',
    'post /workspaces/:workspace/evidence/export',
  ],
  trailReaders: [
    'get /workspaces/:workspace/audit',
    'get /workspaces/:workspace/audit/export',
    ...['', '/export'].map((part) => `get /workspaces/:workspace/audit/report${part}`),
    'post /workspaces/:workspace/audit/report/judge',
    ...['', '/state', '/head', '/verified-head', '/public-key'].map(
      (part) => `get /workspaces/:workspace/evidence${part}`,
    ),
    'post /workspaces/:workspace/evidence/verify',
    'get /audit',
    'get /audit/export',
  ],
  holdKeepers: [
    ...both('/workspaces/:workspace/records/:kind/:id/hold'),
    ...both('/workspaces/:workspace/holds/new'),
    ...both('/workspaces/:workspace/holds/:hold/release'),
    ...both('/workspaces/:workspace/returned/:kind/:id/allow'),
    ...both('/workspaces/:workspace/returned/:kind/:id/refuse'),
  ],
  integrators: [
    'get /workspaces/:workspace/keys',
    'get /workspaces/:workspace/keys/:id',
    'get /workspaces/:workspace/keys/:id/made',
    ...both('/workspaces/:workspace/keys/new'),
    ...['recipient', 'limits', 'public-keys', 'rotate', 'deactivate', 'activate', 'delete'].flatMap(
      (action) => both(`/workspaces/:workspace/keys/:id/${action}`),
    ),
    ...['new', ':source/edit', ':source/remove'].flatMap((part) =>
      both(`/workspaces/:workspace/sources/${part}`),
    ),
    ...both('/workspaces/:workspace/consumers/:consumer/remove'),
    'get /workspaces/:workspace/webhooks',
    'get /workspaces/:workspace/webhooks/:id',
    'get /workspaces/:workspace/webhooks/:id/made',
    ...both('/workspaces/:workspace/webhooks/new'),
    ...['edit', 'ping', 'replay', 'retry', 'secret', 'disable', 'enable', 'delete'].flatMap((action) =>
      both(`/workspaces/:workspace/webhooks/:id/${action}`),
    ),
  ],
  admins: [
    'post /workspaces/:workspace/audit/report/vip',
    'post /workspaces/:workspace/changes/undo',
    'post /workspaces/:workspace/readiness/simulation/apply',
    'post /workspaces/:workspace/returned',
    'get /overview',
    'get /users',
    ...both('/users/new'),
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
    ...['settings', 'deactivate', 'activate'].flatMap((action) => both(`/workspaces/:workspace/${action}`)),
    ...both('/workspaces/:workspace/records/:kind/:id/erase'),
  ],
};

/** The question and its answer. */
function both(path: string): string[] {
  return [`get ${path}`, `post ${path}`];
}

/** With an identity provider, so that its pages are among them. */
const routes = dashboardRoutes({ identityProvider: {} } as DashboardPorts);
const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

let service: TestService;
const visitors = new Map<Role, BrowserlessSession>();
/** Users who have their role in the workspace `clinic` only. */
const limitedVisitors = new Map<Role, BrowserlessSession>();

beforeAll(async () => {
  // Ten sign-ins a minute are allowed from one address.
  service = await startTestService({ TRUST_PROXY: '1' });
  await service.createKey('clinic');
  await service.createKey('other');
  for (const role of roles) {
    visitors.set(role, (await signedIn(service, role)).visitor);
    limitedVisitors.set(role, (await signedIn(service, role, service.workspaceId('clinic'))).visitor);
  }
});
afterAll(() => service.stop());

/** The path of a route, of things that there may not be. */
const pathOf = (path: string, workspace = 'clinic') => {
  const filled = path
    .replace(':workspace', service.workspaceId(workspace))
    .replace(':kind', 'patients')
    .replace(/:\w+/g, 'none');
  return `/dashboard${filled}`;
};

/** Sends a request with the cookies of a visitor, and without the token that forms have. */
function send(
  visitor: BrowserlessSession | undefined,
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  const cookie = [...(visitor?.cookies ?? [])].map((pair) => pair.join('=')).join('; ');
  return new Client(service.url, undefined).send(path, {
    method: method.toUpperCase(),
    headers: { accept: 'text/html', ...(cookie !== '' && { cookie }), ...headers },
  });
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
  const limited = routes.filter(({ roles: allowed }) => typeof allowed !== 'string');
  const isAllowed = ({ roles: allowed }: DashboardRoute) =>
    typeof allowed === 'string' || allowed.includes(role);

  test('is refused what is for others, with 403, and changes nothing', async () => {
    const refused: string[] = [];
    const appended = await appendedBy(service, async () => {
      for (const route of limited.filter((one) => !isAllowed(one))) {
        const answer = await send(visitors.get(role), route.method, pathOf(route.path));
        expect([nameOf(route), answer.status]).toEqual([nameOf(route), 403]);
        expect(answer.text).toContain(`The role ${role} cannot view this page.`);
        refused.push(nameOf(route));
      }
    });
    expect(appended).toEqual([]);
    const others = Object.entries(expected).filter(
      ([name]) => !['public', 'signed-in', ...groupsOf[role]].includes(name),
    );
    expect(refused.toSorted()).toEqual(others.flatMap(([, listed]) => listed).toSorted());
  });

  const others = role === 'admin' ? [] : ['/workspaces/:workspace/records/:kind/:id/erase', '/users'];
  for (const path of others)
    test(`leaves in the audit trail that ${path} was refused`, async () => {
      const before = await service.eventLog.head();
      await send(visitors.get(role), 'get', pathOf(path));
      const events = await readAll(service.eventLog, before);
      expect(events.map(({ data, metadata }) => [metadata.workspace, data])).toEqual([
        [
          path.includes(':workspace') ? service.workspaceId('clinic') : INSTALLATION,
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
    for (const route of routes) {
      const { method, path } = route;
      if (method !== 'get' || route.roles === 'public' || !isAllowed(route)) continue;
      const answer = await send(visitors.get(role), method, pathOf(path));
      expect([path, [200, 303, 400, 404].includes(answer.status) || answer.status]).toEqual([path, true]);
    }
  });

  test('in one workspace, hears of every page and action of another that there is no such workspace', async () => {
    const ofWorkspace = limited.filter(({ path }) => path.includes(':workspace'));
    const before = await service.eventLog.head();
    for (const route of ofWorkspace) {
      const answer = await send(limitedVisitors.get(role), route.method, pathOf(route.path, 'other'));
      expect([nameOf(route), answer.status]).toEqual([nameOf(route), 404]);
      expect(answer.text).toContain('There is no such workspace.');
    }
    const events = await readAll(service.eventLog, before);
    expect(events.map(({ data, metadata }) => [metadata.workspace, data.route, data.status])).toEqual(
      ofWorkspace.map(({ path }) => [service.workspaceId('other'), `/dashboard${path}`, 404]),
    );
  });

  test('in one workspace, gets the pages of that workspace, none of the installation, and sees nothing of another', async () => {
    const visitor = limitedVisitors.get(role);
    for (const route of routes) {
      if (route.method !== 'get' || route.roles === 'public') continue;
      const answer = await send(visitor, 'get', pathOf(route.path));
      const isOfWorkspace = route.path.includes(':workspace') && !route.isInstallationWide;
      const is = [200, 303, 400, 404].includes(answer.status);
      if (limited.includes(route))
        expect([route.path, is || answer.status]).toEqual([
          route.path,
          (isOfWorkspace && isAllowed(route)) || 403,
        ]);
      expect([route.path, answer.text.includes(service.workspaceId('other'))]).toEqual([route.path, false]);
    }
    const home = await send(visitor, 'get', pathOf('/'));
    expect(home.headers.location).toBe(`/dashboard/workspaces/${service.workspaceId('clinic')}`);
  });

  test.each(['all workspaces', 'one workspace'])(
    'in %s, is offered nothing that it may not see',
    async (where) => {
      const visitor = (where === 'one workspace' ? limitedVisitors : visitors).get(role);
      const { text } = await send(visitor, 'get', pathOf('/workspaces/:workspace'));
      const links = [...text.matchAll(/<a [^>]*?href="([^"]*)"/g)].map(([, href = '']) =>
        href.replaceAll('&amp;', '&'),
      );
      const ofDashboard = links.filter((link) => link.startsWith('/dashboard'));
      expect(ofDashboard.length).toBeGreaterThan(2);
      for (const link of ofDashboard) {
        const answer = await send(visitor, 'get', link);
        const { location } = answer.headers;
        const shown = answer.status === 303 ? await send(visitor, 'get', String(location)) : answer;
        expect([link, shown.status]).toEqual([link, 200]);
      }
    },
  );
});

test('whoever is not signed in is led to the sign-in, and then to the page', async () => {
  for (const { method, path, roles: allowed, isOnEveryPage } of routes) {
    if (allowed === 'public') continue;
    const answer = await send(undefined, method, pathOf(path));
    const next = `?next=${encodeURIComponent(pathOf(path))}`;
    expect([path, answer.status, answer.headers.location]).toEqual([
      path,
      303,
      `/dashboard/sign-in${method === 'get' || isOnEveryPage ? next : ''}`,
    ]);
  }
});

test('a link on another site opens no page without asking, and leaves nothing in the audit trail', async () => {
  const appended = await appendedBy(service, async () => {
    // Who may see every page, and who may see the fewest.
    for (const role of ['admin', 'viewer'] as const) {
      for (const { method, path, roles: allowed } of routes) {
        if (method !== 'get' || allowed === 'public') continue;
        for (const site of ['cross-site', 'same-site']) {
          const answer = await send(visitors.get(role), method, pathOf(path), { 'sec-fetch-site': site });
          expect([path, answer.status]).toEqual([path, 403]);
          expect(answer.text).toContain('<h1>Open this page?</h1>');
        }
      }
    }
  });
  expect(appended).toEqual([]);
});
