import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { type SentPatient, sendWhole } from '../support/fhir.ts';
import { BackupFolder } from '../support/files.ts';
import { configureSources } from '../support/messages.ts';
import { documentsPath } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;

onEveryEngine((start) => {
  let service: TestService;
  let kept: SentPatient;
  let erased: SentPatient;
  beforeAll(async () => {
    service = await start();
    const key = await service.createKey('clinic', ['write', 'read']);
    await configureSources(service.eventLog, service.workspaceId('clinic'), key.id);
    kept = await sendWhole(service.as(key.key), 0);
    erased = await sendWhole(service.as(key.key), 1);
  }, LONG_MS);
  afterAll(() => service.stop());

  const cli = (args: string[], { config }: TestService) =>
    runCli([...args, '--workspace', service.workspaceId('clinic')], {
      env: { ...storesOf(config), DATA_DIR: config.dataDir },
    });

  test(
    'a backup of a service on any engines is restored on the embedded ones, as it was, without what was erased',
    async () => {
      const head = join(temporaryFolder(), 'head.json');
      await eventually(async () =>
        expect(await cli(['verify', '--save-head', head], service)).toMatchObject({ code: 0 }),
      );
      const backup = new BackupFolder(service.config);
      expect(await backup.take()).toMatchObject({ code: 0, stderr: '' });
      expect(backup.text()).toContain(erased.values[1]);
      const what = ['patient', erased.patientId, '--with-encounters', '--reason', 'Request 2026-117'];
      expect(await cli(['records', 'erase', ...what], service)).toMatchObject({ code: 0 });
      const taken = await backup.take();
      expect(taken).toMatchObject({
        code: 0,
        stderr: '',
        stdout: expect.stringContaining('as erased since'),
      });
      expect(erased.values.filter((value) => backup.text().includes(value))).toEqual([]);
      expect(await backup.verify()).toMatchObject({ code: 0, stderr: '' });
      const end = Number(/up to position (\d+)/.exec(taken.stdout)?.[1]);
      const before = (await readAll(service.eventLog)).filter(({ position }) => position <= end);

      const { dataDir, ...restored } = await backup.restore();
      expect(restored).toMatchObject({ code: 0, stderr: '' });
      // Keys that are settings are not written into files.
      const { EVENT_LOG_URL, READ_MODEL_URL, STATE_URL, DOCUMENTS_URL, ...keys } = storesOf(service.config);
      const again = await startTestService({ DATA_DIR: dataDir, ...keys });
      const plain = (events: typeof before) => events.map(({ dataText, metadataText, ...event }) => event);
      const after = (await readAll(again.eventLog)).slice(0, before.length);
      expect(plain(after)).toEqual(plain(before));
      const client = again.as(service.key);
      expect((await client.get(`/integration/patients/${erased.patientId}`)).status).toBe(410);
      const file = await client.get(documentsPath(kept.encounterId, kept.documentId));
      expect([file.status, file.text.includes(kept.values[3] as string)]).toEqual([200, true]);
      await eventually(async () =>
        expect(await cli(['verify', '--head', head, '--documents'], again)).toMatchObject({
          code: 0,
          stderr: '',
          stdout: expect.stringMatching(/ [1-9]\d* of them against the read model/),
        }),
      );
      await again.stop();
    },
    LONG_MS,
  );
});
