import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TreeHead } from '../../src/modules/integrity/publicKeys.ts';
import { runCli, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { headNames } from '../support/log.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { startTestService } from '../support/service.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const PAYERS = '/integration/payers';
const LATER = 5;

test('stores that do not fit one another after a restore are told, with what comes of it', async () => {
  const [folder, heads] = [temporaryFolder(), temporaryFolder()];
  const headPauses = { everyMs: 50, retryMs: 50 };
  const service = await startTestService({ ...openLoopback, HEADS_TO: heads }, { headPauses });
  const { dataDir } = service.config;
  const clinic = service.workspaceId('clinic');
  const endpoint = await HookEndpoint.open();
  const key = await service.createKey('clinic', ['write', 'read', 'events', 'webhooks']);
  await createWebhook(service.as(key.key), { url: endpoint.url });
  const encounter = await createEncounter(service);
  const form = documentForm();
  expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
  const copyTo = (name: string) => cpSync(dataDir, join(folder, name), { recursive: true });
  await service.restart(() => copyTo('earlier'));
  const later = Array.from({ length: LATER }, () => samples.payer());
  for (const payer of later) expect((await service.post(PAYERS, payer)).status).toBe(200);
  await eventually(() =>
    expect(endpoint.accepted.map(({ subject }) => subject)).toContain(`payer/${later.at(-1)?.id}`),
  );
  await service.restart(() => copyTo('restored'));
  await service.stop();
  await endpoint.down();
  const last = headNames(heads, clinic).at(-1);
  const { size }: TreeHead = JSON.parse(readFileSync(join(heads, last ?? ''), 'utf8'));

  const restored = join(folder, 'restored');
  for (const end of ['', '-wal', '-shm']) {
    rmSync(join(restored, `events.db${end}`), { force: true });
    const [from, to] = ['earlier', 'restored'].map((name) => join(folder, name, `events.db${end}`));
    if (readdirSync(join(folder, 'earlier')).includes(`events.db${end}`)) cpSync(from ?? '', to ?? '');
  }
  const doctor = async (...options: string[]) => {
    const { stdout } = await runCli(['doctor', '--json', ...options], { env: { DATA_DIR: restored } });
    return JSON.parse(stdout) as { check: string; status: string; code?: string; message: string }[];
  };
  const found = await doctor('--documents');
  expect(found).toContainEqual(
    expect.objectContaining({ check: 'read_models', status: 'warn', code: 'beyond_the_log' }),
  );
  expect(found.filter(({ check }) => ['webhooks', 'documents', 'heads'].includes(check))).toEqual([
    expect.objectContaining({
      check: 'documents',
      status: 'ok',
      message: 'all 1 named in the log are present',
    }),
    {
      ...{ check: 'webhooks', status: 'warn', code: 'state_lost' },
      message: expect.stringContaining('repeat messages; none is skipped'),
    },
  ]);

  const again = await startTestService({ DATA_DIR: restored });
  const ofHeads = async () =>
    (await doctor()).filter(({ check, message }) => check === 'heads' && message.includes(clinic));
  await eventually(async () =>
    expect(await ofHeads()).toEqual([
      {
        ...{ check: 'heads', status: 'warn', code: 'head_beyond_the_log' },
        message: expect.stringContaining(`covers ${size} events, and the log has `),
      },
    ]),
  );
  const client = again.as(service.key);
  for (let n = 0; n < size; n += 1) expect((await client.post(PAYERS, samples.payer())).status).toBe(200);
  await eventually(async () =>
    expect(await ofHeads()).toMatchObject([{ status: 'fail', code: 'head_contradicted' }]),
  );
  const objects = join(restored, 'documents', 'objects');
  for (const name of readdirSync(objects)) rmSync(join(objects, name), { recursive: true });
  expect((await doctor('--documents')).filter(({ check }) => check === 'documents')).toEqual([
    {
      ...{ check: 'documents', status: 'fail', code: 'missing' },
      message: expect.stringMatching(
        /^Files of documents named in the log are missing: 1\. Their events are at positions \d+\./,
      ),
    },
  ]);
  await again.stop();
});
