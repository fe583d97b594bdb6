import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readdirSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { BackupFolder, storedFiles } from '../support/files.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

test.each([false, true])(
  'a backup that was suspended while another one was made leaves that one whole (file begun: %s)',
  async (isBegun) => {
    const encounter = await createEncounter(service);
    expect((await service.upload(documentsPath(encounter), documentForm())).status).toBe(200);
    const folder = new BackupFolder(service.config);
    const id = storedFiles(service.config).objects.at(-1) ?? '';
    const document = join(service.config.dataDir, 'documents', 'objects', id.slice(-2), id);
    const bytes = readFileSync(document);
    // The first one is suspended as it reads a document: from a pipe.
    renameSync(document, `${document}.aside`);
    execFileSync('mkfifo', [document]);
    const secret = folder.passphraseFile('correct horse battery staple');
    const args = ['bin/chartledger.mjs', 'backup', folder.path, '--passphrase-file', secret];
    const env = { ...process.env, ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    const first = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const pipe = await eventually(() => openSync(document, constants.O_WRONLY | constants.O_NONBLOCK));
    renameSync(`${document}.aside`, document);
    const isPart = (name: unknown) => String(name).endsWith('.part');
    if (isBegun) {
      writeSync(pipe, bytes.subarray(0, 1));
      await eventually(() => expect(readdirSync(folder.path, { recursive: true }).some(isPart)).toBe(true));
    }
    first.kill('SIGSTOP');
    await service.post('/integration/payers', samples.payer());
    expect(await folder.take()).toMatchObject({ code: 0, stderr: '' });
    first.kill('SIGCONT');
    writeSync(pipe, bytes.subarray(isBegun ? 1 : 0));
    closeSync(pipe);
    expect(await text(first.stderr)).toBe(
      `Another backup was made in ${folder.path} at the same time. Run this again.\n`,
    );
    expect(await folder.verify()).toMatchObject({ code: 0, stderr: '' });
    expect(await folder.take()).toMatchObject({ code: 0, stderr: '' });
  },
  LONG_MS,
);
