import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import { runCli, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { readAll, type TestService } from '../support/service.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const LONG_MS = 60_000;

onEmbeddedEngines((start) => {
  const ndjson = { accept: 'application/x-ndjson' };
  let service: TestService;
  let key: string;
  let endpoint: HookEndpoint;
  let before: CloudEvent[];
  let live: Promise<string>;
  beforeAll(async () => {
    const keys = [randomBytes(32), randomBytes(32)].map((one) => one.toString('base64')).join(',');
    endpoint = await HookEndpoint.open();
    service = await start({ DEIDENTIFICATION_KEY: keys, ...openLoopback });
    const hooks = await service.createKey('clinic', ['events:deidentified', 'webhooks']);
    await createWebhook(service.as(hooks.key), { url: endpoint.url, payload: 'deidentified' });
    key = hooks.key;
    const patient = samples.patient();
    await service.post('/integration/patients', patient);
    await service.post('/integration/encounters', samples.encounter(patient.id));
    before = await read('/events?after=0');
    const headers = { 'x-api-key': key, accept: 'text/event-stream' };
    live = fetch(`${service.url}/events?after=0`, { headers }).then((answer) => answer.text());
    await eventually(() => expect(endpoint.accepted.length).toBeGreaterThanOrEqual(2));
    const rotated = await runCli(['secrets', 'rotate', 'pseudonyms'], { env: storesOf(service.config) });
    expect(rotated).toMatchObject({ code: 0, stderr: '' });
    expect(rotated.stdout).toContain('are of epoch 2 now');
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await endpoint.down();
  });

  async function read(path: string): Promise<CloudEvent[]> {
    const { status, text } = await service.as(key).get(path, ndjson);
    expect(status).toBe(200);
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  /** All events, once they are of the new epoch. */
  const readAgain = () =>
    eventually(async () => {
      const events = await read('/events?after=0');
      expect(new Set(events.map(({ pseudonymepoch }) => pseudonymepoch))).toEqual(new Set([2]));
      return events;
    });

  test('events that are read again are all of the new epoch, say so, and join with each other alone', async () => {
    const after = await readAgain();
    expect(before.map(({ pseudonymepoch }) => pseudonymepoch)).toEqual(before.map(() => undefined));
    expect(after.map(({ sequence }) => sequence).slice(0, before.length)).toEqual(
      before.map(({ sequence }) => sequence),
    );
    const ids = (events: CloudEvent[]) => events.flatMap(({ id, subject, source }) => [id, subject, source]);
    expect(ids(after).filter((id) => ids(before).includes(id) && id !== 'readiness')).toEqual([]);
    for (const events of [before, after]) {
      const of = (kind: string) => events.find(({ subject }) => subject.startsWith(`${kind}/`)) as CloudEvent;
      expect(of('encounter').data.sent.patient_id).toBe(of('patient').data.sent.id);
    }
  });

  test(
    'who reads live is ended, to go on with the new epoch',
    async () => {
      expect(await live).toContain('data: {');
      expect(await live).not.toContain('pseudonymepoch');
    },
    LONG_MS,
  );

  test('records of a snapshot and messages of webhooks name the epoch as well', async () => {
    await readAgain();
    const { text } = await service.as(key).get('/integration/snapshot?kind=patient', ndjson);
    expect(
      text
        .trim()
        .split('\n')
        .slice(1, -1)
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ pseudonymepoch: 2 }]);
    // The process that delivers learns of the new key by itself, perhaps a moment after the one that answers here.
    await eventually(async () => {
      const sentBefore = endpoint.accepted.length;
      await service.post('/integration/payers', samples.payer());
      const sent = await eventually(() => {
        const type = 'chartledger.payer.upserted.v1';
        const found = endpoint.accepted.slice(sentBefore).find((message) => message.type === type);
        expect(found).toBeDefined();
        return found;
      });
      expect(JSON.parse(sent?.body ?? '')).toMatchObject({ pseudonymepoch: 2 });
    });
  });

  test('the log tells who began it, and its audit trail', async () => {
    const rotations = (await readAll(service.eventLog)).filter(({ type }) => type === 'KeyRotated');
    expect(rotations).toMatchObject([
      {
        data: { setting: 'DEIDENTIFICATION_KEY' },
        metadata: { workspace: '*', principal: { type: 'operator' } },
      },
    ]);
    await eventually(async () => {
      const audit = await runCli(['audit', '--installation', '--format', 'json'], {
        env: storesOf(service.config),
      });
      expect(audit.stdout + audit.stderr).toContain('KeyRotated');
    });
  });
});
