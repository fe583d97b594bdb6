import { expect, test } from 'vitest';
import { attemptsTable } from '../../src/modules/webhooks/attempts.ts';
import { deliveryTable } from '../../src/modules/webhooks/store.ts';
import { eventually } from '../support/eventually.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy } from '../support/service.ts';
import {
  type HookMessage,
  HookSuite,
  type Payer,
  payersOf,
  showWebhook,
  subjectOf,
  webhooksPath,
  withStateStore,
} from '../support/webhooks.ts';

onEveryEngine((start) => {
  const hooks = new HookSuite(start);

  test('a message that nobody takes is given up, and its record goes on; what failed can be sent again', async () => {
    const { endpoint, id } = await hooks.open();
    const [payer] = payersOf(1) as [Payer, ...Payer[]];
    endpoint.answer = ({ version }) => (version === 2 ? 500 : 200);
    await hooks.write([payer], 3);
    await eventually(async () => {
      expect((await showWebhook(hooks.client, id)).delivery).toMatchObject({
        pending: 0,
        blocked: 0,
        failed: 1,
      });
    });
    expect(endpoint.versions().get(subjectOf(payer))).toEqual([1, 3]);
    const tries = endpoint.received.filter(({ version }) => version === 2);
    expect(tries).toHaveLength(61);
    expect(new Set(tries.map((message) => message.id)).size).toBe(1);
    expect((await hooks.attempts(id))[0]).toMatchObject({ outcome: 'delivered' });
    endpoint.answer = () => 200;
    expect(await appendedBy(hooks.service, () => hooks.replay(id, { failed: true }))).toEqual([
      'webhooks: WebhookReplayRequested',
    ]);
    await eventually(() => expect(endpoint.versions().get(subjectOf(payer))).toEqual([1, 3, 2]));
    await eventually(async () => expect((await showWebhook(hooks.client, id)).delivery.failed).toBe(0));
  });

  test('what was delivered goes out once more on request: from a position, or one message', async () => {
    const { endpoint, id } = await hooks.open();
    await hooks.write(payersOf(5), 2);
    await hooks.expectAll({ endpoint, id });
    const sequenceOf = ({ body }: HookMessage): string => JSON.parse(body).sequence;
    const [first] = endpoint.accepted.toSorted((a, b) => (sequenceOf(a) < sequenceOf(b) ? -1 : 1)) as [
      HookMessage,
    ];
    await eventually(async () => expect(await hooks.attempts(id)).toHaveLength(10));
    await hooks.replay(id, { message_id: first.id });
    await eventually(() => expect(endpoint.accepted).toHaveLength(11));
    expect(endpoint.accepted[10]).toMatchObject({ id: first.id, body: first.body });
    await hooks.replay(id, { after: sequenceOf(first) });
    await eventually(() => expect(endpoint.accepted).toHaveLength(20));
    expect(new Set(endpoint.accepted.slice(11).map((message) => message.id)).size).toBe(9);
    await hooks.expectAll({ endpoint, id });
  });

  test('a ping arrives, and is among the attempts', async () => {
    const { endpoint, id } = await hooks.open();
    const pinged = await hooks.client.post(`${webhooksPath}/${id}/ping`, {});
    await eventually(() => expect(endpoint.accepted).toHaveLength(1));
    expect(endpoint.accepted[0]).toMatchObject({
      id: pinged.body.message_id,
      type: 'chartledger.webhook.ping.v1',
    });
    await eventually(async () => {
      expect(await hooks.attempts(id)).toEqual([
        expect.objectContaining({ attempt: 0, outcome: 'delivered' }),
      ]);
    });
  });

  test('a lost state store repeats messages, and skips none', async () => {
    const { endpoint, id } = await hooks.open();
    const [bad, ...good] = payersOf(4) as [Payer, ...Payer[]];
    endpoint.answer = ({ subject }) => (subject === subjectOf(bad) ? 500 : 200);
    await hooks.write([bad, ...good], 2);
    await eventually(async () => {
      expect((await showWebhook(hooks.client, id)).delivery).toMatchObject({ blocked: 1 });
    });
    await withStateStore(hooks.service, async (stateStore) => {
      await stateStore.prune(deliveryTable, Number.MAX_SAFE_INTEGER);
      await stateStore.prune(attemptsTable, Number.MAX_SAFE_INTEGER);
    });
    endpoint.answer = () => 200;
    await hooks.write(good, 1);
    await hooks.expectAll({ endpoint, id });
  });
});
