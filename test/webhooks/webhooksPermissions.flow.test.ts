import { describe, expect, test } from 'vitest';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import type { Client } from '../support/client.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy } from '../support/service.ts';
import { createWebhook, hookUrl, memberOf, patch, WebhookSuite, webhooksPath } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  const suite = new WebhookSuite(start);

  describe('who may do it', () => {
    const requests = [
      ['GET', ''],
      ['PATCH', '', { description: 'x' }],
      ['PATCH', '', { state: 'disabled' }],
      ['DELETE', ''],
      ['POST', '/secret/rotate', {}],
      ['POST', '/ping'],
      ['POST', '/replay', { failed: true }],
      ['GET', '/attempts'],
    ] as [string, string, object?][];
    const send = (as: Client, id: string, [method, below, body]: (typeof requests)[number]) =>
      as.send(`${webhooksPath}/${id}${below}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });

    test('another workspace’s webhook is not found, as one that never was', async () => {
      const made = await createWebhook(suite.client);
      const stranger = suite.service.as(
        (await suite.service.createKey('elsewhere', ['webhooks', 'events'])).key,
      );
      const appended = await appendedBy(suite.service, async () => {
        for (const request of requests) {
          const theirs = await send(stranger, made.id, request);
          const nobodys = await send(stranger, 'wh_0000000000000000', request);
          expect([request, theirs.status, theirs.body.error]).toEqual([request, 404, 'Webhook not found.']);
          expect([nobodys.status, nobodys.body.error]).toEqual([404, theirs.body.error]);
        }
        expect((await stranger.get(webhooksPath)).body.items).toEqual([]);
      });
      expect(appended).toEqual([]);
    });

    test('a key needs the permission webhooks for everything', async () => {
      const made = await createWebhook(suite.client);
      const others = await suite.clientWith('write', 'read', 'events', 'events:deidentified');
      const appended = await appendedBy(suite.service, async () => {
        for (const request of requests) expect((await send(others, made.id, request)).status).toBe(403);
        expect((await others.get(webhooksPath)).status).toBe(403);
        expect((await others.post(webhooksPath, { url: hookUrl() })).status).toBe(403);
        expect((await suite.service.as(undefined).get(webhooksPath)).status).toBe(401);
      });
      expect(appended).toEqual([]);
    });

    test.each([
      ['reference', [], 200],
      ['full', [], 403],
      ['full', ['events:deidentified'], 403],
      ['full', ['events'], 200],
      ['limited', [], 403],
      ['limited', ['events:deidentified'], 403],
      ['limited', ['events:limited'], 200],
      ['limited', ['events'], 200],
      ['deidentified', [], 403],
      ['deidentified', ['read', 'write'], 403],
      ['deidentified', ['events:deidentified'], 200],
      ['deidentified', ['events'], 200],
    ] as [string, Permission[], number][])(
      'the payload %s with webhooks and %j is answered with %d',
      async (payload, more, expected) => {
        const one = await suite.clientWith('webhooks', ...more);
        const made = await createWebhook(one);
        const appended = await appendedBy(suite.service, async () => {
          const created = await one.post(webhooksPath, { url: hookUrl(), payload });
          const changed = await patch(one, memberOf(made), { payload });
          expect([created.status, changed.status]).toEqual([expected, expected]);
          if (expected === 403) expect(created.body.code).toBe('permission_denied');
        });
        const isChange = expected === 200 && payload !== 'reference';
        expect(appended).toEqual([
          ...(expected === 200 ? ['webhooks: WebhookCreated'] : []),
          ...(isChange ? ['webhooks: WebhookUpdated'] : []),
        ]);
      },
    );

    test.each([
      ['full', []],
      ['full', ['events:deidentified']],
      ['limited', ['events:deidentified']],
      ['deidentified', ['read', 'write']],
    ] as [string, Permission[]][])(
      'nothing is done to a webhook of the payload %s with webhooks and %j, and no list shows it',
      async (payload, more) => {
        const made = await createWebhook(await suite.clientWith('webhooks', 'events'), { payload });
        const one = await suite.clientWith('webhooks', ...more);
        const appended = await appendedBy(suite.service, async () => {
          for (const request of requests) {
            const { status, body } = await send(one, made.id, request);
            expect([request, status, body.code]).toEqual([request, 403, 'permission_denied']);
          }
        });
        expect(appended.filter((event) => event.startsWith('webhooks'))).toEqual([]);
        const shownTo = async (as: Client) =>
          (await as.get(`${webhooksPath}?limit=100`)).body.items.map(({ id }: { id: string }) => id);
        expect(await shownTo(one)).not.toContain(made.id);
        expect(await shownTo(await suite.clientWith('webhooks', 'events'))).toContain(made.id);
      },
    );
  });
});
