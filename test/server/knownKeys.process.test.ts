import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateSigningKey } from '../../src/modules/integrity/signing.ts';
import { runCli, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createWebhook, HookEndpoint, openLoopback, showWebhook, webhooksPath } from '../support/webhooks.ts';

const LONG_MS = 180_000;
let folder: string;
let running: TestService | undefined;
let endpoint: HookEndpoint;
beforeEach(async () => {
  folder = temporaryFolder();
  endpoint = await HookEndpoint.open();
});
afterEach(async () => {
  await stop();
  await endpoint.down();
});

const KEY_FILE = 'webhook-secrets-key';
const file = (name: string) => join(folder, name);
const settings = (env: Record<string, string> = {}) => ({ DATA_DIR: folder, ...openLoopback, ...env });

async function start(env: Record<string, string> = {}): Promise<TestService> {
  running = await startTestService(settings(env));
  return running;
}

async function stop(): Promise<void> {
  await running?.stop();
  running = undefined;
}

/** A service with a webhook, to which a first message came. */
async function withWebhook(): Promise<{ key: string; id: string }> {
  const service = await start();
  const { key } = await service.createKey('clinic', ['write', 'webhooks']);
  const client = service.as(key);
  const { id } = await createWebhook(client, { url: endpoint.url });
  await client.post('/integration/payers', samples.payer());
  await eventually(() => expect(endpoint.accepted).toHaveLength(1));
  await stop();
  return { key, id };
}

const losses: [string, () => void, RegExp][] = [
  ['gone', () => rmSync(file(KEY_FILE)), /WEBHOOK_SECRETS_KEY: there is no key in \S+webhook-secrets-key/],
  [
    'another one',
    () => writeFileSync(file(KEY_FILE), randomBytes(32)),
    /WEBHOOK_SECRETS_KEY: the key in \S+webhook-secrets-key \(\w{16}\) is not the one that the event log knows/,
  ],
];
test.each(losses)(
  'with a key that is %s it does not start, and says which setting is wrong and what it means',
  async (_what, lose, named) => {
    const { key, id } = await withWebhook();
    lose();
    const { code, stdout, stderr } = await new ServiceProcess(settings()).exit();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(named);
    expect(stderr).toContain('the secrets of webhooks cannot be opened');
    expect(stderr).toContain('ALLOW_OTHER_KEYS=true');
    expect(stderr.trim().split('\n')).toHaveLength(1);

    await start({ ALLOW_OTHER_KEYS: 'true' });
    await stop();
    const client = (await start()).as(key);
    await client.post('/integration/payers', samples.payer());
    await eventually(async () => {
      expect(await showWebhook(client, id)).toMatchObject({
        state: 'enabled',
        delivery: { pending: 1, problem: 'secret_unreadable' },
      });
    }, LONG_MS);
    expect(endpoint.accepted).toHaveLength(1);
    expect((await client.post(`${webhooksPath}/${id}/secret/rotate`, {})).status).toBe(200);
    await eventually(() => expect(endpoint.accepted).toHaveLength(2), LONG_MS);
    await eventually(async () => {
      expect((await showWebhook(client, id)).delivery).toMatchObject({ pending: 0, problem: null });
    });
  },
  LONG_MS,
);

describe('the signing key', () => {
  const cli = (...args: string[]) => runCli(args, { env: { DATA_DIR: folder } });
  const saved = () => readFileSync(file('signing-key'));

  /** Saves a head, and returns what comes of verifying it at once. */
  async function verifiedHead() {
    expect(await cli('verify', '--workspace', 'clinic', '--save-head', file('head.json'))).toMatchObject({
      code: expect.toBeOneOf([0, 3]),
    });
    return cli('verify', '--workspace', 'clinic', '--head', file('head.json'));
  }

  test(
    'if it is lost, is made anew by a start that accepts other keys, and what it signs verifies',
    async () => {
      expect(await cli('workspaces', 'create', 'clinic', '--init')).toMatchObject({ code: 0 });
      expect(await verifiedHead()).toMatchObject({ code: 0 });
      rmSync(file('signing-key'));
      await start();
      await stop();
      expect(await cli('secrets', 'show', 'signing')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('SIGNING_KEY: there is no key in'),
      });
      await start({ ALLOW_OTHER_KEYS: 'true' });
      await stop();
      expect(await verifiedHead()).toMatchObject({ code: 0, stderr: '' });
    },
    LONG_MS,
  );

  test(
    'does not come back after a rotation: nothing that it signed would verify',
    async () => {
      expect(await cli('workspaces', 'create', 'clinic', '--init')).toMatchObject({ code: 0 });
      expect(await cli('secrets', 'show', 'signing')).toMatchObject({ code: 0 });
      const before = saved();
      expect(await cli('secrets', 'rotate', 'signing')).toMatchObject({ code: 0 });
      writeFileSync(file('signing-key'), before);
      await expect(start({ ALLOW_OTHER_KEYS: 'true' })).rejects.toThrow(
        /SIGNING_KEY: the key in \S+ was replaced by a rotation.+Put a new one/,
      );
      writeFileSync(file('signing-key'), generateSigningKey());
      await start({ ALLOW_OTHER_KEYS: 'true' });
      await stop();
      expect(await verifiedHead()).toMatchObject({ code: 0, stderr: '' });
    },
    LONG_MS,
  );
});
