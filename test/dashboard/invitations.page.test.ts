import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { expectAccessible, startUserTests, takePictures, type UserTests } from '../support/dashboard.ts';
import { notePhi, phi } from '../support/output.ts';
import { inShort } from '../support/service.ts';

let tests: UserTests;
beforeAll(async () => {
  tests = await startUserTests();
});
afterAll(() => tests.stop());

let lastName = 0;
const newName = () => `invited-${++lastName}@clinic.example`;

/** What follows the service's address. */
const pathOf = (url: string) => url.slice(`${tests.service.url}/dashboard`.length);

async function accept(token: string, password: string, again = password) {
  const somebody = tests.visitor();
  // Also a link that is dead is sent with a form's token.
  await somebody.get('/sign-in');
  return somebody.post('/invitation', { token, password, again });
}

describe('an invitation in the dashboard', () => {
  test('shows a link once, with which the user chooses a password, once', async () => {
    const page = await tests.dashboard.openAs('admin', '/users/new');
    const name = newName();
    const password = phi('correct horse battery');
    let link = '';
    const appended = await tests.events(async () => {
      await page.getByLabel('Name').fill(name);
      await page.getByLabel('Role').selectOption('compliance');
      await page.getByLabel('All workspaces').check();
      await page.getByRole('button', { name: 'Invite user' }).click();
      link = await page.getByLabel('The link').inputValue();
      notePhi(link);
      await expectAccessible(page);
      await takePictures(page, 'invitation-made');
    });
    expect(link).toMatch(/\/dashboard\/invitation\?token=[\w-]{43}$/);
    expect(appended).toMatchObject([
      {
        type: 'UserInvited',
        data: { name, roles: { '*': 'compliance' } },
        metadata: { principal: { type: 'user' }, clientIp: expect.any(String) },
      },
    ]);
    expect(JSON.stringify(appended)).not.toContain(link.slice(-43));

    const theirs = await tests.dashboard.open(pathOf(link));
    const fill = async (first: string, again = first) => {
      await theirs.getByLabel('Password', { exact: true }).fill(first);
      await theirs.getByLabel('Confirm password').fill(again);
      await theirs.getByRole('button', { name: 'Set password and sign in' }).click();
    };
    const accepted = await tests.events(async () => {
      await fill(password, `${password}x`);
      expect(await theirs.getByRole('link', { name: 'The passwords do not match.' }).count()).toBe(1);
      await fill('aaaaaaaaaaaa');
      expect(await theirs.getByRole('link', { name: 'easy to guess' }).count()).toBe(1);
      await fill(password);
      await theirs.getByText(name).first().waitFor();
    });
    expect(inShort(accepted)).toEqual(['UserPasswordSet', 'sign_in']);
    expect(accepted[0]?.metadata.principal).toEqual({ type: 'service', id: 'invitation' });
    expect((await tests.visitor().signIn({ name, password })).status).toBe(303);
    expect((await accept(link.slice(-43), password)).status).toBe(404);
  });

  test('for a user that there is gives another password; the present one goes on until then', async () => {
    const user = await tests.dashboard.createUser('viewer');
    const page = await tests.dashboard.openAs('admin', `/users/${user.id}`);
    await page.getByRole('button', { name: 'Create link' }).click();
    const first = await page.getByLabel('The link').inputValue();
    await page.goto(`/dashboard/users/${user.id}`);
    await page.getByRole('button', { name: 'Create link' }).click();
    const second = await page.getByLabel('The link').inputValue();
    expect((await tests.visitor().signIn(user)).status).toBe(303);
    const password = phi('another password');
    // Only the last link counts.
    expect((await accept(first.slice(-43), password)).status).toBe(404);
    expect((await accept(second.slice(-43), password)).headers.location).toBe('/dashboard/');
    expect((await tests.visitor().signIn(user)).status).toBe(401);
    expect((await tests.visitor().signIn({ ...user, password })).status).toBe(303);
  });
});

test('an invitation of two days ago is too old, as is one of a disabled user, and one that nobody made', async () => {
  const name = newName();
  const issued = await tests.events(() => tests.links.invite({ name, roles: { '*': 'viewer' } }));
  const [{ stream, metadata, data, recordedAt }] = issued as [RecordedEvent];
  const lifetime = Date.parse(data.expires_at as string) - Date.parse(recordedAt);
  expect(Math.round(lifetime / 3_600_000)).toBe(48);
  const token = 'a-token-of-two-days-ago';
  const sha256 = createHash('sha256').update(token).digest('hex');
  const expires_at = new Date(Date.now() - 1).toISOString();
  await tests.service.eventLog.append(
    stream,
    {
      id: uuidv7(),
      type: 'UserInvitationIssued',
      data: { user_id: data.user_id, sha256, expires_at },
      metadata: { ...metadata, schemaVersion: 1 },
    },
    'any',
  );
  const disabled = await tests.links.invite({ name: newName(), roles: { '*': 'viewer' } });
  await tests.manager.setState(disabled.userId, 'disabled');
  const password = phi('correct horse battery');
  const refused = await tests.events(async () => {
    for (const dead of [token, disabled.token, 'none', '']) {
      expect((await tests.visitor().get(`/invitation?token=${dead}`)).status).toBe(404);
      expect((await accept(dead, password)).status).toBe(404);
    }
  });
  expect(refused).toEqual([]);
});

test('an invited user has no password: nobody signs in by the name', async () => {
  const name = newName();
  await tests.links.invite({ name, roles: { '*': 'viewer' } });
  for (const password of ['', 'undefined', 'correct horse battery']) {
    expect((await tests.visitor().signIn({ name, password })).status).toBe(401);
  }
});

test('an invited administrator does not count as one until the password is chosen', async () => {
  const root = await tests.dashboard.createUser('admin');
  const { userId } = await tests.links.invite({ name: newName(), roles: { '*': 'admin' } });
  for (const { id, roles } of tests.users.all()) {
    if (roles['*'] === 'admin' && id !== root.id && id !== userId)
      await tests.manager.setState(id, 'disabled');
  }
  await expect(tests.manager.setState(root.id, 'disabled')).rejects.toMatchObject({ code: 'conflict' });
  await tests.manager.setPassword(userId, phi('correct horse battery'));
  await tests.manager.setState(root.id, 'disabled');
});
