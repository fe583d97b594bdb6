import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BackupFolder } from '../support/BackupFolder.ts';
import { createEncounter, documentForm, documentsPath } from '../support/documents.ts';
import { phi } from '../support/phi.ts';
import { pdf } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { storedFiles } from '../support/storedFiles.ts';

let service: TestService;
let encounter: string;
beforeAll(async () => {
  service = await startTestService();
  encounter = await createEncounter(service);
});
afterAll(() => service.stop());

test('the bytes of a document that the store has lost stay in the backup, and each run names them', async () => {
  const folder = new BackupFolder(service.config);
  const content = pdf();
  const document = phi('document');
  const form = documentForm({ document_id: document, content });
  expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
  await folder.take();
  const [lost = ''] = storedFiles(service.config).objects;
  rmSync(join(fileURLToPath(service.config.documentsUrl), 'objects', lost.slice(-2), lost));
  for (let run = 1; run <= 2; run++) {
    expect(await folder.take()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^The bytes of the document at position \d+ are not in the document store\.\n$/,
      ),
    });
  }
  expect(await folder.verify()).toMatchObject({ code: 0, stderr: '' });
  const { dataDir } = await folder.restore();
  const again = await startTestService({ DATA_DIR: dataDir });
  expect((await again.as(service.key).get(documentsPath(encounter, document))).bytes).toEqual(content);
  await again.stop();
  await service.delete(documentsPath(encounter, document));
  expect(await folder.take()).toMatchObject({ code: 0, stderr: '' });
});
