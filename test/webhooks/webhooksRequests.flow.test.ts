import { describe, expect, test } from 'vitest';
import { WebhookDirectory } from '../../src/modules/webhooks/webhook.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy } from '../support/service.ts';
import { createWebhook, memberOf, patch, secretIn, WebhookSuite, webhooksPath } from '../support/webhooks.ts';

const DAY_MS = 86_400_000;

onEmbeddedEngines((start) => {
  const suite = new WebhookSuite(start);

  describe('a new secret', () => {
    test.each([
      [{ overlap_seconds: 3600 }, 3_600_000],
      [{}, DAY_MS],
      [undefined, DAY_MS],
      [{ overlap_seconds: 604_800 }, 7 * DAY_MS],
    ])('with %j lets the previous one sign, too, for so long', async (body, overlapMs) => {
      const made = await createWebhook(suite.client);
      const path = `${memberOf(made)}/secret/rotate`;
      const before = Date.now();
      const [event, ...others] = await changesBy(suite.service, async () => {
        const sent =
          body === undefined ? suite.client.send(path, { method: 'POST' }) : suite.client.post(path, body);
        const { status, body: answer } = await sent;
        expect([status, answer.error]).toEqual([200, undefined]);
        expect(answer).toMatchObject({ id: made.id, state: 'enabled' });
        expect(answer.secret).toMatch(/^whsec_/);
        expect(answer.secret).not.toBe(made.secret);
        const until = Date.parse(answer.previous_secret_expires_at);
        expect(until).toBeGreaterThanOrEqual(before + overlapMs);
        expect(until).toBeLessThanOrEqual(Date.now() + overlapMs);
        const { previous_secret_expires_at } = (await suite.client.get(memberOf(made))).body;
        expect(previous_secret_expires_at).toBe(answer.previous_secret_expires_at);
        made.secret = answer.secret;
      });
      expect(others).toEqual([]);
      expect(event?.type).toBe('WebhookSecretRotated');
      expect(await secretIn(suite.service, event)).toBe(made.secret);
    });

    test('without overlap ends all that were before it', async () => {
      const made = await createWebhook(suite.client);
      const path = `${memberOf(made)}/secret/rotate`;
      const appended = await appendedBy(suite.service, async () => {
        expect((await suite.client.post(path, { overlap_seconds: 600 })).status).toBe(200);
        const { body } = await suite.client.post(path, { overlap_seconds: 0 });
        expect(body.previous_secret_expires_at).toBeNull();
      });
      expect(appended).toEqual(Array(2).fill('webhooks: WebhookSecretRotated'));
    });

    test('lets one before the previous one sign no longer than that, and no less', async () => {
      const made = await createWebhook(suite.client);
      const path = `${memberOf(made)}/secret/rotate`;
      const ends: string[] = [];
      const appended = await appendedBy(suite.service, async () => {
        for (const overlap_seconds of [600, 3600, 60]) {
          const { body } = await suite.client.post(path, { overlap_seconds });
          ends.push(body.previous_secret_expires_at);
        }
      });
      expect(appended).toEqual(Array(3).fill('webhooks: WebhookSecretRotated'));
      const directory = await WebhookDirectory.open(suite.service.eventLog);
      const signing = directory.find(made.id)?.secrets.map(({ expiresAt }) => expiresAt);
      directory.close();
      expect(signing).toEqual([undefined, ends[2], ends[2], ends[2]]);
    });

    test.each([-1, 604_801, 1.5, '60'])('is refused with an overlap of %j', async (overlap) => {
      const made = await createWebhook(suite.client);
      const appended = await appendedBy(suite.service, async () => {
        const path = `${memberOf(made)}/secret/rotate`;
        const { status, body } = await suite.client.post(path, { overlap_seconds: overlap });
        expect([status, body.details?.[0].field]).toEqual([400, 'overlap_seconds']);
      });
      expect(appended).toEqual([]);
    });

    test('is never shown again', async () => {
      const { secret, ...made } = await createWebhook(suite.client);
      const shown = [
        await suite.client.get(webhooksPath),
        await suite.client.get(memberOf(made)),
        await patch(suite.client, memberOf(made), { description: 'Billing' }),
      ];
      for (const { status, text } of shown) {
        expect([status, text.includes(made.id)]).toEqual([200, true]);
        expect(text).not.toContain('whsec_');
        expect(text).not.toContain('sealed');
      }
    });
  });

  describe('what is asked for', () => {
    test('is an event: a ping, whose message is named, and replays', async () => {
      const made = await createWebhook(suite.client);
      await suite.service.post('/integration/payers', samples.payer());
      const head = await suite.service.eventLog.head();
      const events = await changesBy(suite.service, async () => {
        const pinged = await suite.client.send(`${memberOf(made)}/ping`, { method: 'POST' });
        expect([pinged.status, pinged.body]).toEqual([
          200,
          {
            success: true,
            message: 'Ping requested',
            message_id: expect.stringMatching(/^msg_[\w-]{20,}$/),
          },
        ]);
        for (const replay of [
          { after: '0' },
          { after: String(head) },
          { from: '2001-01-01' },
          { failed: true },
        ]) {
          const { status, body } = await suite.client.post(`${memberOf(made)}/replay`, replay);
          expect([status, body]).toEqual([200, { success: true, message: 'Replay requested' }]);
        }
      });
      const webhook_id = made.id;
      expect(events.map(({ stream, type, data }) => [stream, type, data])).toEqual([
        ['webhooks', 'WebhookPinged', { webhook_id }],
        ['webhooks', 'WebhookReplayRequested', { webhook_id, after: 0 }],
        ['webhooks', 'WebhookReplayRequested', { webhook_id, after: head }],
        ['webhooks', 'WebhookReplayRequested', { webhook_id, after: expect.any(Number) }],
        ['webhooks', 'WebhookReplayRequested', { webhook_id, failed: true }],
      ]);
      expect(events[3]?.data.after).toBeLessThan(head);
    });

    test.each([
      [{}, ''],
      [{ after: '0', failed: true }, ''],
      [{ after: 'now' }, 'after'],
      [{ after: '9007199254740991' }, 'after'],
      [{ from: 'now' }, 'from'],
      [{ from: '2999-01-01' }, 'from'],
      [{ message_id: 'x' }, 'message_id'],
      [{ failed: false }, 'failed'],
      [{ all: true }, 'all'],
    ])('is refused as the replay %j', async (replay, field) => {
      const made = await createWebhook(suite.client);
      const appended = await appendedBy(suite.service, async () => {
        const { status, body } = await suite.client.post(`${memberOf(made)}/replay`, replay);
        expect([status, body.code, body.details[0].field]).toEqual([400, 'validation_failed', field]);
      });
      expect(appended).toEqual([]);
    });

    test('is refused while the webhook is disabled', async () => {
      const made = await createWebhook(suite.client);
      await patch(suite.client, memberOf(made), { state: 'disabled' });
      const appended = await appendedBy(suite.service, async () => {
        for (const [path, body] of [
          ['ping', {}],
          ['replay', { failed: true }],
        ] as const) {
          const refused = await suite.client.post(`${memberOf(made)}/${path}`, body);
          expect([path, refused.status, refused.body.code]).toEqual([path, 409, 'conflict']);
        }
      });
      expect(appended).toEqual([]);
    });
  });
});
