import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BackupFolder, canMount, SmallDisk } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';

const MEGABYTE = 1_000_000;
const full = expect.stringMatching(/^\S+ cannot grow: its disk or quota is full\. [^\n]*\n$/);

describe.skipIf(!canMount())('a disk that is full', () => {
  let service: TestService;
  let encounter: string;
  let disk: SmallDisk;
  beforeAll(async () => {
    service = await startTestService();
    encounter = await createEncounter(service);
    disk = new SmallDisk('1m');
  });
  afterAll(async () => {
    disk.remove();
    await service.stop();
  });

  async function upload(): Promise<string> {
    const document_id = phi('document');
    const content = Buffer.concat([
      Buffer.from('%PDF-1.7 '),
      randomBytes(2 * MEGABYTE),
      Buffer.from('%%EOF'),
    ]);
    const { status } = await service.upload(documentsPath(encounter), documentForm({ document_id, content }));
    expect(status).toBe(200);
    return document_id;
  }

  test('leaves the backup as it was before; with room the next one is whole', async () => {
    const backup = new BackupFolder(service.config, join(disk.path, 'backup'));
    expect(await backup.take()).toMatchObject({ code: 0, stderr: '' });
    await upload();
    expect(await backup.take()).toMatchObject({ code: 1, stdout: '', stderr: full });
    expect(await backup.verify()).toMatchObject({ code: 0, stderr: '' });
    expect(await backup.restore()).toMatchObject({ code: 0, stderr: '' });
    disk.resize('8m');
    expect(await backup.take()).toMatchObject({ code: 0, stderr: '' });
    expect(await backup.verify()).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 file of documents and messages'),
    });
  });

  test('leaves a restore that is not served; with room it is run again', async () => {
    const backup = new BackupFolder(service.config);
    const document = await upload();
    expect(await backup.take()).toMatchObject({ code: 0, stderr: '' });
    const small = new SmallDisk('2m');
    const dataDir = join(small.path, 'data');
    expect(await backup.restore([], dataDir)).toMatchObject({ code: 1, stdout: '', stderr: full });
    const refusal = `The restore into ${dataDir} was not completed. Run it again: chartledger restore.`;
    await expect(startTestService({ DATA_DIR: dataDir })).rejects.toThrow(refusal);
    small.resize('64m');
    expect(await backup.restore([], dataDir)).toMatchObject({ code: 0, stderr: '' });
    const again = await startTestService({ DATA_DIR: dataDir });
    expect((await again.as(service.key).get(documentsPath(encounter, document))).status).toBe(200);
    await again.stop();
    small.remove();
  });
});
