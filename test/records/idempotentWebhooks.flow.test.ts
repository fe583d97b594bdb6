import { expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { Client } from '../support/client.ts';
import { expectFirst, expectReplay, keyed } from '../support/log.ts';
import { notePhi } from '../support/output.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, changesBy, startFaultyApp } from '../support/service.ts';
import {
  createWebhook,
  hookUrl,
  memberOf,
  patch,
  secretIn,
  WebhookSuite,
  webhooksPath,
} from '../support/webhooks.ts';

onEveryEngine((start) => {
  const suite = new WebhookSuite((env) => start({ ...env, REQUEST_THREADS: '2' }));

  test('a webhook is created once, and a repeat is given the same secret', async () => {
    const url = hookUrl();
    const headers = keyed();
    const appended = await appendedBy(suite.service, async () => {
      const first = expectFirst(await suite.client.post(webhooksPath, { url }, headers));
      notePhi(first.body.secret);
      expect(first.body.secret).toMatch(/^whsec_/);
      await patch(suite.client, memberOf(first.body), { description: 'changed' });
      expectReplay(await suite.client.post(webhooksPath, { url }, headers), first);
      const other = await suite.client.post(webhooksPath, { url: hookUrl() }, headers);
      expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
    });
    expect(appended).toEqual(['webhooks: WebhookCreated', 'webhooks: WebhookUpdated']);
  });

  test('a change, a new secret, a ping, a retry and a replay are made once', async () => {
    const path = memberOf(await createWebhook(suite.client));
    const post = (name: string, body: object) => (headers: Record<string, string>) =>
      suite.client.post(`${path}/${name}`, body, headers);
    const appended = await appendedBy(suite.service, async () => {
      for (const send of [
        (headers: Record<string, string>) =>
          patch(suite.client, path, { description: 'ours', state: 'disabled' }, headers),
        (headers: Record<string, string>) => patch(suite.client, path, { state: 'enabled' }, headers),
        post('secret/rotate', { overlap_seconds: 60 }),
        post('ping', {}),
        post('retry', {}),
        post('replay', { failed: true }),
      ]) {
        const headers = keyed();
        const first = expectFirst(await send(headers));
        if (first.body.secret) notePhi(first.body.secret);
        expectReplay(await send(headers), first);
      }
    });
    expect(appended).toEqual(
      ['Updated', 'Disabled', 'Enabled', 'SecretRotated', 'Pinged', 'RetryRequested', 'ReplayRequested'].map(
        (type) => `webhooks: Webhook${type}`,
      ),
    );
  });

  test('a deletion that is sent again is answered as the first one', async () => {
    const path = memberOf(await createWebhook(suite.client));
    const headers = keyed();
    const appended = await appendedBy(suite.service, async () => {
      const first = expectFirst(await suite.client.delete(path, headers));
      expectReplay(await suite.client.delete(path, headers), first);
      expect((await suite.client.delete(path, keyed())).status).toBe(404);
    });
    expect(appended).toEqual(['webhooks: WebhookDeleted']);
  });

  test('a webhook and a secret of a try whose append came late are those that the repeat is given', async () => {
    let late: Parameters<EventLog['append']> | undefined;
    let isAway = false;
    const append: EventLog['append'] = async (...appended) => {
      const [before, unanswered] = [late, isAway];
      [late, isAway] = [unanswered ? appended : undefined, false];
      if (before) await suite.service.eventLog.append(...before);
      if (unanswered) throw unavailable('event log');
      return suite.service.eventLog.append(...appended);
    };
    const app = await startFaultyApp(suite.service, { eventLog: { append } });
    const client = new Client(app.url, suite.maker.key);
    const sendTwice = async (path: string, body: object) => {
      const headers = keyed();
      isAway = true;
      expect((await client.post(path, body, headers)).status).toBe(503);
      const repeat = await client.post(path, body, headers);
      expect([repeat.status, repeat.body.error]).toEqual([200, undefined]);
      notePhi(repeat.body.secret);
      return repeat.body;
    };
    let created: { id: string; secret: string } | undefined;
    const events = await changesBy(suite.service, async () => {
      created = await sendTwice(webhooksPath, { url: hookUrl() });
    });
    expect(events.map(({ type, data }) => [type, data.webhook_id])).toEqual([
      ['WebhookCreated', created?.id],
    ]);
    expect(created?.secret).toBe(await secretIn(suite.service, events[0]));
    const path = memberOf({ id: String(created?.id) });
    let secret: unknown;
    const rotated = await changesBy(suite.service, async () => {
      ({ secret } = await sendTwice(`${path}/secret/rotate`, { overlap_seconds: 60 }));
    });
    expect(rotated.map(({ type }) => type)).toEqual(['WebhookSecretRotated']);
    expect(secret).toBe(await secretIn(suite.service, rotated[0]));
    await app.stop();
  });

  test('a refused change leaves its key free', async () => {
    const headers = keyed();
    const path = memberOf(await createWebhook(suite.client, {}));
    const appended = await appendedBy(suite.service, async () => {
      await patch(suite.client, path, { state: 'disabled' });
      expect((await suite.client.post(`${path}/ping`, {}, headers)).status).toBe(409);
      expect((await patch(suite.client, path, { url: 'http://x' }, headers)).status).toBe(400);
      expectFirst(await patch(suite.client, path, { state: 'enabled' }, headers));
    });
    expect(appended).toEqual(['webhooks: WebhookDisabled', 'webhooks: WebhookEnabled']);
  });
});
