import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy } from '../support/service.ts';
import {
  Delivery,
  delivered,
  type Hook,
  HookSuite,
  LONG_MS,
  type Payer,
  patch,
  payersOf,
  showWebhook,
  subjectOf,
  webhooksPath,
} from '../support/webhooks.ts';

const DAY_MS = 86_400_000;

onEveryEngine((start) => {
  const hooks = new HookSuite(start);

  test('events go out signed, without values, each once', async () => {
    const { endpoint, id, secret } = await hooks.open();
    const payers = payersOf(3);
    const appended = await appendedBy(hooks.service, () => hooks.write(payers, 2));
    expect(appended).toHaveLength(6);
    await hooks.expectAll({ endpoint, id });
    expect(endpoint.received).toHaveLength(6);
    const verifier = new Webhook(secret);
    for (const { body, headers } of endpoint.received) {
      expect(verifier.verify(body, headers as Record<string, string>)).toBeDefined();
      for (const { name } of payers) expect(body).not.toContain(name);
    }
    const attempts = await eventually(async () => {
      const items = await hooks.attempts(id);
      expect(items).toHaveLength(6);
      return items;
    });
    expect(attempts[0]).toMatchObject({
      type: 'chartledger.payer.upserted.v1',
      attempt: 1,
      outcome: 'delivered',
      status: 200,
      answer: 'answered 200',
    });
    const times = attempts.map(({ at }: { at: string }) => at);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test('only what is wanted goes out, and from where it is wanted', async () => {
    await hooks.write(payersOf(2), 1);
    const { endpoint } = await hooks.open({ kinds: ['provider'] });
    const now = await hooks.open({ start: 'now' });
    const provider = samples.provider();
    await hooks.client.post('/integration/providers', provider);
    await hooks.write(payersOf(1), 1);
    await eventually(() => expect(now.endpoint.accepted).toHaveLength(2));
    await delivered(hooks.client, now.id);
    await eventually(() => expect(endpoint.accepted).toHaveLength(1));
    expect(endpoint.accepted[0]?.subject).toBe(`provider/${encodeURIComponent(provider.id)}`);
  });

  test('a record that is not taken waits, in order; others do not wait for it', async () => {
    const { endpoint, id } = await hooks.open();
    const [bad, ...good] = payersOf(4) as [Payer, ...Payer[]];
    let refusing = true;
    endpoint.answer = ({ subject }) => (refusing && subject === subjectOf(bad) ? 500 : 200);
    await hooks.write([bad, ...good], 4);
    await eventually(() => expect(endpoint.accepted).toHaveLength(12));
    await eventually(async () => {
      expect((await showWebhook(hooks.client, id)).delivery).toMatchObject({
        pending: 4,
        oldest_pending_at: expect.any(String),
        blocked: 1,
        failed: 0,
      });
    });
    const refused = endpoint.received.filter(({ subject }) => subject === subjectOf(bad));
    expect(new Set(refused.map(({ version }) => version))).toEqual(new Set([1]));
    refusing = false;
    await hooks.expectAll({ endpoint, id });
  });

  test('a receiver that is slow, away, and fails one time in three gets everything in order', async () => {
    const { endpoint, id } = await hooks.open();
    let count = 0;
    endpoint.answer = () => {
      count += 1;
      if (count % 50 === 0) return 'tear';
      return count % 3 === 0 ? 500 : 200;
    };
    const writing = hooks.write(payersOf(60), 6);
    for (const accepted of [40, 120, 200]) {
      await eventually(() => expect(endpoint.accepted.length).toBeGreaterThan(accepted), LONG_MS);
      await endpoint.down();
      await eventually(async () =>
        expect((await showWebhook(hooks.client, id)).delivery.failing_since).not.toBeNull(),
      );
      await endpoint.up();
    }
    await writing;
    await hooks.expectAll({ endpoint, id });
  });

  test('an endpoint that never answers leaves the delivery to another as it is', async () => {
    const hanging = await hooks.open();
    hanging.endpoint.answer = () => 'hang';
    const other = await hooks.open();
    await hooks.write(payersOf(50), 4);
    await hooks.expectAll(other);
    expect(other.endpoint.received).toHaveLength(200);
    expect(hanging.endpoint.received.length).toBeLessThanOrEqual(32);
    expect((await showWebhook(hooks.client, hanging.id)).delivery.last_success_at).toBeNull();
  });

  test('410 disables the endpoint; enabled again, it goes on where it stopped', async () => {
    const { endpoint, id } = await hooks.open();
    endpoint.answer = () => 410;
    const appended = await appendedBy(hooks.service, async () => {
      await hooks.write(payersOf(1), 2);
      await eventually(async () => {
        expect(await showWebhook(hooks.client, id)).toMatchObject({
          state: 'disabled',
          disabled_reason: 'gone',
        });
      });
      endpoint.answer = () => 200;
      await hooks.write(payersOf(1), 2);
      expect(endpoint.accepted).toEqual([]);
      expect((await patch(hooks.client, `${webhooksPath}/${id}`, { state: 'enabled' })).status).toBe(200);
    });
    expect(appended.filter((line) => line.startsWith('webhooks'))).toEqual([
      'webhooks: WebhookDisabled',
      'webhooks: WebhookEnabled',
    ]);
    await hooks.expectAll({ endpoint, id });
  });

  test('Retry-After is obeyed; one of 429 holds for the whole endpoint', async () => {
    const { endpoint, id } = await hooks.open();
    endpoint.answer = () => ({ status: 429, headers: { 'retry-after': '3600' } });
    await hooks.write(payersOf(1), 1);
    await eventually(() => expect(endpoint.received).toHaveLength(1));
    const attempts = await eventually(async () => {
      const items = await hooks.attempts(id);
      expect(items).toHaveLength(1);
      return items;
    });
    const [{ at, next_attempt_at }] = attempts;
    expect(Date.parse(next_attempt_at) - Date.parse(at)).toBeGreaterThanOrEqual(3_600_000);
    endpoint.answer = () => 200;
    await hooks.write(payersOf(1), 1);
    const probe = await hooks.open();
    await hooks.expectAll(probe);
    expect(endpoint.received).toHaveLength(1);
    hooks.clock.pass(3_700_000);
    await hooks.expectAll({ endpoint, id });
  });

  test('five days without success disable the endpoint; enabled again, it goes on', async () => {
    const { endpoint, id } = await hooks.open();
    endpoint.answer = () => 500;
    const appended = await appendedBy(hooks.service, async () => {
      await hooks.write(payersOf(1), 2);
      await eventually(() => expect(endpoint.received.length).toBeGreaterThan(1));
      expect(await showWebhook(hooks.client, id)).toMatchObject({ state: 'enabled' });
      hooks.clock.pass(5 * DAY_MS);
      await eventually(async () => {
        expect(await showWebhook(hooks.client, id)).toMatchObject({
          state: 'disabled',
          disabled_reason: 'failing',
        });
      });
    });
    expect(appended.filter((line) => line.startsWith('webhooks'))).toEqual(['webhooks: WebhookDisabled']);
    endpoint.answer = () => 200;
    await patch(hooks.client, `${webhooksPath}/${id}`, { state: 'enabled' });
    await hooks.expectAll({ endpoint, id });
  });

  const sharing = 'two instances share the webhooks; when one ends, the other has them all';
  test(
    sharing,
    async () => {
      const second = await Delivery.start(hooks.service, { clock: hooks.clock });
      const all: Hook[] = [];
      for (let n = 0; n < 6; n += 1) all.push(await hooks.open());
      await hooks.write(payersOf(5), 2);
      for (const hook of all) await hooks.expectAll(hook);
      for (const { endpoint } of all) expect(endpoint.received).toHaveLength(10);
      await hooks.delivery.stop();
      await hooks.write(payersOf(5), 2);
      for (const hook of all) await hooks.expectAll(hook);
      await second.stop();
      hooks.delivery = await Delivery.start(hooks.service, { clock: hooks.clock });
    },
    LONG_MS,
  );
});
