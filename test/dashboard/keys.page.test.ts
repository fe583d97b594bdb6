import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import {
  expectAccessible,
  startDashboard,
  type TestDashboard,
  takePictures,
  textOf,
} from '../support/dashboard.ts';
import { clientKeys } from '../support/emr.ts';
import { eventually } from '../support/eventually.ts';
import { notePhi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { newEvents, sharedService } from '../support/service.ts';
import { createWebhook, hookUrl } from '../support/webhooks.ts';

describe('the pages of API keys', () => {
  let dashboard: TestDashboard;
  let workspace: string;
  let page: Page;
  beforeAll(async () => {
    dashboard = await startDashboard(await sharedService());
    workspace = dashboard.service.workspaceId('clinic');
    page = await dashboard.openAs('admin', `/workspaces/${workspace}/keys`);
  });
  afterAll(() => dashboard.stop());

  const post = (key: string) => dashboard.service.as(key).post('/integration/payers', samples.payer());
  const row = (name: string) => page.getByRole('row', { name });
  /** Opens the form of a change, from the list by the page of the key. */
  const change = async (name: string, what: string) => {
    await toList();
    await row(name).getByRole('link').first().click();
    await page.getByLabel(`${what} ${name}`).click();
  };
  const toList = () => page.goto(`/dashboard/workspaces/${workspace}/keys`);

  /** Makes a key by the form, and gives the key that the page shows. */
  async function createKey(name: string, ...permissions: string[]): Promise<string> {
    await page.goto(`/dashboard/workspaces/${workspace}/keys`);
    await page.getByRole('button', { name: 'Create API key' }).click();
    await page.getByLabel('Name').fill(name);
    for (const permission of permissions)
      await page.getByRole('checkbox', { name: permission }).first().check();
    await page.getByRole('button', { name: 'Create API key' }).click();
    const key = await page.getByLabel('The key').inputValue();
    notePhi(key);
    return key;
  }

  test('a key is made, shown once, used, deactivated, activated and deleted; each change names the user', async () => {
    const events = await newEvents(dashboard.service, async () => {
      const key = await createKey('EMR sync', 'read');
      expect(key).toMatch(/^clk_\w{38}$/);
      await expectAccessible(page);
      await takePictures(page, 'key-made');
      expect((await post(key)).status).toBe(200);

      await toList();
      expect(await page.content()).not.toContain(key);
      expect(await row('EMR sync').textContent()).toMatch(/write, read\s*active/);
      await eventually(async () => {
        await toList();
        expect(await row('EMR sync').textContent()).toContain('just now');
      });

      await change('EMR sync', 'Deactivate');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
        'Deactivate the API key EMR sync?',
      );
      await page.getByRole('button', { name: 'Deactivate API key' }).click();
      expect(await page.getByRole('status').textContent()).toBe('API key EMR sync is deactivated.');
      await eventually(async () => expect((await post(key)).status).toBe(403));

      await change('EMR sync', 'Activate');
      await page.getByRole('button', { name: 'Activate API key' }).click();
      await eventually(async () => expect((await post(key)).status).toBe(200));

      await change('EMR sync', 'Delete');
      await page.getByLabel('Type the name of the key').fill('Another');
      await page.getByRole('button', { name: 'Delete API key' }).click();
      expect(await page.getByRole('alert').textContent()).toContain('This is not the name of the key.');
      await page.getByLabel('Type the name of the key').fill('EMR sync');
      await page.getByRole('button', { name: 'Delete API key' }).click();
      await eventually(async () => expect((await post(key)).status).toBe(401));
      await page.getByText('Deleted keys (1)').click();
      expect(await page.getByRole('region', { name: 'Deleted API keys' }).textContent()).toContain(
        'EMR sync',
      );
      await expectAccessible(page);
      await takePictures(page, 'keys');
    });
    const changes = events.filter(({ stream }) => stream === 'access');
    expect(changes.map(({ type }) => type)).toEqual([
      'ApiKeyCreated',
      'ApiKeyDeactivated',
      'ApiKeyActivated',
      'ApiKeyDeleted',
    ]);
    for (const { metadata } of changes) {
      expect(metadata).toMatchObject({
        principal: { type: 'user', id: expect.stringMatching(/^usr_/) },
        clientIp: '127.0.0.1',
        requestId: expect.any(String),
        userAgent: expect.stringContaining('Chrome'),
      });
    }
  });

  test('a key is rotated: the new one is shown once, the one before it ends at the chosen time', async () => {
    const before = await createKey('Nightly', 'read');
    await toList();
    const events = await newEvents(dashboard.service, async () => {
      await change('Nightly', 'Rotate');
      await page.getByLabel('The current key expires').selectOption('in 7 days');
      await page.getByRole('button', { name: 'Rotate API key' }).click();
    });
    const after = await page.getByLabel('The key').inputValue();
    notePhi(after);
    expect(after).not.toBe(before);
    expect([(await post(before)).status, (await post(after)).status]).toEqual([200, 200]);
    expect(events.map(({ type }) => type)).toEqual(['ApiKeyRotated']);
    const [{ data, recordedAt } = {} as RecordedEvent] = events;
    const lasts = Date.parse(String(data.expires_at)) - Date.parse(recordedAt);
    expect(Math.round(lasts / 86_400_000)).toBe(7);

    await toList();
    const old = row('Nightly').filter({ hasText: 'replaced' });
    expect(await old.textContent()).toContain('expires in 7 days');
    await old.getByRole('link').click();
    expect(await textOf(page.locator('main dl'))).toContain('Replaced by key_');
    expect(await page.getByLabel('Rotate Nightly').count()).toBe(0);
    await page.getByLabel('Deactivate Nightly').click();
    await page.goto(page.url().replace('deactivate', 'rotate'));
    await page.getByRole('button', { name: 'Rotate API key' }).click();
    expect(await page.getByRole('alert').textContent()).toMatch(/is already being replaced by key key_\w+\./);
  });

  test('a key that has ended says since when', async () => {
    await createKey('Former', 'read');
    await change('Former', 'Rotate');
    await page.getByLabel('The current key expires').selectOption('now');
    await page.getByRole('button', { name: 'Rotate API key' }).click();
    await page.getByLabel('The key').waitFor();
    await toList();
    const old = row('Former').filter({ hasText: 'replaced' });
    expect(await textOf(old)).toMatch(/ expired (just now|\d+ seconds? ago|1 minute ago) replaced /);
  });

  test('a key is narrowed when it is made and later; one that ends soon is marked', async () => {
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 16);
    const events = await newEvents(dashboard.service, async () => {
      await page.goto(`/dashboard/workspaces/${workspace}/keys/new`);
      await page.getByLabel('Name').fill('Scheduling');
      await page.getByLabel('write Send records').uncheck();
      await page.getByText('For one kind only').click();
      await page.getByLabel('write:encounter').check();
      await page.getByLabel('Expires').fill(inDays(60));
      await page.getByLabel('Networks').fill('127.0.0.0/8, somewhere');
      await page.getByLabel('Requests a minute').fill('6000');
      await page.getByRole('button', { name: 'Create API key' }).click();
      expect(await page.getByRole('alert').textContent()).toContain('Networks item 2 must be a network');
      expect(await page.getByLabel('Networks').getAttribute('aria-invalid')).toBe('true');
      expect(await page.getByLabel('write:encounter').isChecked()).toBe(true);
      await expectAccessible(page);
      await takePictures(page, 'key-new-limits');
      await page.getByLabel('Networks').fill('127.0.0.0/8, 2001:db8::/32');
      await page.getByRole('button', { name: 'Create API key' }).click();
      expect(await page.getByRole('main').textContent()).toContain(
        'It is accepted only from 127.0.0.0/8, 2001:db8::/32. Its own limit: 6000 requests per minute.',
      );
      const key = await page.getByLabel('The key').inputValue();
      notePhi(key);
      expect((await post(key)).body.code).toBe('permission_denied');

      await toList();
      expect(await row('Scheduling').textContent()).toMatch(/write:encounter.*expires in (59|60) days/s);
      expect(await row('Scheduling').textContent()).not.toContain('expires soon');
      await row('Scheduling').getByRole('link').click();
      const facts = page.locator('main dl');
      expect(await textOf(facts)).toMatch(
        /Limits 127\.0\.0\.0\/8, 2001:db8::\/32, 6000 requests a minute Change .*Created .* by admin-.*@clinic\.example \(user\)/,
      );
      await expectAccessible(page);
      await takePictures(page, 'key');
      await change('Scheduling', 'Limits');
      await page.getByLabel('Networks').fill('10.0.0.0/8, elsewhere');
      await page.getByLabel('Requests a minute').fill('600');
      await page.getByRole('button', { name: 'Save limits' }).click();
      expect(await page.getByRole('alert').textContent()).toContain('Networks item 2 must be a network');
      expect(await page.getByLabel('Networks').inputValue()).toBe('10.0.0.0/8, elsewhere');
      expect(await page.getByLabel('Requests a minute').inputValue()).toBe('600');
      await page.getByLabel('Requests a minute').fill('6000');
      await page.getByLabel('Networks').fill('');
      await page.getByRole('button', { name: 'Save limits' }).click();
      expect(await page.getByRole('status').textContent()).toBe(
        'The limits of API key Scheduling were changed.',
      );
      await change('Scheduling', 'Limits');
      await page.getByLabel('Expires').fill(inDays(10));
      await page.getByRole('button', { name: 'Save limits' }).click();
      expect(await textOf(page.locator('main dl'))).toMatch(/expires soon in (9|10) days/);
    });
    const changes = events.filter(({ stream }) => stream === 'access');
    expect(changes.map(({ type }) => type)).toEqual(['ApiKeyCreated', 'ApiKeyLimitsSet', 'ApiKeyLimitsSet']);
    const [made, opened, ending] = changes.map(({ data }) => data);
    expect(made).toMatchObject({ permissions: ['write:encounter'], rate_limit: 6000 });
    expect(opened).toEqual({ key_id: made?.key_id, networks: null });
    expect(Object.keys(ending ?? {}).sort()).toEqual(['expires_at', 'key_id']);
  });

  test('public keys are registered and removed; a private key is refused, and what was typed stays', async () => {
    const { privateJwk, publicJwk } = await clientKeys('ES384', 'emr-2026');
    const events = await newEvents(dashboard.service, async () => {
      await createKey('SMART');
      await toList();
      await change('SMART', 'Public keys');
      for (const [typed, problem] of [
        ['{"keys": ', 'must be a JWK set or a JWK'],
        [JSON.stringify(privateJwk), 'must not have a private key'],
      ] as const) {
        await page.getByLabel('Public keys').fill(typed);
        await page.getByRole('button', { name: 'Save public keys' }).click();
        expect(await page.getByRole('alert').textContent()).toContain(problem);
        expect(await page.getByLabel('Public keys').inputValue()).toBe(typed);
      }
      await page.getByLabel('Public keys').fill(JSON.stringify(publicJwk));
      await page.getByRole('button', { name: 'Save public keys' }).click();
      expect(await page.getByRole('status').textContent()).toBe(
        'The public keys of API key SMART were changed.',
      );
      await change('SMART', 'Public keys');
      expect(await page.getByLabel('Public keys').inputValue()).toContain('"kid": "emr-2026"');
      await page.getByLabel('Public keys').fill('');
      await page.getByRole('button', { name: 'Save public keys' }).click();
      await change('SMART', 'Public keys');
      expect(await page.getByLabel('Public keys').inputValue()).toBe('');
    });
    const changes = events.filter(({ stream }) => stream === 'access');
    expect(changes.map(({ type }) => type)).toEqual([
      ...['ApiKeyCreated', 'ApiKeyPublicKeysSet', 'ApiKeyPublicKeysSet'],
    ]);
    expect(changes.map(({ data }) => data.public_keys)).toMatchObject([
      ...[undefined, [{ kid: 'emr-2026', crv: 'P-384' }], []],
    ]);
  });

  test('markup in a name shows as text, and a name that cannot be is refused', async () => {
    const name = '<img src=x onerror="document.title=1"> & "co"';
    await createKey(name);
    expect(await page.getByText(name).count()).toBe(1);
    await toList();
    expect(await row(name).locator('img').count()).toBe(0);
    await change(name, 'Delete');
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(`Delete the API key ${name}?`);
    await page.getByLabel('Type the name of the key').fill(name);
    await page.getByRole('button', { name: 'Delete API key' }).click();
    expect(await page.getByRole('status').textContent()).toContain(`API key ${name} was deleted.`);

    const events = await newEvents(dashboard.service, async () => {
      await page.goto(`/dashboard/workspaces/${workspace}/keys/new`);
      await page.getByLabel('Name').fill('x'.repeat(101));
      await page.getByRole('button', { name: 'Create API key' }).click();
      expect(await page.getByRole('alert').textContent()).toContain(
        'The name of a key must have 1 to 100 characters.',
      );
    });
    expect(events).toEqual([]);
  });

  test('a key with webhooks is deleted with them, or without; the question names them', async () => {
    const { service } = dashboard;
    for (const [choice, expected] of [
      ['were disabled', ['ApiKeyDeleted', 'WebhookDisabled']],
      ['keep sending', ['ApiKeyDeleted']],
    ] as const) {
      const { id, name, key } = await service.createKey('clinic', ['webhooks']);
      const url = hookUrl();
      const made = await createWebhook(service.as(key), { url });
      const events = await newEvents(service, async () => {
        await page.goto(`/dashboard/workspaces/${workspace}/keys/${id}/delete`);
        expect(await page.getByRole('main').textContent()).toContain(`${made.id} to ${url} (reference)`);
        if (choice === 'keep sending') {
          await page.getByLabel('Keep them enabled').check();
          await page.getByLabel('Type the name of the key').fill('Another');
          await page.getByRole('button', { name: 'Delete API key' }).click();
          expect(await page.getByRole('alert').textContent()).toContain('This is not the name of the key.');
          await expectAccessible(page);
          await takePictures(page, 'key-delete');
        }
        await page.getByLabel('Type the name of the key').fill(name);
        await page.getByRole('button', { name: 'Delete API key' }).click();
        expect(await page.getByRole('status').textContent()).toBe(
          `API key ${name} was deleted. Its webhooks ${choice}: ${url}.`,
        );
      });
      const changes = events.filter(({ stream }) => stream === 'access' || stream === 'webhooks');
      expect(changes.map(({ type }) => type)).toEqual(expected);
      for (const { metadata } of changes) expect(metadata.principal.type).toBe('user');
      await page.goto(`/dashboard/workspaces/${workspace}/webhooks/${made.id}`);
      const shown = await page.getByRole('main').textContent();
      expect(shown).toContain(
        choice === 'were disabled' ? 'the API key that created it was deleted' : 'enabled',
      );
      expect(shown).toContain(`by ${name} (API key)`);
    }
  });

  test('a key of another workspace is not found', async () => {
    const { id } = await dashboard.service.createKey('south');
    for (const path of [`${workspace}/keys/${id}/delete`, `${workspace}/keys/key_none/rotate`]) {
      await page.goto(`/dashboard/workspaces/${path}`);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Not found');
    }
  });
});
