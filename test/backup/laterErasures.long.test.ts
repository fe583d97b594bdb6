import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErasureNotice } from '../../src/modules/erasure/notices.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { type SentPatient, sendWhole } from '../support/fhir.ts';
import { BackupFolder, filesIn } from '../support/files.ts';
import { configureSources } from '../support/messages.ts';
import { documentsPath, samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const LONG_MS = 120_000;
const headPauses = { everyMs: 50, retryMs: 50 };

const noticesIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.startsWith('erasures.'))
    .toSorted();
const readNotice = (folder: string, name: string): ErasureNotice =>
  JSON.parse(readFileSync(join(folder, name), 'utf8'));

describe('a backup that is older than an erasure', () => {
  const outside = temporaryFolder();
  const heads = join(outside, 'heads');
  const head = join(outside, 'head.json');
  let service: TestService;
  let backup: BackupFolder;
  let endpoint: HookEndpoint;
  let kept: SentPatient;
  let erased: SentPatient;
  beforeAll(async () => {
    mkdirSync(heads);
    service = await startTestService({ ...openLoopback, HEADS_TO: heads }, { headPauses });
    const key = await service.createKey('clinic', ['write', 'read', 'events', 'webhooks']);
    const client = service.as(key.key);
    await configureSources(service.eventLog, service.workspaceId('clinic'), key.id);
    endpoint = await HookEndpoint.open();
    await createWebhook(client, { url: endpoint.url, start: 'beginning', payload: 'full' });
    kept = await sendWhole(client, 0);
    erased = await sendWhole(client, 1);
    await eventually(() =>
      expect(endpoint.accepted.map(({ subject }) => subject)).toContain(`patient/${erased.patientId}`),
    );
    expect(await verify('--save-head', head)).toMatchObject({ code: 0 });
    backup = new BackupFolder(service.config);
    expect(await backup.take()).toMatchObject({ code: 0, stderr: '' });
    await erase(erased.patientId);
    await service.post('/integration/payers', samples.payer());
    // A notice that says that nothing more was erased.
    await eventually(() =>
      expect(readNotice(heads, noticesIn(heads).at(-1) ?? '')).toMatchObject({ erasures: [] }),
    );
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await endpoint.down();
  });

  const env = () => ({ ...storesOf(service.config), DATA_DIR: service.config.dataDir });
  const workspace = () => ['--workspace', service.workspaceId('clinic')];
  const verify = (...args: string[]) => runCli(['verify', ...workspace(), ...args], { env: env() });
  /** Until a notice tells of all that goes with a patient. */
  async function erase(patientId: string): Promise<void> {
    const told = () => noticesIn(heads).flatMap((name) => readNotice(heads, name).erasures);
    const before = told().length;
    const what = ['patient', patientId, '--with-encounters', '--reason', 'Request 2026-117'];
    expect(await runCli(['records', 'erase', ...what, ...workspace()], { env: env() })).toMatchObject({
      code: 0,
    });
    await eventually(() => expect(told().length - before).toBe(4));
  }
  /** The notices in a folder of their own, which may be changed. */
  function copyOfNotices(): string {
    const copy = join(temporaryFolder(), 'heads');
    cpSync(heads, copy, { recursive: true });
    return copy;
  }
  const tellingOf = (folder: string) =>
    noticesIn(folder).filter((name) => readNotice(folder, name).erasures.length > 0) as [string];

  test(
    'is restored without what was erased since, in no file, and the log proves it',
    async () => {
      expect(backup.text()).toContain(erased.values[1]);
      const { dataDir, ...restored } = await backup.restore(['--erasures', heads]);
      expect(restored).toMatchObject({ code: 0, stderr: '' });
      expect(restored.stdout).toContain('Erased again, as notices of erasures say: 4 records and documents.');
      const hits = filesIn(dataDir).flatMap(([name, bytes]) =>
        erased.values.filter((value) => bytes.includes(value)).map((value) => [name, value]),
      );
      expect(hits).toEqual([]);
      const again = await startTestService({ ...openLoopback, DATA_DIR: dataDir });
      const client = again.as(service.key);
      for (const path of [
        `/integration/patients/${erased.patientId}`,
        `/integration/encounters/${erased.encounterId}`,
        documentsPath(erased.encounterId, erased.documentId),
      ])
        expect((await client.get(path)).status).toBe(410);
      const history = await client.get(`/integration/patients/${erased.patientId}/history`);
      expect(history.body.items).toMatchObject([
        {
          outcome: 'erased',
          reason: expect.stringMatching(/^It was erased before, at 20\S+Z, and was in an/),
        },
      ]);
      const [tombstone] = await service.eventLog.readStream(
        `${service.workspaceId('clinic')}.patient-${erased.patientId}`,
        { limit: 1 },
      );
      const [repeated] = await again.eventLog.readStream(tombstone?.stream ?? '', { limit: 1 });
      expect(repeated?.metadata.principal).toEqual(tombstone?.metadata.principal);
      expect(repeated?.data.erasure_id).toBe(tombstone?.data.erasure_id);
      const file = await client.get(documentsPath(kept.encounterId, kept.documentId));
      expect([file.status, file.text.includes(kept.values[3] as string)]).toEqual([200, true]);
      await eventually(async () =>
        expect(
          await runCli(['verify', ...workspace(), '--head', head, '--documents'], {
            env: { ...storesOf(again.config), DATA_DIR: dataDir },
          }),
        ).toMatchObject({
          code: 0,
          stderr: '',
          stdout: expect.stringContaining(`patient-${erased.patientId}`),
        }),
      );
      await again.stop();
    },
    LONG_MS,
  );

  test('is restored as it is without notices, and it is told what that means; they are made up for later', async () => {
    const { dataDir, ...restored } = await backup.restore();
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toMatch(/What was erased after 20\S+Z may be in it again: erase it before/);
    const again = await startTestService({ DATA_DIR: dataDir });
    const status = async () =>
      (await again.as(service.key).get(`/integration/patients/${erased.patientId}`)).status;
    expect(await status()).toBe(200);

    const repeat = (folder: string, ...options: string[]) =>
      runCli(['restore', 'erasures', folder, ...options], { env: { DATA_DIR: dataDir } });
    const spoilt = copyOfNotices();
    rmSync(join(spoilt, tellingOf(spoilt)[0]));
    expect(await repeat(spoilt)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('A notice of erasures is missing'),
    });
    expect(await status()).toBe(200);
    expect(await repeat(spoilt, '--allow-missing-erasures')).toMatchObject({ code: 0, stderr: '' });
    const done = await repeat(heads);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(
      /^Erased again, as notices of erasures say: \d records and documents\. The notices cover /,
    );
    await eventually(async () => expect(await status()).toBe(410));
    expect((await repeat(heads)).stdout).toContain(': 0 records and documents.');
    await eventually(() => {
      const hits = filesIn(dataDir).flatMap(([name, bytes]) =>
        erased.values.filter((value) => bytes.includes(value)).map((value) => [name, value]),
      );
      expect(hits).toEqual([]);
    });
    await again.stop();
  });

  test(
    'is not restored with notices that are missing, forged or of another log, unless that is asked for',
    async () => {
      const spoilt: [told: RegExp, spoil: (folder: string) => void][] = [
        [
          /A notice of erasures is missing in \S+: the one for positions \d+ to \d+\./,
          (folder) => rmSync(join(folder, tellingOf(folder)[0])),
        ],
        [
          /The notice \S+ in \S+ is not valid: its signature does not match/,
          (folder) => {
            const [name] = tellingOf(folder);
            writeFileSync(join(folder, name), JSON.stringify({ ...readNotice(folder, name), erasures: [] }));
          },
        ],
        [
          /The notice \S+ in \S+ is not valid: it belongs to another event log\./,
          (folder) => {
            const [name] = tellingOf(folder);
            const log = '0193c3a4-0000-7000-8000-000000000000';
            writeFileSync(
              join(folder, 'erasures.1.json'),
              JSON.stringify({ ...readNotice(folder, name), log }),
            );
          },
        ],
        [
          /The notice erasures\.2\.json in \S+ is not valid: it is not a notice of erasures\./,
          (folder) => writeFileSync(join(folder, 'erasures.2.json'), '{"type": '),
        ],
        [
          /No notices of erasures were found in /,
          (folder) => {
            for (const name of noticesIn(folder)) rmSync(join(folder, name));
          },
        ],
      ];
      for (const [told, spoil] of spoilt) {
        const folder = copyOfNotices();
        spoil(folder);
        const refused = await backup.restore(['--erasures', folder]);
        expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(told) });
        expect(() => readdirSync(refused.dataDir)).toThrow('ENOENT');
      }
      const folder = copyOfNotices();
      writeFileSync(join(folder, 'erasures.2.json'), '');
      const restored = await backup.restore(['--erasures', folder, '--allow-missing-erasures']);
      expect(restored).toMatchObject({ code: 0, stderr: '' });
      expect(restored.stdout).toContain('is not valid: it is not a notice of erasures.');
      expect(restored.stdout).toContain('4 records and documents');
    },
    LONG_MS,
  );

  test(
    'is restored without what was erased since, though the signing key was replaced in between',
    async () => {
      expect(await runCli(['secrets', 'rotate', 'signing'], { env: env() })).toMatchObject({ code: 0 });
      await erase(kept.patientId);
      const { dataDir, ...restored } = await backup.restore(['--erasures', heads]);
      expect(restored).toMatchObject({ code: 0, stderr: '' });
      expect(restored.stdout).toContain('8 records and documents.');
      const again = await startTestService({ ...openLoopback, DATA_DIR: dataDir });
      for (const { patientId } of [kept, erased])
        expect((await again.as(service.key).get(`/integration/patients/${patientId}`)).status).toBe(410);
      await again.stop();
    },
    LONG_MS,
  );
});
