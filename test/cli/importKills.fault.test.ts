import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordsModel } from '../../projections/records.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { openReadModels } from '../../src/server/openStorage.ts';

import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { allRows, Follower, rebuiltRows } from '../support/log.ts';
import { type SpecKind, samples } from '../support/samples.ts';
import { withOwnServers } from '../support/servers.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';

const PATIENTS = 150;
const PAYERS = 10;
const ENCOUNTERS = 740;
/** Events after which a server is killed: the event log's twice, and then MongoDB's twice. */
const KILLS = [100, 300, 500, 750];
const LONG_MS = 240_000;

/** Records of an import, each once, those referred to first. */
function sampleRecords(): { kind: SpecKind; record: { id: string } }[] {
  const payers = Array.from({ length: PAYERS }, samples.payer);
  const patients = Array.from({ length: PATIENTS }, (_, n) => ({
    ...samples.patient(),
    primary_insurance: { payer_id: payers[n % PAYERS]?.id },
  }));
  const encounters = Array.from({ length: ENCOUNTERS }, (_, n) =>
    samples.encounter(patients[n % PATIENTS]?.id ?? ''),
  );
  return [
    ...payers.map((record) => ({ kind: 'payer' as const, record })),
    ...patients.map((record) => ({ kind: 'patient' as const, record })),
    ...encounters.map((record) => ({ kind: 'encounter' as const, record })),
  ];
}

withOwnServers('an import during which servers are killed', (servers) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await servers.start());
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await servers.remove();
  });

  const records = sampleRecords();

  test(
    'nothing acknowledged is lost, nothing is doubled, and the read models equal a rebuild',
    async () => {
      const folder = temporaryFolder();
      const path = join(folder, 'records.ndjson');
      writeFileSync(path, records.map((line) => JSON.stringify(line)).join('\n'));
      const progress = new Follower(service.eventLog, { after: await service.eventLog.head() });
      const args = ['import', path, '--format', 'ndjson', '--url', service.url, '--json'];
      const importing = spawnCli(args, { cwd: folder, env: { CHARTLEDGER_API_KEY: service.key as string } });
      for (const [index, count] of KILLS.entries()) {
        await eventually(() => expect(progress.events.length).toBeGreaterThan(count), LONG_MS);
        const server = index < KILLS.length / 2 ? servers.eventLog : servers.database;
        await server.kill();
        await server.start();
      }
      const { code, stdout } = await importing;
      await progress.stop();
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({
        code: 0,
        accepted: records.length,
        rejected: 0,
      });

      const events = (await readAll(service.eventLog)).filter(({ type }) => type.endsWith('Upserted'));
      expect(events).toHaveLength(records.length);
      await expectRecords(events);
      await expectRowsOfRebuild();
    },
    LONG_MS,
  );

  /** Every record is on the log once, as it was sent, and read as such. */
  async function expectRecords(events: RecordedEvent[]) {
    const streams = new Map<string, RecordedEvent[]>();
    for (const event of events) streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
    expect(streams.size).toBe(records.length);
    for (const { kind, record } of records) {
      const own = streams.get(recordStream(service.workspaceId('clinic'), kind, record.id)) ?? [];
      expect(own.map(({ revision, data }) => ({ revision, data }))).toEqual([{ revision: 0, data: record }]);
      const path = `/integration/${catalogEntry(kind).plural}/${encodeURIComponent(record.id)}`;
      const { status, body } = await service.get(path);
      expect({ status, version: body.version }).toEqual({ status: 200, version: 1 });
    }
  }

  async function expectRowsOfRebuild() {
    await eventually(async () => expect((await service.get('/integration/encounters')).status).toBe(200));
    const readModels = await openReadModels(servers.database.url);
    const live = await allRows(service.eventLog, readModels);
    await readModels.close();
    expect(live[recordsModel]?.rows.size).toBe(records.length);
    expect(live).toEqual(await rebuiltRows(service.eventLog));
  }
});
