import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { attemptsModel } from '../../src/webhooks/attempts.ts';
import { deliveryModel } from '../../src/webhooks/DeliveryState.ts';
import {
  Delivery,
  delivered,
  expectedMessages,
  OffsetClock,
  openLoopback,
  showWebhook,
  withReadModels,
} from '../support/delivery.ts';
import { onEveryEngine } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { HookEndpoint, type HookMessage } from '../support/hookEndpoint.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, type TestService } from '../support/service.ts';
import { createWebhook, patch, webhooksPath } from '../support/webhooks.ts';

const DAY_MS = 86_400_000;
const LONG_MS = 60_000;

type Payer = ReturnType<typeof samples.payer>;

onEveryEngine((start) => {
  let service: TestService;
  let delivery: Delivery;
  const clock = new OffsetClock();
  beforeAll(async () => {
    service = await start({ ROLES: 'api,projector', ...openLoopback });
    delivery = await Delivery.start(service, { clock });
  });
  afterAll(async () => {
    await delivery.stop();
    await service.stop();
  });

  /** Each test has a workspace, and so a log, of its own. */
  let label = '';
  let client: ReturnType<TestService['as']>;
  let tests = 0;
  const endpoints: HookEndpoint[] = [];
  const made: string[] = [];
  beforeEach(async () => {
    tests += 1;
    label = `hooks${tests}`;
    client = service.as((await service.createKey(label, ['write', 'read', 'events', 'webhooks'])).key);
  });
  afterEach(async () => {
    // The log of the production engines is shared: nobody else is to deliver these.
    for (const id of made.splice(0)) await client.delete(`${webhooksPath}/${id}`);
    for (const endpoint of endpoints.splice(0)) await endpoint.down();
  });

  async function openEndpoint(settings: object = {}) {
    const endpoint = await HookEndpoint.open();
    endpoints.push(endpoint);
    const webhook = await createWebhook(client, { url: endpoint.url, start: 'beginning', ...settings });
    made.push(webhook.id);
    return { endpoint, id: webhook.id as string, secret: webhook.secret as string };
  }

  /** Writes versions of payers by turns. */
  async function write(payers: { id: string }[], versions: number): Promise<void> {
    for (let version = 0; version < versions; version += 1) {
      const answers = await Promise.all(payers.map((payer) => client.post('/integration/payers', payer)));
      expect(answers.map(({ status }) => status)).toEqual(payers.map(() => 200));
    }
  }

  const payersOf = (count: number) => Array.from({ length: count }, samples.payer);
  const subjectOf = ({ id }: { id: string }) => `payer/${encodeURIComponent(id)}`;
  const upTo = (version: number) => Array.from({ length: version }, (_, index) => index + 1);
  const attemptsOf = async (id: string) => (await client.get(`${webhooksPath}/${id}/attempts`)).body.items;

  /** Every event of the workspace was accepted, those of a record in order. */
  async function expectAll({ endpoint, id }: { endpoint: HookEndpoint; id: string }): Promise<void> {
    const { ids, versions } = await expectedMessages(service, id, label);
    await eventually(
      () => expect(new Set(endpoint.accepted.map((message) => message.id))).toEqual(ids),
      LONG_MS,
    );
    expect([...endpoint.versions().values()].toSorted()).toEqual([...versions.values()].map(upTo).toSorted());
    await delivered(client, id, LONG_MS);
  }

  test('events go out signed, without values, each once', async () => {
    const { endpoint, id, secret } = await openEndpoint();
    const payers = payersOf(3);
    const appended = await appendedBy(service, () => write(payers, 2));
    expect(appended).toHaveLength(6);
    await expectAll({ endpoint, id });
    expect(endpoint.received).toHaveLength(6);
    const verifier = new Webhook(secret);
    for (const { body, headers } of endpoint.received) {
      expect(verifier.verify(body, headers as Record<string, string>)).toBeDefined();
      for (const { name } of payers) expect(body).not.toContain(name);
    }
    const attempts = await eventually(async () => {
      const items = await attemptsOf(id);
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
    await write(payersOf(2), 1);
    const { endpoint } = await openEndpoint({ kinds: ['provider'] });
    const now = await openEndpoint({ start: 'now' });
    const provider = samples.provider();
    await client.post('/integration/providers', provider);
    await write(payersOf(1), 1);
    await eventually(() => expect(now.endpoint.accepted).toHaveLength(2));
    await delivered(client, now.id);
    await eventually(() => expect(endpoint.accepted).toHaveLength(1));
    expect(endpoint.accepted[0]?.subject).toBe(`provider/${encodeURIComponent(provider.id)}`);
  });

  test('a record that is not taken waits, in order; others do not wait for it', async () => {
    const { endpoint, id } = await openEndpoint();
    const [bad, ...good] = payersOf(4) as [Payer, ...Payer[]];
    let refusing = true;
    endpoint.answer = ({ subject }) => (refusing && subject === subjectOf(bad) ? 500 : 200);
    await write([bad, ...good], 4);
    await eventually(() => expect(endpoint.accepted).toHaveLength(12));
    await eventually(async () => {
      expect((await showWebhook(client, id)).delivery).toMatchObject({ behind: 0, blocked: 1, failed: 0 });
    });
    const refused = endpoint.received.filter(({ subject }) => subject === subjectOf(bad));
    expect(new Set(refused.map(({ version }) => version))).toEqual(new Set([1]));
    refusing = false;
    await expectAll({ endpoint, id });
  });

  test('a receiver that is slow, away, and fails one time in three gets everything in order', async () => {
    const { endpoint, id } = await openEndpoint();
    let count = 0;
    endpoint.answer = () => {
      count += 1;
      if (count % 50 === 0) return 'tear';
      return count % 3 === 0 ? 500 : 200;
    };
    const writing = write(payersOf(60), 6);
    for (const accepted of [40, 120, 200]) {
      await eventually(() => expect(endpoint.accepted.length).toBeGreaterThan(accepted), LONG_MS);
      await endpoint.down();
      await eventually(async () =>
        expect((await showWebhook(client, id)).delivery.failing_since).not.toBeNull(),
      );
      await endpoint.up();
    }
    await writing;
    await expectAll({ endpoint, id });
  });

  test('an endpoint that never answers leaves the delivery to another as it is', async () => {
    const hanging = await openEndpoint();
    hanging.endpoint.answer = () => 'hang';
    const other = await openEndpoint();
    await write(payersOf(50), 4);
    await expectAll(other);
    expect(other.endpoint.received).toHaveLength(200);
    expect(hanging.endpoint.received.length).toBeLessThanOrEqual(32);
    expect((await showWebhook(client, hanging.id)).delivery.last_success_at).toBeNull();
  });

  test('410 disables the endpoint; enabled again, it goes on where it stopped', async () => {
    const { endpoint, id } = await openEndpoint();
    endpoint.answer = () => 410;
    const appended = await appendedBy(service, async () => {
      await write(payersOf(1), 2);
      await eventually(async () => {
        expect(await showWebhook(client, id)).toMatchObject({ state: 'disabled', disabled_reason: 'gone' });
      });
      endpoint.answer = () => 200;
      await write(payersOf(1), 2);
      expect(endpoint.accepted).toEqual([]);
      expect((await patch(client, `${webhooksPath}/${id}`, { state: 'enabled' })).status).toBe(200);
    });
    expect(appended.filter((line) => line.startsWith('webhooks'))).toEqual([
      'webhooks: WebhookDisabled',
      'webhooks: WebhookEnabled',
    ]);
    await expectAll({ endpoint, id });
  });

  test('a message that nobody takes is given up, and its record goes on; what failed can be sent again', async () => {
    const { endpoint, id } = await openEndpoint();
    const [payer] = payersOf(1) as [Payer, ...Payer[]];
    endpoint.answer = ({ version }) => (version === 2 ? 500 : 200);
    await write([payer], 3);
    await eventually(async () => {
      expect((await showWebhook(client, id)).delivery).toMatchObject({ behind: 0, blocked: 0, failed: 1 });
    });
    expect(endpoint.versions().get(subjectOf(payer))).toEqual([1, 3]);
    const tries = endpoint.received.filter(({ version }) => version === 2);
    expect(tries).toHaveLength(61);
    expect(new Set(tries.map((message) => message.id)).size).toBe(1);
    expect((await attemptsOf(id))[0]).toMatchObject({ outcome: 'delivered' });
    endpoint.answer = () => 200;
    const replay = (what: object) => client.post(`${webhooksPath}/${id}/replay`, what);
    expect(await appendedBy(service, () => replay({ failed: true }))).toEqual([
      'webhooks: WebhookReplayRequested',
    ]);
    await eventually(() => expect(endpoint.versions().get(subjectOf(payer))).toEqual([1, 3, 2]));
    await eventually(async () => expect((await showWebhook(client, id)).delivery.failed).toBe(0));
  });

  describe('what was delivered', () => {
    test('goes out once more on request: from a position, or one message', async () => {
      const { endpoint, id } = await openEndpoint();
      await write(payersOf(5), 2);
      await expectAll({ endpoint, id });
      const [first, second] = endpoint.accepted as [HookMessage, HookMessage];
      expect(second.id).not.toBe(first.id);
      await eventually(async () => expect(await attemptsOf(id)).toHaveLength(10));
      const replay = (what: object) => client.post(`${webhooksPath}/${id}/replay`, what);
      expect((await replay({ message_id: first.id })).status).toBe(200);
      await eventually(() => expect(endpoint.accepted).toHaveLength(11));
      expect(endpoint.accepted[10]).toMatchObject({ id: first.id, body: first.body });
      const after = JSON.parse(first.body).sequence;
      expect((await replay({ after })).status).toBe(200);
      await eventually(() => expect(endpoint.accepted).toHaveLength(20));
      expect(new Set(endpoint.accepted.slice(11).map((message) => message.id)).size).toBe(9);
      await expectAll({ endpoint, id });
    });

    test('a ping arrives, and is among the attempts', async () => {
      const { endpoint, id } = await openEndpoint();
      const pinged = await client.post(`${webhooksPath}/${id}/ping`, {});
      await eventually(() => expect(endpoint.accepted).toHaveLength(1));
      expect(endpoint.accepted[0]).toMatchObject({
        id: pinged.body.message_id,
        type: 'chartledger.webhook.ping.v1',
      });
      await eventually(async () => {
        expect(await attemptsOf(id)).toEqual([expect.objectContaining({ attempt: 0, outcome: 'delivered' })]);
      });
    });

    test('is repeated when the read models are deleted, and nothing is skipped', async () => {
      const { endpoint, id } = await openEndpoint();
      const [bad, ...good] = payersOf(4) as [Payer, ...Payer[]];
      endpoint.answer = ({ subject }) => (subject === subjectOf(bad) ? 500 : 200);
      await write([bad, ...good], 2);
      await eventually(async () => {
        expect((await showWebhook(client, id)).delivery).toMatchObject({ behind: 0, blocked: 1 });
      });
      await withReadModels(service, async (readModels) => {
        for (const model of [deliveryModel, attemptsModel]) await readModels.drop(model);
      });
      endpoint.answer = () => 200;
      await write(good, 1);
      await expectAll({ endpoint, id });
    });
  });

  test('Retry-After is obeyed; one of 429 holds for the whole endpoint', async () => {
    const { endpoint, id } = await openEndpoint();
    endpoint.answer = () => ({ status: 429, headers: { 'retry-after': '3600' } });
    await write(payersOf(1), 1);
    await eventually(() => expect(endpoint.received).toHaveLength(1));
    const attempts = await eventually(async () => {
      const items = await attemptsOf(id);
      expect(items).toHaveLength(1);
      return items;
    });
    const [{ at, next_attempt_at }] = attempts;
    expect(Date.parse(next_attempt_at) - Date.parse(at)).toBeGreaterThanOrEqual(3_600_000);
    endpoint.answer = () => 200;
    await write(payersOf(1), 1);
    const probe = await openEndpoint();
    await expectAll(probe);
    expect(endpoint.received).toHaveLength(1);
    clock.offset += 3_700_000;
    await expectAll({ endpoint, id });
  });

  test('five days without success disable the endpoint; enabled again, it goes on', async () => {
    const { endpoint, id } = await openEndpoint();
    endpoint.answer = () => 500;
    const appended = await appendedBy(service, async () => {
      await write(payersOf(1), 2);
      await eventually(() => expect(endpoint.received.length).toBeGreaterThan(1));
      expect(await showWebhook(client, id)).toMatchObject({ state: 'enabled' });
      clock.offset += 5 * DAY_MS;
      await eventually(async () => {
        expect(await showWebhook(client, id)).toMatchObject({
          state: 'disabled',
          disabled_reason: 'failing',
        });
      });
    });
    expect(appended.filter((line) => line.startsWith('webhooks'))).toEqual(['webhooks: WebhookDisabled']);
    endpoint.answer = () => 200;
    await patch(client, `${webhooksPath}/${id}`, { state: 'enabled' });
    await expectAll({ endpoint, id });
  });

  test('two instances share the webhooks; when one ends, the other has them all', async () => {
    const second = await Delivery.start(service, { clock });
    const hooks = [];
    for (let n = 0; n < 6; n += 1) hooks.push(await openEndpoint());
    await write(payersOf(5), 2);
    for (const hook of hooks) await expectAll(hook);
    for (const { endpoint } of hooks) expect(endpoint.received).toHaveLength(10);
    await delivery.stop();
    await write(payersOf(5), 2);
    for (const hook of hooks) await expectAll(hook);
    await second.stop();
    delivery = await Delivery.start(service, { clock });
  });
});
