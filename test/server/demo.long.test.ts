import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoRequests } from '../../src/cli/commands/demoData.ts';
import { runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, newEvents, type TestService } from '../support/service.ts';

const LONG_MS = 240_000;

test('what is made up is the same for the same seed, and another for another', () => {
  expect(demoRequests(7)).toEqual(demoRequests(7));
  expect(demoRequests(7)).not.toEqual(demoRequests(8));
});

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    // The demonstration is not held up by the limit of an address.
    service = await start({ RATE_LIMIT_PER_MINUTE: '100' });
  });
  afterAll(() => service.stop());

  const demo = (workspace: string, ...more: string[]) =>
    runCli(['demo', '--workspace', workspace, '--url', service.url, ...more], {
      env: storesOf(service.config),
    });

  test(
    'a sandbox is filled with patients, encounters, history, documents, refusals and a webhook',
    async () => {
      const workspace = service.workspaceId('demo');
      let client: Client | undefined;
      const events = await newEvents(service, async () => {
        const done = await demo(workspace, '--seed', '7');
        const [key] = /clk_test_\w{38}/.exec(done.stdout) ?? [''];
        notePhi(key);
        expect(done.code).toBe(0);
        client = service.as(key);
      });
      const count = (wanted: string) => events.filter(({ type }) => type === wanted).length;
      expect([count('WorkspaceCreated'), count('ApiKeyCreated'), count('WebhookCreated')]).toEqual([1, 1, 1]);
      const refused = events.filter(({ data }) => data.action === 'request.refused');
      expect(refused.map(({ data }) => data.code).toSorted()).toEqual([
        ...Array(3).fill('reference_not_found'),
        ...Array(3).fill('validation_failed'),
      ]);
      expect(count('PatientUpserted')).toBeGreaterThan(230);
      expect(count('EncounterUpserted')).toBeGreaterThan(400);
      expect(count('DocumentUploaded')).toBeGreaterThan(40);
      const patients = await client?.get('/integration/patients?limit=1000');
      expect(patients?.body.items).toHaveLength(200);
      expect(patients?.body.items.some(({ version }: { version: number }) => version > 1)).toBe(true);
      const webhooks = await client?.get('/integration/webhooks');
      expect(webhooks?.body.items).toEqual([expect.objectContaining({ state: 'disabled' })]);
    },
    LONG_MS,
  );

  test('another workspace than a sandbox is refused, and nothing is sent', async () => {
    const workspace = service.workspaceId('clinic');
    const events = await changesBy(service, async () => {
      expect(await demo(workspace)).toEqual({
        code: 1,
        stdout: '',
        stderr: `Workspace ${workspace} is not a sandbox. Made-up records do not belong there.\n`,
      });
    });
    expect(events).toEqual([]);
  });
});
