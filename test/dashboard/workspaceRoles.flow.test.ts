import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ALL_WORKSPACES,
  areSameRoles,
  type Role,
  roleIn,
  rolesOfGrants,
  UserDirectory,
  withRole,
} from '../../src/modules/auth/users.ts';
import { BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';
import { makeUser } from '../support/users.ts';
import { hookUrl } from '../support/webhooks.ts';

describe('the role of a user in a workspace', () => {
  test('is the one set there, otherwise the one in all workspaces', () => {
    const user = { roles: { [ALL_WORKSPACES]: 'viewer', clinic: 'billing' } } as const;
    expect([roleIn(user), roleIn(user, 'clinic'), roleIn(user, 'lab')]).toEqual([
      'viewer',
      'billing',
      'viewer',
    ]);
    expect(roleIn({ roles: { clinic: 'admin' } }, 'lab')).toBeUndefined();
    expect(roleIn({ roles: { clinic: 'admin' } })).toBeUndefined();
    expect(roleIn({ roles: { clinic: 'admin' } }, 'constructor')).toBeUndefined();
  });

  test('is set and taken away in workspaces, and in all at once', () => {
    const roles = withRole({ clinic: 'admin' }, 'billing', ['lab', 'north']);
    expect(roles).toEqual({ clinic: 'admin', lab: 'billing', north: 'billing' });
    expect(withRole(roles, undefined, ['lab', 'clinic'])).toEqual({ north: 'billing' });
    expect(withRole(roles, 'viewer', [ALL_WORKSPACES, 'lab'])).toEqual({ [ALL_WORKSPACES]: 'viewer' });
    expect(withRole(roles, undefined, [ALL_WORKSPACES])).toEqual({});
    expect(areSameRoles({ a1: 'admin', b1: 'viewer' }, { b1: 'viewer', a1: 'admin' })).toBe(true);
    expect(areSameRoles({ a1: 'admin' }, { a1: 'viewer' })).toBe(false);
  });

  test('is the strongest of those that an identity provider grants', () => {
    const grants = ['viewer', 'compliance@clinic', 'admin@clinic', 'billing', 'root', 'admin@', 7, undefined];
    expect(rolesOfGrants(grants)).toEqual({ [ALL_WORKSPACES]: 'billing', clinic: 'admin' });
    expect(rolesOfGrants(['staff', '@clinic', 'Admin'])).toEqual({});
  });
});

onEmbeddedEngines((start) => {
  let service: TestService;
  let root: string;
  let readKey: string;
  const visitors = new Map<Role, BrowserlessSession>();
  beforeAll(async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '0' });
    root = `/workspaces/${service.workspaceId('clinic')}`;
    readKey = (await service.createKey('clinic', ['read'])).id;
    await service.createKey('other');
    for (const role of ['integrator', 'billing', 'compliance'] as const) {
      const { visitor } = await signedIn(service, role, service.workspaceId('clinic'));
      visitors.set(role, visitor);
      await visitor.get('/account');
    }
  });
  afterAll(() => service.stop());
  const as = (role: Role) => visitors.get(role) as BrowserlessSession;

  test('another workspace is opened at the same section where the role may, and the next session begins in the one viewed last', async () => {
    const [clinic, other] = ['clinic', 'other'].map((label) => service.workspaceId(label)) as [
      string,
      string,
    ];
    const users = await UserDirectory.open(service.eventLog);
    const user = { name: phi('two@clinic.example'), password: phi('correct horse battery') };
    await makeUser(users, { ...user, roles: { [clinic]: 'admin', [other]: 'viewer' } });
    users.close();
    const visitor = new BrowserlessSession(service.url);
    await eventually(async () => expect((await visitor.signIn(user)).status).toBe(303));
    expect((await visitor.get(`/workspaces/${clinic}/events`)).text).toContain(
      `href="/dashboard/workspaces/${other}/events"`,
    );
    const { text } = await visitor.get(`/workspaces/${clinic}/messages`);
    expect(text).toContain(`href="/dashboard/workspaces/${clinic}/messages"`);
    expect(text).not.toContain(`/${other}/messages`);
    for (const last of [other, clinic, other]) {
      await visitor.get(`/workspaces/${last}`);
      const next = new BrowserlessSession(service.url);
      await next.signIn(user);
      expect((await next.get('/')).headers.location).toBe(`/dashboard/workspaces/${last}`);
    }
  });

  test('an integrator creates keys that read no patient data, and no others', async () => {
    const form = await as('integrator').get(`${root}/keys/new`);
    expect(form.text).toMatch(/value="write"/);
    expect(form.text).not.toMatch(/value="(read|events|read:patient)"/);
    const appended = await appendedBy(service, async () => {
      for (const permissions of ['read', 'events', 'read:patient']) {
        const sent = await as('integrator').post(`${root}/keys/new`, { name: 'EMR', permissions });
        expect([sent.status, sent.text.includes('Only an administrator can create a key')]).toEqual([
          400,
          true,
        ]);
      }
      await as('integrator').get(`${root}/keys/${readKey}/rotate`);
      const rotated = await as('integrator').post(`${root}/keys/${readKey}/rotate`, { expires_in: '0' });
      expect(rotated.status).toBe(400);
    });
    expect(appended).toEqual([]);
    await as('integrator').get(`${root}/keys/new`);
    const made = await appendedBy(service, () =>
      as('integrator').post(`${root}/keys/new`, { name: 'EMR', permissions: 'write' }),
    );
    expect(made).toEqual(['access: ApiKeyCreated']);
  });

  test('an integrator creates webhooks that send no patient data, and no others', async () => {
    const fields = { url: hookUrl(), unchanged: 'send', start: 'now' };
    const form = await as('integrator').get(`${root}/webhooks/new`);
    expect(form.text).toMatch(/<option value="reference"/);
    expect(form.text).not.toMatch(/<option value="(full|deidentified)"/);
    const refused = await appendedBy(service, async () => {
      const sent = await as('integrator').post(`${root}/webhooks/new`, { ...fields, payload: 'full' });
      expect([sent.status, sent.text.includes('Only an administrator can work with webhooks')]).toEqual([
        403,
        true,
      ]);
    });
    expect(refused).toEqual([]);
    await as('integrator').get(`${root}/webhooks/new`);
    const made = await appendedBy(service, () =>
      as('integrator').post(`${root}/webhooks/new`, { ...fields, payload: 'reference' }),
    );
    expect(made).toEqual(['webhooks: WebhookCreated']);
  });

  test('an integrator sees a message without its content and the ids of its records', async () => {
    const key = (await service.createKey('clinic', ['write'])).key;
    const patient = samples.patient();
    const sent = await service.as(key).post('/fhir', {
      ...{ resourceType: 'Bundle', type: 'transaction' },
      entry: [
        {
          resource: { resourceType: 'Patient', id: patient.id },
          request: { method: 'PUT', url: `Patient/${patient.id}` },
        },
      ],
    });
    expect(sent.status).toBeLessThan(500);
    const list = await as('integrator').get(`${root}/messages`);
    const path = /href="\/dashboard(\/workspaces\/[^"]+\/messages\/[^"?]+)"/.exec(list.text)?.[1] as string;
    for (const query of ['', '?content=shown', '?fields=shown']) {
      const { status, text } = await as('integrator').get(path + query);
      expect([status, text.includes(patient.id), text.includes('As received')]).toEqual([200, false, false]);
      const whole = await as('compliance').get(path + query);
      expect([whole.text.includes(patient.id), whole.text.includes('As received')]).toEqual([true, true]);
    }
    expect((await as('integrator').get(`${path}/download`)).status).toBe(403);
  });

  test('operations are tried only in workspaces in which a user has a role', async () => {
    const path = '/reference/operations/listPatients';
    const other = service.workspaceId('other');
    expect((await as('billing').get(path)).text).not.toContain(other);
    const appended = await appendedBy(service, async () => {
      const sent = await as('billing').post(path, { workspace: other });
      expect([sent.status, sent.text.includes('There is no such workspace.')]).toEqual([404, true]);
    });
    expect(appended).toEqual([]);
    const allowed = await as('billing').post(path, { workspace: service.workspaceId('clinic') });
    expect(allowed.status).toBe(200);
  });
});

test('an authenticator app can be required by role', async () => {
  const service = await startTestService({ DASHBOARD_REQUIRE_TOTP: 'admin,billing' });
  try {
    await service.createKey('clinic');
    const clinic = service.workspaceId('clinic');
    for (const [role, isRequired] of [
      ['billing', true],
      ['viewer', false],
    ] as const) {
      const { visitor } = await signedIn(service, role, clinic);
      const { status, headers } = await visitor.get(`/workspaces/${clinic}`);
      expect([role, status, headers.location]).toEqual([
        role,
        ...(isRequired ? [303, '/dashboard/account/two-factor'] : [200, undefined]),
      ]);
    }
  } finally {
    await service.stop();
  }
});
