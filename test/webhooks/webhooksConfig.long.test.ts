import { describe, expect, test } from 'vitest';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, newEvents } from '../support/service.ts';
import {
  createWebhook,
  hookUrl,
  memberOf,
  patch,
  secretIn,
  WebhookSuite,
  webhooksPath,
} from '../support/webhooks.ts';

const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
const position = expect.stringMatching(/^\d{16}$/);

onEmbeddedEngines((start) => {
  const suite = new WebhookSuite(start, 'events');

  describe('a new webhook', () => {
    test('has its secret shown once, and every choice made for it', async () => {
      const url = hookUrl();
      let made: Record<string, unknown> = {};
      const [event, ...others] = await newEvents(suite.service, async () => {
        made = await createWebhook(suite.client, { url });
      });
      const { secret, ...shown } = made;
      expect(shown).toEqual({
        id: expect.stringMatching(/^wh_[0-9A-Za-z]{16}$/),
        url,
        description: null,
        kinds: null,
        types: null,
        payload: 'reference',
        unchanged: 'send',
        recipient: null,
        recipient_address: null,
        purpose: null,
        purpose_statement: null,
        start_after: position,
        state: 'enabled',
        disabled_reason: null,
        previous_secret_expires_at: null,
        created_at: instant,
        created_by: { type: 'api_key', id: suite.maker.id, name: suite.maker.name },
        updated_at: instant,
      });
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(others).toEqual([]);
      expect(event).toMatchObject({
        stream: 'webhooks',
        type: 'WebhookCreated',
        metadata: {
          workspace: suite.service.workspaceId('clinic'),
          principal: { type: 'api_key', id: expect.stringMatching(/^key_/) },
          clientIp: '127.0.0.1',
        },
      });
      expect(JSON.stringify(event)).not.toContain(secret);
      expect(await secretIn(suite.service, event)).toBe(secret);

      const read = await suite.client.get(memberOf({ id: String(shown.id) }));
      const delivery = {
        position: shown.start_after,
        pending: expect.any(Number),
        pending_is_exact: expect.any(Boolean),
        oldest_pending_at: null,
        problem: null,
        blocked: 0,
        failed: 0,
        last_success_at: null,
        failing_since: null,
      };
      expect([read.status, read.body]).toEqual([200, { ...shown, delivery }]);
    });

    test('takes what was chosen; a list names each thing once', async () => {
      const settings = {
        url: hookUrl(),
        description: 'Billing',
        kinds: ['encounter', 'patient', 'encounter'],
        types: ['chartledger.patient.upserted.v1'],
        payload: 'full',
      };
      const appended = await appendedBy(suite.service, async () => {
        expect(await createWebhook(suite.client, { ...settings, start: 'beginning' })).toMatchObject({
          ...settings,
          kinds: ['patient', 'encounter'],
          start_after: '0000000000000000',
        });
      });
      expect(appended).toEqual(['webhooks: WebhookCreated']);
    });

    test('starts at the log’s end, at a position, or just before the first event of a time', async () => {
      const writer = suite.service;
      const recorded = async () => {
        const [event] = await newEvents(suite.service, () =>
          writer.post('/integration/payers', samples.payer()),
        );
        if (event === undefined) throw new Error('nothing was stored');
        return event;
      };
      const first = await recorded();
      const second = await recorded();
      let third = await recorded();
      while (third.recordedAt === second.recordedAt) third = await recorded();
      const startAfter = async (value: string) =>
        Number((await createWebhook(suite.client, { start: value })).start_after);
      const appended = await appendedBy(suite.service, async () => {
        expect(await startAfter(String(second.position))).toBe(second.position);
        const atSecond = await startAfter(second.recordedAt);
        expect(atSecond).toBeLessThan(second.position);
        const atThird = await startAfter(third.recordedAt);
        expect(atThird).toBeGreaterThanOrEqual(second.position);
        expect(atThird).toBeLessThan(third.position);
        expect(await startAfter('2001-01-01')).toBeLessThan(first.position);
        const now = await startAfter('now');
        expect(now).toBeGreaterThanOrEqual(third.position);
        expect(now).toBeLessThanOrEqual(await suite.service.eventLog.head());
      });
      expect(appended).toEqual(Array(5).fill('webhooks: WebhookCreated'));
    });

    test.each([
      [{ url: undefined }, 'url', 'is required'],
      [{ url: 7 }, 'url', 'must be a string'],
      [{ url: 'billing' }, 'url', 'must be a complete URL'],
      [{ url: 'http://billing.invalid/' }, 'url', 'must begin with https://'],
      [{ url: 'https://a:b@billing.invalid/' }, 'url', 'must not contain a user name'],
      [{ url: 'https://169.254.169.254/latest' }, 'url', 'must not name a private'],
      [{ url: 'https://2130706433/' }, 'url', 'must not name a private'],
      [{ url: 'https://localhost/' }, 'url', 'must not name a private'],
      [{ url: `https://billing.invalid/${'x'.repeat(2048)}` }, 'url', 'must have at most 2048 characters'],
      [{ description: 'x'.repeat(1001) }, 'description', 'must be at most 1000 characters'],
      [{ kinds: [] }, 'kinds', 'must name one at least'],
      [{ kinds: ['claim'] }, 'kinds.0', 'must be one of payer, patient'],
      [{ kinds: 'patient' }, 'kinds', 'must be an array'],
      [{ types: ['PatientUpserted'] }, 'types.0', 'must be one of chartledger.payer.upserted.v1'],
      [{ kinds: ['payer'], types: ['chartledger.patient.upserted.v1'] }, 'types', 'of one of the kinds'],
      [{ payload: 'all' }, 'payload', 'must be one of reference, full, limited, deidentified'],
      [{ start: 'yesterday' }, 'start', 'must be now, beginning, a position'],
      [{ start: '9007199254740991' }, 'start', 'must be the position of an event in this log'],
      [{ start: '2999-01-01' }, 'start', 'must not be in the future'],
      [{ kind: ['patient'] }, 'kind', 'is not a known field; the fields are url'],
      [{ secret: 'whsec_' }, 'secret', 'is not a known field'],
    ])('is refused with %.60j', async (settings, field, message) => {
      const appended = await appendedBy(suite.service, async () => {
        const { status, body } = await suite.client.post(webhooksPath, { url: hookUrl(), ...settings });
        expect([status, body.code]).toEqual([400, 'validation_failed']);
        expect(body.details).toContainEqual({ field, message: expect.stringContaining(message) });
      });
      expect(appended).toEqual([]);
    });

    test('is refused with a start, and replayed from none, where no event begins', async () => {
      const { id } = await createWebhook(suite.client);
      const between = (await suite.service.eventLog.head()) - 1;
      if (await suite.service.eventLog.hasPosition(between)) return;
      const appended = await appendedBy(suite.service, async () => {
        const made = await suite.client.post(webhooksPath, { url: hookUrl(), start: String(between) });
        expect(made).toMatchObject({ status: 400, body: { details: [{ field: 'start' }] } });
        const replayed = await suite.client.post(`${webhooksPath}/${id}/replay`, { after: String(between) });
        expect(replayed).toMatchObject({ status: 400, body: { details: [{ field: 'after' }] } });
      });
      expect(appended).toEqual([]);
    });

    test('is refused when the workspace has a hundred, until one is deleted', async () => {
      const crowded = suite.service.as((await suite.service.createKey('crowded', ['webhooks'])).key);
      const appended = await appendedBy(suite.service, async () => {
        const first = await createWebhook(crowded);
        for (let count = 1; count < 100; count++) await createWebhook(crowded);
        const refused = await crowded.post(webhooksPath, { url: hookUrl() });
        expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
        expect((await crowded.delete(memberOf(first))).status).toBe(200);
        await createWebhook(crowded);
      });
      const made = Array(100).fill('webhooks: WebhookCreated');
      expect(appended).toEqual([...made, 'webhooks: WebhookDeleted', 'webhooks: WebhookCreated']);
    });

    test('is seen by every instance at once, and so are ones that are made at the same time', async () => {
      const label = 'crowd';
      const { key } = await suite.service.createKey(label, ['webhooks']);
      const here = suite.service.as(key);
      const other = await suite.service.another({ ROLES: 'api' });
      const there = suite.service.as(key);
      there.url = other.url;
      try {
        const appended = await appendedBy(suite.service, async () => {
          const one = await createWebhook(here);
          expect((await there.get(memberOf(one))).status).toBe(200);
          await Promise.all([here, there, here, there, here, there].map((each) => createWebhook(each)));
          for (const each of [here, there]) {
            expect((await each.get(webhooksPath)).body.items).toHaveLength(7);
          }
        });
        expect(appended).toEqual(Array(7).fill('webhooks: WebhookCreated'));
      } finally {
        await other.stop();
      }
    });
  });

  test('lists come in pages, in the order of creation', async () => {
    const reader = suite.service.as((await suite.service.createKey('listed', ['webhooks'])).key);
    expect((await reader.get(webhooksPath)).body).toEqual({ items: [], next_page_token: null });
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) ids.push((await createWebhook(reader)).id);
    const found: string[] = [];
    let token: string | null = null;
    const appended = await appendedBy(suite.service, async () => {
      do {
        const query: string = token === null ? '' : `&page_token=${token}`;
        const { body } = await reader.get(`${webhooksPath}?limit=2${query}`);
        found.push(...body.items.map(({ id }: { id: string }) => id));
        token = body.next_page_token;
      } while (token !== null);
      expect((await reader.get(`${webhooksPath}?limit=0`)).status).toBe(400);
      expect((await reader.get(`${webhooksPath}?page_token=x`)).status).toBe(400);
    });
    expect(found).toEqual(ids);
    expect(appended).toEqual([]);
  });

  describe('a change', () => {
    test('replaces what is sent, clears with null, and leaves the rest', async () => {
      const made = await createWebhook(suite.client, { description: 'Billing', kinds: ['payer'] });
      const { secret, updated_at, ...before } = made;
      const url = hookUrl();
      const events = await newEvents(suite.service, async () => {
        const changed = await patch(suite.client, memberOf(made), { url, kinds: null });
        expect(changed.status).toBe(200);
        expect(changed.body).toEqual({ ...before, url, kinds: null, updated_at: instant });
        expect((await suite.client.get(memberOf(made))).body).toMatchObject(changed.body);
        const cleared = await patch(suite.client, memberOf(made), { description: null });
        expect(cleared.body).toMatchObject({ description: null, url });
      });
      expect(events.map(({ type, data }) => [type, data])).toEqual([
        ['WebhookUpdated', { webhook_id: made.id, url, kinds: null }],
        ['WebhookUpdated', { webhook_id: made.id, description: null }],
      ]);
    });

    test('that changes nothing is no event', async () => {
      const { secret, start_after, ...made } = await createWebhook(suite.client, {
        kinds: ['payer', 'patient'],
      });
      const appended = await appendedBy(suite.service, async () => {
        for (const same of [{}, { url: made.url, kinds: ['patient', 'payer'] }, { state: 'enabled' }]) {
          const { status, body } = await patch(suite.client, memberOf(made), same);
          expect([status, body]).toEqual([200, { ...made, start_after }]);
        }
      });
      expect(appended).toEqual([]);
    });

    test('disables and enables; with settings it is two events, the settings first', async () => {
      const made = await createWebhook(suite.client);
      const url = hookUrl();
      const events = await newEvents(suite.service, async () => {
        const disabled = await patch(suite.client, memberOf(made), { state: 'disabled' });
        expect(disabled.body).toMatchObject({ state: 'disabled', disabled_reason: 'caller' });
        const enabled = await patch(suite.client, memberOf(made), { url, state: 'enabled' });
        expect(enabled.body).toMatchObject({ state: 'enabled', disabled_reason: null, url });
      });
      expect(events.map(({ type, data }) => [type, data])).toEqual([
        ['WebhookDisabled', { webhook_id: made.id, reason: 'caller' }],
        ['WebhookUpdated', { webhook_id: made.id, url }],
        ['WebhookEnabled', { webhook_id: made.id }],
      ]);
      expect(new Set(events.map(({ id }) => id)).size).toBe(3);
      expect(events[1]?.metadata.requestId).toBe(events[2]?.metadata.requestId);
    });

    test.each([
      [{ url: 'https://10.0.0.1/' }, 'url'],
      [{ url: null }, 'url'],
      [{ payload: null }, 'payload'],
      [{ state: 'deleted' }, 'state'],
      [{ kinds: ['document'] }, 'types'],
      [{ start: 'now' }, 'start'],
    ])('is refused with %j', async (change, field) => {
      const made = await createWebhook(suite.client, { types: ['chartledger.payer.upserted.v1'] });
      const appended = await appendedBy(suite.service, async () => {
        const { status, body } = await patch(suite.client, memberOf(made), change);
        expect([status, body.code, body.details[0].field]).toEqual([400, 'validation_failed', field]);
      });
      expect(appended).toEqual([]);
    });

    test('deletes, for ever', async () => {
      const made = await createWebhook(suite.client);
      const appended = await appendedBy(suite.service, async () => {
        const { status, body } = await suite.client.delete(memberOf(made));
        expect([status, body]).toEqual([200, { success: true, message: 'Webhook deleted' }]);
        expect((await suite.client.get(memberOf(made))).status).toBe(404);
        expect((await suite.client.delete(memberOf(made))).status).toBe(404);
        expect((await patch(suite.client, memberOf(made), { state: 'enabled' })).status).toBe(404);
        const ids = (await suite.client.get(webhooksPath)).body.items.map(({ id }: { id: string }) => id);
        expect(ids).not.toContain(made.id);
      });
      expect(appended).toEqual(['webhooks: WebhookDeleted']);
    });
  });
});
