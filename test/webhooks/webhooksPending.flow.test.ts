import { expect, test } from 'vitest';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy } from '../support/service.ts';
import { createWebhook, hookUrl, memberOf, WebhookSuite } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  const suite = new WebhookSuite(start, 'write');

  test('what a webhook never sends, because it changed nothing, does not count as waiting', async () => {
    const settings = { url: hookUrl(), kinds: ['payer'] };
    const [skipping, sending] = [
      await createWebhook(suite.client, { ...settings, unchanged: 'skip' }),
      await createWebhook(suite.client, settings),
    ];
    const deliveryOf = async (hook: { id: string }) => (await suite.client.get(memberOf(hook))).body.delivery;
    const payer = samples.payer();
    const [first, ...others] = await changesBy(suite.service, async () => {
      for (const name of ['Aetna', 'Aetna', 'Aetna', 'Cigna', 'Cigna'])
        await suite.client.post('/integration/payers', { ...payer, name });
    });
    expect(others).toHaveLength(4);
    const oldest_pending_at = first?.recordedAt;
    expect(await deliveryOf(sending)).toMatchObject({ pending: 5, oldest_pending_at });
    expect(await deliveryOf(skipping)).toMatchObject({ pending: 2, oldest_pending_at });

    const late = await createWebhook(suite.client, { ...settings, unchanged: 'skip' });
    await suite.client.post('/integration/payers', { ...payer, name: 'Cigna' });
    expect(await deliveryOf(late)).toMatchObject({ pending: 0, oldest_pending_at: null });
    for (const hook of [skipping, sending, late]) await suite.client.delete(memberOf(hook));
  });
});
