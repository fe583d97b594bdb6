import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BackupFolder, storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pdf, samples } from '../support/samples.ts';
import { openLogFile, startTestService, type TestService } from '../support/service.ts';

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

test('a document whose last event cannot be read holds up nothing else of a backup', async () => {
  const folder = new BackupFolder(service.config);
  const document = phi('document');
  const upload = async () => {
    const form = documentForm({ document_id: document, content: pdf() });
    expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
  };
  const before = storedFiles(service.config).objects;
  await upload();
  const [replaced = ''] = storedFiles(service.config).objects.filter((id) => !before.includes(id));
  await folder.take();
  await upload();
  const position = await service.eventLog.head();
  const log = openLogFile(service);
  log.prepare("UPDATE events SET data = '{' WHERE position = ?").run(position);
  log.close();
  rmSync(join(fileURLToPath(service.config.documentsUrl), 'objects', replaced.slice(-2), replaced));
  const payer = samples.payer();
  expect((await service.post('/integration/payers', payer)).status).toBe(200);
  for (let run = 1; run <= 2; run++) {
    expect(await folder.take()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^The bytes of the document at position \d+ are not in the document store\.$/m,
      ),
    });
    expect(folder.text()).toContain(payer.name);
  }
});
