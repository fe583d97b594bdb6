import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { BackupFolder } from '../support/files.ts';
import { samples } from '../support/samples.ts';
import { changesBy, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const send = async (to: TestService, payers: number) => {
  for (let sent = 0; sent < payers; sent++)
    expect((await to.post('/integration/payers', samples.payer())).status).toBe(200);
};

test('a log that was put back and has grown since is not mixed with what a backup holds of the lost one', async () => {
  await send(service, 3);
  const folder = new BackupFolder(service.config);
  await folder.take();
  const dataDir = join(temporaryFolder(), 'data');
  await service.restart(() => cpSync(service.config.dataDir, dataDir, { recursive: true }));
  await send(service, 3);
  expect(await folder.take()).toMatchObject({ code: 0, stderr: '' });

  const again = await startTestService({ DATA_DIR: dataDir });
  const refused = {
    code: 1,
    stderr: `The backup in ${folder.path} holds events that the event log lost when it was reset to an earlier state. Start a new one in another place.\n`,
  };
  for (const payers of [0, 20]) {
    await send(again, payers);
    const taking = changesBy(again, async () => {
      expect(await new BackupFolder(again.config, folder.path).take()).toMatchObject(refused);
    });
    expect(await taking).toEqual([]);
  }
  await again.stop();
  expect(await folder.verify()).toMatchObject({ code: 0, stderr: '' });
  expect(await folder.restore()).toMatchObject({ code: 0, stderr: '' });
  expect(await folder.take()).toMatchObject({ code: 0, stderr: '' });
});
