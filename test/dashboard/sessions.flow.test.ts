import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UserManager } from '../../src/modules/auth/userManager.ts';
import { type Role, UserDirectory } from '../../src/modules/auth/users.ts';
import { openStateStore } from '../../src/server/openStorage.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { BrowserlessSession, StoredSession, type TestUser } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { makeUser } from '../support/users.ts';

let service: TestService;
let stateStore: StateStore;
let users: UserDirectory;

beforeAll(async () => {
  service = await startTestService();
  stateStore = await openStateStore(service.config.stateUrl);
  users = await UserDirectory.open(service.eventLog);
});
afterAll(async () => {
  users.close();
  await stateStore.close();
  await service.stop();
});

const manager = () => new UserManager(users, { principal: { type: 'operator', id: 'test' } });

async function createUser(role: Role = 'viewer'): Promise<TestUser> {
  const user = { name: phi(`${role}@clinic.example`), password: phi('correct horse battery') };
  return { id: await makeUser(users, { ...user, role }), ...user };
}

async function signedInAs(user: TestUser): Promise<BrowserlessSession> {
  const visitor = new BrowserlessSession(service.url);
  expect((await visitor.signIn(user)).status).toBe(303);
  return visitor;
}

/** Asks until the session has ended. */
const untilSignedOut = (visitor: BrowserlessSession) =>
  eventually(async () => expect(await visitor.isSignedIn()).toBe(false));

/** A form of a visitor's, whose answer can be looked at as it arrives. */
function form(visitor: BrowserlessSession, path: string, fields: Record<string, string>) {
  const body = new URLSearchParams({ csrf_token: visitor.csrf, ...fields }).toString();
  const headers = {
    cookie: [...visitor.cookies].map((pair) => pair.join('=')).join('; '),
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': Buffer.byteLength(body),
    expect: '100-continue',
  };
  return { sent: request(`${service.url}/dashboard${path}`, { method: 'POST', headers }), body };
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
    const visitor = await signedInAs(await createUser());
    const session = StoredSession.ofVisitor(visitor, stateStore);
    await session.setBack(14 * 60_000);
    expect(await visitor.isSignedIn()).toBe(true);
    await session.setBack(15 * 60_000 + 1);
    const { status, headers } = await visitor.get('/reference');
    expect([status, headers.location]).toEqual([303, '/dashboard/sign-in?next=%2Fdashboard%2Freference']);
  });

  test('ends 12 hours after the sign-in, however much it is used', async () => {
    const visitor = await signedInAs(await createUser());
    const session = StoredSession.ofVisitor(visitor, stateStore);
    await session.signedInBefore(12 * 3_600_000 - 60_000);
    expect(await visitor.isSignedIn()).toBe(true);
    await session.signedInBefore(12 * 3_600_000 + 1);
    expect(await visitor.isSignedIn()).toBe(false);
  });

  test('ends with the sign-out: a form of it that is still under way is not carried out, and revives nothing', async () => {
    const user = await createUser('compliance');
    const visitor = await signedInAs(user);
    const search = `/workspaces/${service.workspaceId('clinic')}/search`;
    await visitor.get(search);
    const forms = [
      await halfSent(visitor, search, { q: phi('Quetzal') }),
      await halfSent(visitor, '/account/time-zone', { time_zone: 'America/Chicago' }),
    ];
    const thief = new BrowserlessSession(service.url);
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
    const user = await createUser();
    const other = await service.another({});
    const visitor = new BrowserlessSession(service.url);
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
    const user = await createUser();
    const visitor = await signedInAs(user);
    await manager().setState(user.id, 'disabled');
    await untilSignedOut(visitor);
  });

  test('stays ended when the user is enabled again, whether or not it was used meanwhile', async () => {
    const user = await createUser();
    const [used, unused] = [await signedInAs(user), await signedInAs(user)];
    await manager().setState(user.id, 'disabled');
    await untilSignedOut(used);
    await manager().setState(user.id, 'active');
    for (const visitor of [used, unused]) expect(await visitor.isSignedIn()).toBe(false);
    expect((await used.signIn(user)).status).toBe(303);
    expect(await used.isSignedIn()).toBe(true);
  });

  test('ends when the password changes', async () => {
    const user = await createUser();
    const visitor = await signedInAs(user);
    await manager().setPassword(user.id, phi('another battery, correct'));
    await untilSignedOut(visitor);
  });

  test('has another id after the sign-in than before', async () => {
    const visitor = new BrowserlessSession(service.url);
    await visitor.get('/sign-in');
    const before = [...visitor.cookies.values()];
    expect((await visitor.signIn(await createUser())).status).toBe(303);
    await visitor.get('/account');
    const after = [...visitor.cookies.values()];
    expect(before.filter((id) => after.includes(id))).toEqual([]);
  });

  test('goes on after a restart of the service', async () => {
    const visitor = await signedInAs(await createUser());
    await service.restart();
    const again = new BrowserlessSession(service.url);
    again.takeOver([...visitor.cookies].map(([name, value]) => ({ name, value })));
    expect(await again.isSignedIn()).toBe(true);
  });
});
