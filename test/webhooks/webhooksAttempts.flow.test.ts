import { v7 as uuidv7 } from 'uuid';
import { expect, test } from 'vitest';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import { AttemptRows, type DeliveryAttempt, recordAttempts } from '../../src/modules/webhooks/attempts.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy } from '../support/service.ts';
import { createWebhook, memberOf, WebhookSuite, withStateStore } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  const suite = new WebhookSuite(start);

  test('attempts are listed newest first, and a message among them can be sent once more', async () => {
    const reader = await suite.clientWith('webhooks', 'events');
    const made = await createWebhook(suite.client);
    const other = await createWebhook(suite.client);
    const path = `${memberOf(made)}/attempts`;
    expect((await suite.client.get(path)).body).toEqual({ items: [], next_page_token: null });
    const tried = (attempt: number, more: Partial<DeliveryAttempt>): DeliveryAttempt => ({
      message_id: 'msg_9TqXk2mVb4cR7sLw0ZdFyHn',
      type: 'chartledger.payer.upserted.v1',
      attempt,
      at: new Date(Date.now() + attempt).toISOString(),
      duration_ms: 12,
      outcome: 'retrying',
      ...more,
    });
    const shown = [
      tried(1, { status: 500, answer: 'Oh no', next_attempt_at: new Date().toISOString() }),
      tried(2, { error: 'timeout', next_attempt_at: new Date().toISOString() }),
      tried(3, { status: 204, answer: '', outcome: 'delivered' }),
    ];
    const rows = new AttemptRows(made.id);
    const event = { stream: `${suite.service.workspaceId('clinic')}.payer-${uuidv7()}`, revision: 0 };
    await withStateStore(suite.service, (stateStore) =>
      recordAttempts(
        stateStore,
        shown.map((one) => rows.of({ shown: one, event })),
      ),
    );
    const events = await changesBy(suite.service, async () => {
      const first = await reader.get(`${path}?limit=2`);
      expect(first.body.items).toEqual([shown[2], shown[1]]);
      const second = await reader.get(`${path}?limit=2&page_token=${first.body.next_page_token}`);
      expect(second.body).toEqual({ items: [shown[0]], next_page_token: null });
      expect((await suite.client.get(`${memberOf(other)}/attempts`)).body.items).toEqual([]);

      const again = { message_id: 'msg_9TqXk2mVb4cR7sLw0ZdFyHn' };
      expect((await suite.client.post(`${memberOf(made)}/replay`, again)).status).toBe(200);
      expect((await suite.client.post(`${memberOf(other)}/replay`, again)).status).toBe(404);
    });
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['WebhookReplayRequested', { webhook_id: made.id, message_id: 'msg_9TqXk2mVb4cR7sLw0ZdFyHn' }],
    ]);
  });

  test('what an endpoint answered is shown to keys that may read events, and to no others', async () => {
    const made = await createWebhook(suite.client);
    const shown: DeliveryAttempt = {
      message_id: 'msg_9TqXk2mVb4cR7sLw0ZdFyHn',
      type: 'chartledger.payer.upserted.v1',
      attempt: 1,
      at: new Date().toISOString(),
      duration_ms: 12,
      outcome: 'failed',
      status: 400,
      answer: 'Jane Roe is not known here',
    };
    await withStateStore(suite.service, (stateStore) =>
      recordAttempts(stateStore, [new AttemptRows(made.id).of({ shown, event: undefined })]),
    );
    const { answer: _answer, ...others } = shown;
    const seenBy = async (...permissions: Permission[]) => {
      const as = await suite.clientWith('webhooks', ...permissions);
      return (await as.get(`${memberOf(made)}/attempts`)).body.items;
    };
    expect(await seenBy('events')).toEqual([shown]);
    expect(await seenBy('events:deidentified', 'read', 'write')).toEqual([others]);
    expect(await seenBy()).toEqual([others]);
  });
});
