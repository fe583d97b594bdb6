import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pathOf, paths, samples } from '../support/samples.ts';
import { startOnProduction, TestServer, testServerCommand } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;

// On SQLite: test/backup/fallingTimes.flow.test.ts and test/server/clockAhead.long.test.ts.
const command = testServerCommand();

(command ? describe : describe.skip)('a leader whose clock is an hour behind that of the one before', () => {
  let log: TestServer;
  let service: TestService;
  beforeAll(async () => {
    log = new TestServer(command ?? []);
    await log.start();
    service = await startOnProduction({ EVENT_LOG_URL: log.url });
  });
  afterAll(async () => {
    await service.stop();
    await log.remove();
  });

  const changeLeader = async (behindMs: number) => {
    await log.kill();
    await log.start(behindMs);
    await eventually(async () => expect((await service.get('/integration/payers/none')).status).toBe(404));
  };

  test('no version is older than the one before, wherever its time is told', async () => {
    const [city, other] = [phi('Omaha'), phi('Lincoln')];
    const payer = { ...samples.payer(), city };
    const path = pathOf('payer', payer.id);
    const encounter = await createEncounter(service);
    const document_id = phi('document');
    await service.upload(documentsPath(encounter), documentForm({ document_id }));
    await service.post(paths.payer, payer);
    const first = (await service.get(path)).body;
    await changeLeader(HOUR_MS);
    const stream = `${service.workspaceId('clinic')}.payer-${payer.id}`;
    const appended = await appendedBy(service, async () => {
      expect((await service.post(paths.payer, { ...payer, city: other })).body.version).toBe(2);
      await service.upload(documentsPath(encounter), documentForm({ document_id }));
    });
    expect(appended).toEqual([
      `clinic.payer-${payer.id}: PayerUpserted`,
      `clinic.document-${encodeURIComponent(encounter)}%2F${document_id}: DocumentUploaded`,
    ]);
    const [one, two] = await service.eventLog.readStream(stream, { limit: 2 });
    expect(Date.parse(two?.recordedAt ?? '')).toBeLessThan(Date.parse(one?.recordedAt ?? ''));

    const { updated_at } = first;
    expect((await service.get(path)).body).toMatchObject({ version: 2, created_at: updated_at, updated_at });
    const { items } = (await service.get(`${path}/history`)).body;
    const page = (await service.get(`${path}/history?limit=1`)).body.items;
    for (const { recorded_at } of [...items, ...page]) expect(recorded_at).toBe(updated_at);
    expect((await service.get(`${path}?as_of=${updated_at}`)).body.record.city).toBe(other);
    const between = new Date(Date.parse(updated_at) - HOUR_MS / 2).toISOString();
    expect((await service.get(`${path}?as_of=${between}`)).status).toBe(404);
    const listed = await eventually(async () => {
      const { body } = await service.get(`${paths.payer}?limit=1000`);
      const found = body.items.find(({ id }: { id: string }) => id === payer.id);
      expect(found.version).toBe(2);
      return found;
    });
    expect(listed.updated_at).toBe(updated_at);
    const [document] = (await service.get(documentsPath(encounter))).body.items;
    expect(document).toMatchObject({ version: 2 });
    expect(document.updated_at >= document.created_at).toBe(true);

    const { code, stdout, stderr } = await runCli(['verify', '--workspace', service.workspaceId('clinic')], {
      env: storesOf(service.config),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^Remark: Events whose times go backwards, as happens when a clock is set back or the leader changes: \d+\. The first: .+\n/,
    );
    await changeLeader(0);
  }, 60_000);
});
