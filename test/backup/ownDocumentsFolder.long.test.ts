import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../support/cli.ts';
import { BackupFolder } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pdf } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let encounter: string;
beforeAll(async () => {
  service = await startTestService();
  encounter = await createEncounter(service);
});
afterAll(() => service.stop());

test('documents are restored into an empty folder of their own, which stays the same one, as where a disk is mounted', async () => {
  const folder = new BackupFolder(service.config);
  const content = pdf();
  const document = phi('document');
  const form = documentForm({ document_id: document, content });
  expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
  await folder.take();
  const documents = temporaryFolder();
  mkdirSync(join(documents, 'lost+found'));
  const { ino } = statSync(documents);
  const env = { DATA_DIR: join(temporaryFolder(), 'data'), DOCUMENTS_URL: `file:${documents}` };
  const passphrase = folder.passphraseFile('correct horse battery staple');
  const restore = () => runCli(['restore', folder.path, '--passphrase-file', passphrase], { env });
  const [object = ''] = folder.files().filter((name) => name.startsWith('objects/'));
  const bytes = readFileSync(join(folder.path, object));
  rmSync(join(folder.path, object));
  expect(await restore()).toMatchObject({ code: 1 });
  writeFileSync(join(folder.path, object), bytes);
  expect(await restore()).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(documents).ino).toBe(ino);
  const again = await startTestService(env);
  const client = again.as(service.key);
  expect((await client.get(documentsPath(encounter, document))).bytes).toEqual(content);
  await again.stop();
  expect(await restore()).toMatchObject({ code: 1, stderr: expect.stringContaining('is not empty') });
});
