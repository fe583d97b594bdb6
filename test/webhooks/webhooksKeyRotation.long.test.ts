import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { decryptSecret } from '../../src/modules/webhooks/secrets.ts';

import { runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';
import {
  createWebhook,
  delivered,
  HookEndpoint,
  openLoopback,
  showWebhook,
  webhooksPath,
} from '../support/webhooks.ts';

const LONG_MS = 60_000;
const done = { code: 0, stderr: '' };
const once = (key: string) => ({ 'idempotency-key': key });

/** The secrets that an event of a webhook seals, opened with a key. */
function secretsOf({ data, metadata: { workspace } }: RecordedEvent, key: Buffer): string[] {
  const owner = { workspace, id: String(data.webhook_id) };
  return (data.sealed_secrets as string[]).map((sealed) => decryptSecret(key, owner, sealed));
}

onEmbeddedEngines((start) => {
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
  let service: TestService;
  let client: Client;
  let endpoint: HookEndpoint;
  beforeAll(async () => {
    const both = [oldKey, newKey].map((key) => key.toString('base64')).join(',');
    endpoint = await HookEndpoint.open();
    service = await start({ WEBHOOK_SECRETS_KEY: both, ...openLoopback });
    client = service.as((await service.createKey('clinic', ['write', 'read', 'webhooks'])).key);
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await endpoint.down();
  });
  const cli = (...args: string[]) => runCli(args, { env: storesOf(service.config) });

  test(
    'receivers and clients notice nothing of it',
    async () => {
      const asked = { url: endpoint.url };
      const made = await client.post(webhooksPath, asked, once('webhook'));
      const { id, secret } = made.body;
      const payer = samples.payer();
      const first = await client.post('/integration/payers', payer, once('payer'));
      expect([made.status, first.status]).toEqual([200, 200]);
      await eventually(() => expect(endpoint.accepted).toHaveLength(1));

      let isRotating = true;
      const writing = (async () => {
        while (isRotating) await client.post('/integration/payers', samples.payer());
      })();
      const rotated = await cli('secrets', 'rotate', 'webhooks');
      isRotating = false;
      await writing;
      expect(rotated).toMatchObject(done);
      expect(rotated.stdout).toContain('The secrets of 1 webhook were sealed again.');

      await client.post('/integration/payers', samples.payer());
      await eventually(async () => expect((await showWebhook(client, id)).delivery.pending).toBe(0));
      await delivered(client, id);
      const { delivery, version } = await showWebhook(client, id);
      expect({ problem: delivery.problem, version }).toEqual({ problem: null, version: made.body.version });
      for (const { body, headers } of endpoint.received)
        expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
      expect(endpoint.received).toHaveLength(endpoint.accepted.length);

      const again = await client.post('/integration/payers', payer, once('payer'));
      expect(again.body).toEqual(first.body);
      expect((await client.post(webhooksPath, asked, once('webhook'))).body).toEqual(made.body);
      const versions = await client.get(`/integration/payers/${payer.id}/history`);
      expect(versions.body.items).toHaveLength(1);
    },
    LONG_MS,
  );

  test('the log tells of it, and holds the secrets sealed with the new key', async () => {
    const events = await readAll(service.eventLog);
    const sealed = events.filter(({ type }) => type === 'WebhookSecretsSealed');
    expect(sealed).toMatchObject([{ stream: 'webhooks', metadata: { principal: { type: 'operator' } } }]);
    expect(secretsOf(sealed[0] as RecordedEvent, newKey)).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'KeyRotated')).toMatchObject([
      { data: { setting: 'WEBHOOK_SECRETS_KEY' }, metadata: { principal: { type: 'operator' } } },
    ]);
  });

  test('run again, it changes nothing', async () => {
    const again = await cli('secrets', 'rotate', 'webhooks');
    expect(again).toMatchObject(done);
    expect(again.stdout).toContain('no other one was begun');
  });
});

describe('with the key in a file', () => {
  async function begin() {
    const service = await startTestService(openLoopback);
    const client = service.as((await service.createKey('clinic', ['write', 'webhooks'])).key);
    const { secret } = await createWebhook(client);
    const { dataDir } = service.config;
    const file = (end = '') => join(dataDir, `webhook-secrets-key${end}`);
    const rotate = (...args: string[]) =>
      runCli(['secrets', 'rotate', 'webhooks', ...args], { env: { DATA_DIR: dataDir, ...openLoopback } });
    const events = async (type: string) =>
      (await readAll(service.eventLog)).filter((one) => one.type === type);
    return { service, secret, file, rotate, events };
  }

  test('the key before stays beside it for a day, in which it is not changed again unless that is forced', async () => {
    const { service, secret, file, rotate, events } = await begin();
    const old = readFileSync(file());
    expect(await rotate()).toMatchObject(done);
    const now = readFileSync(file());
    expect(readFileSync(file('.previous'))).toEqual(old);
    expect(existsSync(file('.next'))).toBe(false);
    const refused = await rotate();
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('--force changes the key all the same');
    expect(await rotate('--force')).toMatchObject(done);
    expect(readFileSync(file('.previous'))).toEqual(now);
    const sealed = await events('WebhookSecretsSealed');
    expect(sealed).toHaveLength(2);
    expect(secretsOf(sealed[1] as RecordedEvent, readFileSync(file()))).toEqual([secret]);
    await service.stop();
  });

  test('one that was cut off once the log knew of it is brought to its end, with all secrets', async () => {
    const { service, secret, file, rotate, events } = await begin();
    copyFileSync(file(), file('.old'));
    expect(await rotate()).toMatchObject(done);
    const now = readFileSync(file());
    const made = await createWebhook(service.as((await service.createKey('clinic', ['webhooks'])).key));
    renameSync(file(), file('.next'));
    renameSync(file('.old'), file());
    expect(await rotate()).toMatchObject(done);
    expect(readFileSync(file())).toEqual(now);
    expect(await events('KeyRotated')).toHaveLength(1);
    expect((await events('WebhookSecretsSealed')).map((event) => secretsOf(event, now))).toEqual([[secret]]);
    expect(made.secret).toMatch(/^whsec_/);
    await service.stop();
  });
});
