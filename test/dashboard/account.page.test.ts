import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { expectAccessible, startUserTests, takePictures, type UserTests } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { inShort } from '../support/service.ts';

let tests: UserTests;
beforeAll(async () => {
  tests = await startUserTests();
});
afterAll(() => tests.stop());

describe('the setup link', () => {
  test('makes the first administrator, once; other links end with it', async () => {
    const token = await tests.links.issueSetupLink();
    const other = await tests.links.issueSetupLink();
    const name = 'ada@clinic.example';
    const password = phi('first password');
    const page = await tests.dashboard.open(`/setup?token=${token}`);
    const fill = async (first: string, again: string) => {
      await page.getByLabel('Name').fill(name);
      await page.getByLabel('Password', { exact: true }).fill(first);
      await page.getByLabel('Confirm password').fill(again);
      await page.getByRole('button', { name: 'Create administrator' }).click();
    };
    const appended = await tests.events(async () => {
      await fill(password, `${password}x`);
      expect(await page.getByRole('link', { name: 'The passwords do not match.' }).count()).toBe(1);
      await fill('too short', 'too short');
      expect(
        await page.getByRole('link', { name: 'A password must have at least 12 characters.' }).count(),
      ).toBe(1);
      expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('');
      await expectAccessible(page);
      await takePictures(page, 'setup');
      await fill(password, password);
      expect(await page.getByRole('status').textContent()).toBe('Welcome. You are the first administrator.');
    });
    expect(inShort(appended)).toEqual(['UserCreated', 'sign_in']);
    expect(appended[0]).toMatchObject({
      data: { name, roles: { '*': 'admin' } },
      metadata: { principal: { type: 'service', id: 'setup-link' }, clientIp: expect.any(String) },
    });
    expect(JSON.stringify(appended)).not.toContain(password);
    const again = tests.visitor();
    for (const used of [token, other, 'none', '']) {
      const refused = await tests.events(async () => {
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
    const issued = await tests.events(async () => {
      fresh = await tests.links.issueSetupLink();
    });
    const [{ stream, type, metadata, data, recordedAt }] = issued as [RecordedEvent];
    const lifetime = Date.parse(data.expires_at as string) - Date.parse(recordedAt);
    expect(Math.round(lifetime / 3_600_000)).toBe(24);
    expect((await tests.visitor().get(`/setup?token=${fresh}`)).status).toBe(200);
    const token = 'a-token-of-yesterday';
    const sha256 = createHash('sha256').update(token).digest('hex');
    const expires_at = new Date(Date.now() - 1).toISOString();
    await tests.service.eventLog.append(
      stream,
      { id: uuidv7(), type, data: { sha256, expires_at }, metadata },
      'any',
    );
    expect((await tests.visitor().get(`/setup?token=${token}`)).status).toBe(404);
  });
});

describe('one’s own password', () => {
  test('is changed with the present one; sessions elsewhere end, and this one goes on', async () => {
    const user = await tests.dashboard.createUser('viewer');
    const elsewhere = tests.visitor();
    await elsewhere.signIn(user);
    const here = tests.visitor();
    await here.signIn(user);
    await here.get('/account');
    const password = phi('another password');
    const change = (present: string, first = password, again = password) =>
      here.post('/account/password', { present, password: first, again });
    const appended = await tests.events(async () => {
      const wrong = await change('not the password');
      expect([wrong.status, wrong.text]).toEqual([
        400,
        expect.stringContaining('This is not your current password.'),
      ]);
      expect((await change(user.password, password, 'other')).text).toContain('The passwords do not match.');
      expect(await elsewhere.isSignedIn()).toBe(true);
      expect((await change(user.password)).headers.location).toBe('/dashboard/account');
    });
    expect(inShort(appended)).toEqual(['sign_in.refused wrong_password', 'UserPasswordSet']);
    expect(appended[1]?.metadata.principal).toEqual({ type: 'user', id: user.id });
    expect(await here.isSignedIn()).toBe(true);
    await eventually(async () => expect(await elsewhere.isSignedIn()).toBe(false));
    expect((await tests.visitor().signIn(user)).status).toBe(401);
    expect((await tests.visitor().signIn({ ...user, password })).status).toBe(303);
  });

  test('has a page that is accessible where it says what is wrong', async () => {
    const page = await tests.dashboard.openAs('viewer', '/account');
    await page.getByLabel('Current password').fill('not the password');
    await page.getByLabel('New password').fill('short');
    await page.getByLabel('Confirm password').fill('short');
    await page.getByRole('button', { name: 'Change password' }).click();
    await expectAccessible(page);
    await takePictures(page, 'account-wrong');
  });
});
