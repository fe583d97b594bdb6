import { randomBytes } from 'node:crypto';
import { Storage } from '@google-cloud/storage';
import { afterAll, describe, expect, test } from 'vitest';
import { GcsBackupTarget } from '../../src/storage/engines/gcs/targets.ts';
import { BackupFolder } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pdf, samples } from '../support/samples.ts';
import { gcsBucket, googleCloudStorage } from '../support/servers.ts';
import { startTestService } from '../support/service.ts';

import { backupTargetContract } from './contracts/backupTarget.ts';

const server = await googleCloudStorage();
const root = `chartledger-backups-${randomBytes(4).toString('hex')}`;
const endpoint = server.url ?? '';
const at = (bucket: string, prefix: string) =>
  `gs://${bucket}/${root}/${prefix}?endpoint=${encodeURIComponent(endpoint)}`;

(server.url ? describe : describe.skip)('GcsBackupTarget', () => {
  const storage = new Storage({ apiEndpoint: endpoint, projectId: 'test', useAuthWithCustomEndpoint: false });
  const bucket = storage.bucket(gcsBucket);
  afterAll(() => bucket.deleteFiles({ prefix: root, force: true }));

  backupTargetContract({
    open: () => new GcsBackupTarget(at(gcsBucket, 'a%20b')),
    openAway: () => new GcsBackupTarget(at('not-there', 'a')),
  });

  test('a backup in a bucket is taken, brought up to date, verified and restored', async () => {
    const service = await startTestService();
    const encounter = await createEncounter(service);
    const document_id = phi('document');
    const content = pdf();
    await service.upload(documentsPath(encounter), documentForm({ document_id, content }));
    const backup = new BackupFolder(service.config, at(gcsBucket, 'backup'));
    expect(await backup.take()).toMatchObject({ code: 0, stderr: '' });
    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    const again = await backup.take();
    expect(again).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^\d new events?, 0 new/),
    });
    expect(await backup.verify()).toMatchObject({ code: 0, stderr: '' });
    const { dataDir, ...restored } = await backup.restore();
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    await service.stop();
    const other = await startTestService({ DATA_DIR: dataDir });
    const client = other.as(service.key);
    expect((await client.get(`/integration/payers/${payer.id}`)).body.record.name).toBe(payer.name);
    expect((await client.get(documentsPath(encounter, document_id))).bytes).toEqual(content);
    await other.stop();
    await bucket.deleteFiles({ prefix: `${root}/backup/log/` });
    expect((await backup.verify()).stderr).toMatch(
      /^The file log\/\S+ of the backup in gs:\S+ is missing\.\n/,
    );
  });
});
