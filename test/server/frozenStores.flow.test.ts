import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventTypes } from '../../src/domain/events/upcasting.ts';
import { catalog } from '../../src/domain/records/catalog.ts';

import { runCli, spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type FrozenStore, frozenPaths, streamLines, thawStore } from '../support/files.ts';
import { documentsPath, pdf } from '../support/samples.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

describe.each(readdirSync('test/fixtures/stores'))('the store that release %s left', (release) => {
  const folder = temporaryFolder();
  let frozen: FrozenStore;
  let service: TestService;
  let client: Client;
  beforeAll(async () => {
    frozen = thawStore(release, folder);
    service = await startTestService({
      ...frozen.settings,
      DATA_DIR: folder,
      DOCUMENT_RETENTION_DAYS: '36500',
      ROLES: 'api,projector',
      METRICS_PORT: '0',
    });
    client = new Client(service.url, frozen.key);
  });
  afterAll(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const cli = (...args: string[]) => runCli(args, { env: { ...frozen.settings, DATA_DIR: folder } });

  test('has events of every type that there was, and all of them are still read', async () => {
    const records = catalog.map(({ eventType }) => eventType);
    expect([...eventTypes(), ...records, 'KeyAdopted']).toEqual(expect.arrayContaining(frozen.types));
    expect((await readAll(service.eventLog)).map(({ type }) => type)).toEqual(
      expect.arrayContaining(frozen.types),
    );
  });

  test('has its read models built anew, with every event', async () => {
    await eventually(async () => {
      const { status, projections } = await service.readiness();
      expect(status).toBe('ready');
      for (const projection of Object.values(projections))
        expect(projection).toMatchObject({ behind: 0, parked: 0 });
    }, LONG_MS);
  });

  test.each(frozenPaths)('answers all that it answered then: %s', async (path) => {
    const { status, body } = await client.get(path);
    expect(status).toBe(200);
    expect(body).toMatchObject(frozen.answers[path] as object);
  });

  test('gives the event stream that it gave, and the bytes of its documents', async () => {
    const answer = await client.get('/events?limit=1000', { accept: 'application/x-ndjson' });
    expect(streamLines(answer).slice(0, frozen.events.length)).toMatchObject(frozen.events);
    const { bytes } = await client.get(documentsPath('encounter-1', 'document-1'));
    expect(bytes).toEqual(pdf('second'));
  });

  test('keeps the message that it was sent, on the day it was received', async () => {
    const copy = temporaryFolder();
    const { settings, events } = thawStore(release, copy);
    const { time } = events.at(-1) as { time: string };
    const clock = join(copy, 'clock');
    writeFileSync(clock, String(Date.parse(time) - Date.now()));
    const { stdout } = await spawnCli(['messages', 'list', '--workspace', 'clinic'], {
      env: {
        ...settings,
        DATA_DIR: copy,
        NODE_OPTIONS: `--import=${pathToFileURL(resolve('test/support/processes/steppedClock.ts'))}`,
        STEPPED_CLOCK: clock,
      },
    });
    expect(stdout).toMatch(/ lab +accepted /);
    rmSync(copy, { recursive: true });
  });

  test('keeps its webhook', async () => {
    const { items } = (await client.get('/integration/webhooks')).body;
    expect(items).toMatchObject([{ url: 'https://billing.example.com/hooks', state: 'disabled' }]);
  });

  test.each(['clinic', '*'])(
    'holds against the head that was signed then: workspace %s',
    async (workspace) => {
      const head = join(folder, 'signed-head.json');
      writeFileSync(head, JSON.stringify(frozen.heads[workspace]));
      await eventually(async () => {
        const { code, stderr } = await cli('verify', '--workspace', workspace, '--head', head);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      }, LONG_MS);
    },
  );

  test('is written to where it ends', async () => {
    const after = await service.eventLog.head();
    const { version } = (await client.get('/integration/payers/payer-1')).body;
    const sent = await client.post('/integration/payers', { id: 'payer-1', name: 'Renamed' });
    expect(sent.body).toMatchObject({ success: true, version: version + 1 });
    const appended = (await readAll(service.eventLog, after)).filter(
      ({ stream }) => stream === 'clinic.payer-payer-1',
    );
    expect(appended.map(({ type, revision }) => [type, revision])).toEqual([['PayerUpserted', version]]);
  });
});
