import { readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliResult, spawnCli, storesOf } from '../support/cli.ts';
import { paths, samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  for (let sent = 0; sent < 50; sent += 1) await service.post(paths.patient, samples.patient());
});
afterAll(() => service.stop());

/** Runs `verify --records`; with the permissions that the files which it makes had. */
async function verifyRecords(): Promise<CliResult & { modes: string[] }> {
  const { dataDir } = service.config;
  const modes = new Set<string>();
  const watching = watch(dataDir, (_event, name) => {
    if (!name?.startsWith('verify-')) return;
    const stats = statSync(join(dataDir, name), { throwIfNoEntry: false });
    if (stats) modes.add((stats.mode & 0o777).toString(8));
  });
  const env = { ...storesOf(service.config), DATA_DIR: dataDir };
  const result = await spawnCli(['verify', '--records'], { env }).finally(() => watching.close());
  return { ...result, modes: [...modes] };
}

test('what it folds is in a file that only its user can read, and that is gone afterwards', async () => {
  expect(await verifyRecords()).toMatchObject({ code: 0, stderr: '', modes: ['600'] });
  expect(readdirSync(service.config.dataDir).filter((name) => name.startsWith('verify-'))).toEqual([]);
});
