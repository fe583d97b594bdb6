import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { expectAccessible, startDashboard, type TestDashboard, takePictures } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { notePhi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { accessesBy, newEvents, startTestService, type TestService } from '../support/service.ts';
import { HookEndpoint, hookUrl, openLoopback } from '../support/webhooks.ts';

describe('the pages of webhooks', () => {
  let service: TestService;
  let dashboard: TestDashboard;
  let page: Page;
  let list: string;
  let endpoint: HookEndpoint;
  beforeAll(async () => {
    service = await startTestService(openLoopback);
    dashboard = await startDashboard(service);
    endpoint = await HookEndpoint.open();
    list = `/dashboard/workspaces/${service.workspaceId('clinic')}/webhooks`;
    page = await dashboard.openAs('admin', '/account');
    await page.goto(list);
  });
  afterAll(async () => {
    await dashboard.stop();
    await service.stop();
    await endpoint.down();
  });

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const heading = () => page.getByRole('heading', { level: 1 }).textContent();
  const notice = () => page.getByRole('status').textContent();

  /** Makes a webhook by the form, and gives the secret that the page shows. */
  async function create(url: string): Promise<string> {
    await page.goto(list);
    await button('Create webhook').click();
    await page.getByLabel('URL').fill(url);
    await button('Create webhook').click();
    const secret = await page.getByLabel('Signing secret').inputValue();
    notePhi(secret);
    return secret;
  }

  /** Opens the menu of a webhook's page, and follows one of its links. */
  async function choose(name: string): Promise<void> {
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('link', { name, exact: true }).click();
  }

  async function confirm(name: string): Promise<void> {
    await choose(name);
    await button(name).click();
  }

  /** The changes of webhooks that `work` makes; each is an administrator's. */
  async function changesBy(work: () => Promise<unknown>): Promise<RecordedEvent[]> {
    const events = await newEvents(service, work);
    const changes = events.filter(({ stream }) => stream === 'webhooks');
    for (const { metadata } of changes) {
      expect(metadata).toMatchObject({ principal: { type: 'user' }, clientIp: '127.0.0.1' });
    }
    return changes;
  }

  const typesOf = (events: RecordedEvent[]) => events.map(({ type }) => type);

  test('a reader that no longer reads is removed after a question, which the audit trail says', async () => {
    const { key } = await service.createKey('clinic', ['write', 'events']);
    await service.as(key).get('/events?consumer=lake&resume=true');
    await page.goto(list);
    await page.getByRole('link', { name: 'Remove lake' }).click();
    expect(await heading()).toBe('Remove the consumer lake?');
    expect(await page.locator('main').textContent()).toContain('it begins again at the first event');
    const accesses = await accessesBy(service, () => button('Remove consumer').click());
    expect(accesses).toEqual([
      expect.objectContaining({ action: 'consumer.removed', query: { consumer: 'lake' } }),
    ]);
    expect(await notice()).toBe('Consumer lake was removed.');
    expect(await page.getByRole('link', { name: 'Remove lake' }).count()).toBe(0);
  });

  test('a webhook is made, its secret shown once; it is pinged, sends, and sends again', async () => {
    const changes = await changesBy(async () => {
      const secret = await create(endpoint.url);
      expect(secret).toMatch(/^whsec_/);
      await expectAccessible(page);
      await takePictures(page, 'webhook-secret');
      await button('Go to webhook').click();
      expect(await page.content()).not.toContain(secret);

      await button('Send a ping').click();
      await button('Send a ping').click();
      expect(await notice()).toContain('The ping will be sent');
      const payer = samples.payer();
      await service.post('/integration/payers', payer);
      await eventually(() => expect(endpoint.accepted).toHaveLength(2));
      await eventually(async () => {
        await page.reload();
        const rows = await page.getByRole('region', { name: 'Attempts' }).getByRole('row').allTextContents();
        expect(rows).toHaveLength(3);
        expect(rows.filter((row) => /delivered.*200.*answered 200/s.test(row))).toHaveLength(2);
        expect(rows.filter((row) => /Webhook ping|Payer created or updated/.test(row))).toHaveLength(2);
      });
      await expectAccessible(page);
      await takePictures(page, 'webhook');
      const shown = async (outcome: string, recordId: string) => {
        const [value] = await page.getByLabel('Outcome').selectOption(outcome);
        await page.getByLabel('Record ID').fill(recordId);
        await button('Show').click();
        await page.waitForURL(({ searchParams: sent }) => {
          return sent.get('outcome') === value && sent.get('record_id') === recordId;
        });
        return (await page.getByRole('rowheader').allTextContents()).length;
      };
      expect(await shown('Any outcome', payer.id)).toBe(1);
      expect(await shown('Delivered', payer.id)).toBe(1);
      expect(await shown('Failed', payer.id)).toBe(0);
      expect(await page.getByText('No attempts on this page match.').count()).toBe(1);
      expect(await shown('Any outcome', 'x'.repeat(500))).toBe(0);
      expect(await page.getByLabel('Record ID').getAttribute('aria-invalid')).toBe('true');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByRole('button', { name: /^Send again msg_/ }).click();
      await eventually(() => expect(endpoint.accepted).toHaveLength(3));
    });
    expect(typesOf(changes)).toEqual(['WebhookCreated', 'WebhookPinged', 'WebhookReplayRequested']);
  });

  test('a webhook is changed, and its secret rotated', async () => {
    const before = await create(hookUrl());
    await button('Go to webhook').click();
    const changes = await changesBy(async () => {
      await button('Edit').click();
      await page.getByLabel('Description').fill('Billing <b>production</b>');
      await page.getByLabel('Patient', { exact: true }).check();
      await button('Save webhook').click();
      expect(await page.getByText('Billing <b>production</b>').count()).toBe(1);

      await choose('Rotate secret');
      await page.getByLabel('The current secret expires').selectOption('in 1 hour');
      await button('Rotate secret').click();
      const after = await page.getByLabel('Signing secret').inputValue();
      notePhi(after);
      expect(after).not.toBe(before);
      await button('Go to webhook').click();
      expect(await page.getByText('Previous secret expires').count()).toBe(1);
    });
    expect(typesOf(changes)).toEqual(['WebhookUpdated', 'WebhookSecretRotated']);
    expect(changes[0]?.data).toMatchObject({ description: 'Billing <b>production</b>', kinds: ['patient'] });
  });

  test('a webhook is disabled, enabled, replayed and deleted', async () => {
    const url = hookUrl();
    await create(url);
    await button('Go to webhook').click();
    const changes = await changesBy(async () => {
      await confirm('Disable webhook');
      await page.goto(list);
      expect(await page.getByRole('row', { name: url }).textContent()).toContain('disabled manually');
      await page.getByRole('link', { name: url }).click();
      await button('Enable webhook').click();
      await button('Enable webhook').click();

      await choose('Replay messages');
      await page.getByLabel('What to replay').selectOption('all events since a given time');
      await page.getByLabel('Time (UTC)').fill('2999-01-01T00:00');
      await button('Replay messages').click();
      expect(await page.getByRole('alert').textContent()).toContain('From must not be in the future');
      await expectAccessible(page);
      await page.getByLabel('Time (UTC)').fill('2020-01-01T00:00');
      await takePictures(page, 'webhook-replay');
      await button('Replay messages').click();
      expect(await notice()).toContain('The messages will be sent again.');

      await confirm('Delete webhook');
      expect(await page.getByRole('row', { name: url }).count()).toBe(0);
    });
    expect(typesOf(changes)).toEqual([
      'WebhookDisabled',
      'WebhookEnabled',
      'WebhookReplayRequested',
      'WebhookDeleted',
    ]);
  });

  test('what the form refuses stands beside its field, with what was sent, and appends nothing', async () => {
    const events = await newEvents(service, async () => {
      await page.goto(`${list}/new`);
      await page.getByLabel('URL').fill('http://127.0.0.1:1/#here');
      await page.getByLabel('Payer', { exact: true }).check();
      await page.getByText('Only some types of events').click();
      await page.getByLabel('chartledger.patient.upserted.v1').check();
      await button('Create webhook').click();
      expect(await heading()).toBe('Create webhook');
      expect(await page.locator('#url-error').textContent()).toBe('Must not contain a fragment (#).');
      expect(await page.getByLabel('Payer', { exact: true }).isChecked()).toBe(true);
      await page.getByLabel('URL').fill(hookUrl());
      await button('Create webhook').click();
      expect(await page.getByText('must include a type of one of the kinds').count()).toBe(2);
      await page.getByLabel('Payer', { exact: true }).uncheck();
      expect(await page.getByLabel('Time (UTC)').isVisible()).toBe(false);
      await page.getByLabel('Start').selectOption('with the first event since a given time');
      await page.getByLabel('Time (UTC)').fill('2999-01-01T00:00');
      await button('Create webhook').click();
      expect(await page.locator('#start-error').textContent()).toBe('Must not be in the future.');
      await expectAccessible(page);
    });
    // Webhooks of other tests may be sending.
    expect(events.filter(({ metadata }) => metadata.principal.type === 'user')).toEqual([]);
  });

  test('one button is what the state asks for; the others are in a menu that the keyboard opens and closes', async () => {
    await create(hookUrl());
    await button('Go to webhook').click();
    const buttons = () => page.locator('.page-head a[role="button"]').allTextContents();
    expect(await buttons()).toEqual(['Send a ping', 'Edit']);
    await service.post('/integration/payers', samples.payer());
    await eventually(async () => {
      await page.reload();
      expect(await buttons()).toEqual(['Retry now', 'Edit']);
    });
    const menu = page.getByText('More', { exact: true });
    const links = page.locator('.page-head .dropdown a');
    await menu.focus();
    await page.keyboard.press('Enter');
    const others = ['Send a ping', 'Replay messages', 'Rotate secret', 'Disable webhook', 'Delete webhook'];
    expect(await links.filter({ visible: true }).allTextContents()).toEqual(others);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    expect(await links.filter({ visible: true }).count()).toBe(0);
    expect(await page.locator('summary:focus').textContent()).toBe('More');
    await confirm('Disable webhook');
    expect(await buttons()).toEqual(['Enable webhook', 'Edit']);
    await button('Edit').click();
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').last().click();
    expect(await heading()).toMatch(/^Webhook to /);
  });

  test('a webhook of another workspace, or none, is not found', async () => {
    await create(hookUrl());
    await button('Go to webhook').click();
    const { key } = await service.createKey('south');
    expect(key).toBeDefined();
    const [, id] = /webhooks\/(wh_\w+)$/.exec(page.url()) as RegExpExecArray;
    for (const path of [
      `/dashboard/workspaces/${service.workspaceId('south')}/webhooks/${id}`,
      `${list}/wh_0000000000000000`,
    ]) {
      await page.goto(path);
      expect(await heading()).toBe('Not found');
    }
  });
});
