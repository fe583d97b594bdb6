import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CreatedKey } from '../../src/modules/auth/keyManager.ts';
import { runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, type TestService } from '../support/service.ts';
import {
  createWebhook,
  Delivery,
  HookEndpoint,
  hookUrl,
  openLoopback,
  showWebhook,
  webhooksPath,
} from '../support/webhooks.ts';

/** So many tries that none is the last. */
const forEver = Array.from({ length: 10_000 }, () => 50);

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ ROLES: 'api,projector', ...openLoopback });
  });
  afterAll(() => service.stop());

  function cli(...args: string[]) {
    const { config } = service;
    return runCli(args, { env: { ...storesOf(config), DATA_DIR: config.dataDir } });
  }

  describe('a deactivated workspace', () => {
    let delivery: Delivery;
    const endpoints: HookEndpoint[] = [];
    const made: [Client, string][] = [];
    beforeAll(async () => {
      delivery = await Delivery.start(service, { schedule: forEver });
    });
    afterEach(async () => {
      for (const endpoint of endpoints.splice(0)) await endpoint.down();
      // The next test's delivery is not to deliver these.
      for (const [client, id] of made.splice(0)) await client.delete(`${webhooksPath}/${id}`);
    });
    afterAll(() => delivery.stop());

    /** A workspace with a webhook, and its endpoint. */
    async function open(label: string) {
      const { key } = await service.createKey(label, ['write', 'webhooks', 'events']);
      const client = service.as(key);
      const endpoint = await HookEndpoint.open();
      endpoints.push(endpoint);
      const settings = { url: endpoint.url, payload: 'full', start: 'beginning' };
      const { id } = await createWebhook(client, settings);
      made.push([client, id]);
      const write = async () =>
        expect((await client.post('/integration/payers', samples.payer())).status).toBe(200);
      return { client, endpoint, id, write };
    }

    test('sends nothing, not by replay either, and goes on where it stopped once it is active', async () => {
      const workspace = service.workspaceId('stopped');
      const stopped = await open('stopped');
      const other = await open('running');
      /** A message to the other workspace's webhook comes, and none to the one that is stopped. */
      const othersAlone = async () => {
        const [before, othersBefore] = [stopped.endpoint.received.length, other.endpoint.accepted.length];
        await other.write();
        await eventually(() => expect(other.endpoint.accepted.length).toBe(othersBefore + 1));
        expect(stopped.endpoint.received).toHaveLength(before);
      };
      stopped.endpoint.answer = () => 500;
      await stopped.write();
      await eventually(() => expect(stopped.endpoint.received.length).toBeGreaterThan(2));
      const deactivated = await cli('workspaces', 'deactivate', workspace);
      expect(deactivated).toMatchObject({ code: 0, stderr: '' });
      expect(deactivated.stdout).toContain('its webhooks send nothing');
      const silent = async () => {
        for (let round = 0; round < 10; round++) await othersAlone();
      };
      // Who sends follows the change within a quarter of a second; then it stays so.
      await eventually(silent);
      await silent();

      const appended = await appendedBy(service, async () => {
        for (const asked of [
          ['replay', stopped.id, '--after', '0'],
          ['ping', stopped.id],
        ]) {
          const result = await cli('webhooks', ...asked, '--workspace', workspace);
          expect(result).toMatchObject({
            code: 1,
            stderr: 'The workspace is deactivated; activate it first.\n',
          });
        }
      });
      expect(appended).toEqual([]);
      const { stdout } = await cli('webhooks', 'list', '--workspace', workspace);
      expect(stdout).toContain(`Nothing is sent: workspace ${workspace} is deactivated.`);
      await othersAlone();

      stopped.endpoint.answer = () => 200;
      await service.keys.setWorkspaceState(workspace, 'active');
      await eventually(() => expect(stopped.endpoint.accepted).toHaveLength(1));
    });
  });

  describe('a webhook', () => {
    test('shows who made it: the key, which keeps its name when it is deleted', async () => {
      const { id, name, key } = await service.createKey('clinic', ['webhooks']);
      const created_by = { type: 'api_key', id, name };
      const client = service.as(key);
      const made = await createWebhook(client);
      expect(made).toMatchObject({ created_by });
      const listed = await client.get(`${webhooksPath}?limit=100`);
      expect(listed.body.items).toContainEqual(expect.objectContaining({ id: made.id, created_by }));
      const workspace = service.workspaceId('clinic');
      const { stdout } = await cli('webhooks', 'list', '--workspace', workspace);
      expect(stdout).toMatch(/ {2}MADE BY {2,}URL$/m);
      expect(stdout).toMatch(new RegExp(`^${made.id} .* ${id} `, 'm'));
      await service.keys.setKeyState(id, 'deleted');
      const other = service.as((await service.createKey('clinic', ['webhooks'])).key);
      expect(await showWebhook(other, made.id)).toMatchObject({ created_by });
    });
  });

  describe('deleting a key', () => {
    let reader: Client;
    beforeAll(async () => {
      reader = service.as((await service.createKey('keys', ['webhooks', 'events'])).key);
    });
    const keyOf = () => service.createKey('keys', ['webhooks', 'events']);
    const make = async ({ key }: Pick<CreatedKey, 'key'>) => {
      const url = hookUrl();
      const { id } = await createWebhook(service.as(key), { url, payload: 'full' });
      return { id, url };
    };
    const stateOf = async (id: string) => {
      const { state, disabled_reason } = await showWebhook(reader, id);
      return [state, disabled_reason];
    };

    test('names the webhooks that were made with it, and disables them; again, it does nothing', async () => {
      const key = await keyOf();
      const [one, two] = [await make(key), await make(key)];
      const other = await make(await keyOf());
      const events = await changesBy(service, async () => {
        const { code, stdout, stderr } = await cli('keys', 'delete', key.id);
        expect([code, stderr]).toEqual([0, '']);
        expect(stdout).toContain(`Key ${key.id} is permanently deleted.`);
        expect(stdout).toContain('Its webhooks are disabled, and send nothing:');
        for (const { id, url } of [one, two]) expect(stdout).toMatch(new RegExp(`^${id} .*${url}$`, 'm'));
        expect(stdout).not.toContain(other.id);
        expect(stdout).toContain(`chartledger webhooks set ${one.id} --workspace `);
        const again = await cli('keys', 'delete', key.id);
        expect(again).toMatchObject({ code: 0, stdout: `Key ${key.id} is permanently deleted.\n` });
      });
      const reason = 'key_deleted';
      expect(events.map(({ type, data }) => [type, data])).toEqual([
        ['ApiKeyDeleted', { key_id: key.id }],
        ['WebhookDisabled', { webhook_id: one.id, reason }],
        ['WebhookDisabled', { webhook_id: two.id, reason }],
      ]);
      for (const { metadata } of events) expect(metadata.principal.type).toBe('operator');
      expect(await stateOf(one.id)).toEqual(['disabled', reason]);
      expect(await stateOf(other.id)).toEqual(['enabled', null]);
    });

    test('keeps them when it is told to, and names them', async () => {
      const key = await keyOf();
      const made = await make(key);
      const events = await changesBy(service, async () => {
        const { stdout } = await cli('keys', 'delete', key.id, '--keep-webhooks');
        expect(stdout).toContain('Its webhooks go on sending:');
        expect(stdout).toContain(made.url);
      });
      expect(events.map(({ type }) => type)).toEqual(['ApiKeyDeleted']);
      expect(await stateOf(made.id)).toEqual(['enabled', null]);
    });

    test('disables those of the keys whose place it took, too', async () => {
      const first = await keyOf();
      const made = await make(first);
      const second = await service.keys.rotateKey(first.id, 0);
      const events = await changesBy(service, () => cli('keys', 'delete', second.id));
      expect(events.map(({ type }) => type)).toEqual(['ApiKeyDeleted', 'WebhookDisabled']);
      expect(await stateOf(made.id)).toEqual(['disabled', 'key_deleted']);
    });
  });
});
