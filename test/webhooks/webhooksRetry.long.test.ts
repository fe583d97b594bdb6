import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy } from '../support/service.ts';
import {
  HookEndpoint,
  HookSuite,
  type Payer,
  patch,
  payersOf,
  showWebhook,
  webhooksPath,
} from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  const hooks = new HookSuite(start);

  test('what waits for hours goes out on request, and its attempts are found by record and outcome', async () => {
    const { endpoint, id } = await hooks.open();
    const path = `${webhooksPath}/${id}`;
    const [first, second] = payersOf(2) as [Payer, Payer];
    endpoint.answer = () => ({ status: 503, headers: { 'retry-after': '3600' } });
    await hooks.write([first, second], 1);
    await eventually(async () => {
      expect((await showWebhook(hooks.client, id)).delivery).toMatchObject({
        pending: 2,
        oldest_pending_at: expect.any(String),
        blocked: 2,
        problem: null,
      });
    });
    endpoint.answer = () => 200;
    const appended = await appendedBy(hooks.service, async () => {
      expect(await hooks.client.post(`${path}/retry`, {})).toMatchObject({
        status: 200,
        body: { success: true, message: 'Retry requested' },
      });
    });
    expect(appended).toEqual(['webhooks: WebhookRetryRequested']);
    await hooks.expectAll({ endpoint, id });
    await eventually(async () => {
      expect((await showWebhook(hooks.client, id)).delivery).toMatchObject({
        pending: 0,
        oldest_pending_at: null,
        blocked: 0,
      });
    });

    const listed = async (query: string) => (await hooks.client.get(`${path}/attempts?${query}`)).body.items;
    await eventually(async () => expect(await listed('outcome=delivered')).toHaveLength(2));
    expect(await listed(`kind=payer&record_id=${first.id}`)).toEqual([
      expect.objectContaining({ outcome: 'delivered', record_id: first.id, kind: 'payer', version: 1 }),
      expect.objectContaining({ outcome: 'retrying', record_id: first.id, position: expect.any(String) }),
    ]);
    expect(await listed(`record_id=${first.id}&outcome=retrying`)).toHaveLength(1);
    expect(await listed('outcome=failed')).toEqual([]);
    expect((await hooks.client.get(`${path}/attempts?outcome=lost`)).status).toBe(400);
  });

  test('an endpoint that asked for a pause does not hold up the one that replaces it', async () => {
    const { endpoint, id } = await hooks.open();
    endpoint.answer = () => ({ status: 429, headers: { 'retry-after': '3600' } });
    await hooks.write(payersOf(1), 1);
    await eventually(async () => expect(await hooks.attempts(id)).toHaveLength(1));
    const other = await HookEndpoint.open();
    await patch(hooks.client, `${webhooksPath}/${id}`, { url: other.url });
    await hooks.write(payersOf(1), 1);
    await hooks.expectAll({ endpoint: other, id });
    expect(endpoint.received).toHaveLength(1);
    await other.down();
  });

  test('a disabled webhook tells what waits, and tries nothing', async () => {
    const { id } = await hooks.open();
    const path = `${webhooksPath}/${id}`;
    await patch(hooks.client, path, { state: 'disabled' });
    await hooks.write(payersOf(3), 1);
    await eventually(async () => {
      expect((await showWebhook(hooks.client, id)).delivery).toMatchObject({ pending: 3 });
    });
    const appended = await appendedBy(hooks.service, async () => {
      expect((await hooks.client.post(`${path}/retry`, {})).status).toBe(409);
    });
    expect(appended).toEqual([]);
  });
});
