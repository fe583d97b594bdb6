import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { messagesTable, toMessage } from '../../src/modules/integrations/messages/message.ts';
import { MessageStore } from '../../src/modules/integrations/messages/store.ts';
import { openDocumentStore, openStateStore } from '../../src/server/openStorage.ts';
import { runCli, runInWorkspace, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { fhirPatient, sendFhir } from '../support/fhir.ts';
import { BackupFolder } from '../support/files.ts';
import { configureSources } from '../support/messages.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pdf, samples } from '../support/samples.ts';
import { changesBy, readAll, startTestService, type TestService } from '../support/service.ts';
import { createWebhook } from '../support/webhooks.ts';

let service: TestService;
let encounter: string;
beforeAll(async () => {
  service = await startTestService();
  encounter = await createEncounter(service);
  await service.post('/integration/payers', samples.payer());
});
afterAll(() => service.stop());

async function upload(content: Buffer): Promise<string> {
  const document_id = phi('document');
  const { status } = await service.upload(documentsPath(encounter), documentForm({ document_id, content }));
  expect(status).toBe(200);
  return document_id;
}

/** Changes a byte in the middle of a file. */
function tamper(path: string): void {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

test('a backup of a running service is restored with its events, documents, messages and keys', async () => {
  const key = await service.createKey('clinic', ['write', 'read', 'webhooks']);
  await configureSources(service.eventLog, service.workspaceId('clinic'), key.id);
  await sendFhir(service.as(key.key), '/fhir/Patient', fhirPatient());
  // Large messages are files, small ones are rows.
  const div = `<div>${'x'.repeat(20_000)}</div>`;
  await sendFhir(service.as(key.key), '/fhir/Patient', fhirPatient({ text: { status: 'generated', div } }));
  await createWebhook(service.as(key.key));
  const reader = await service.createKey('clinic', ['events']);
  const content = pdf();
  const document = await upload(content);
  const folder = new BackupFolder(service.config);
  let end = 0;
  const appended = await changesBy(service, async () => {
    const taken = await folder.take();
    expect(taken).toMatchObject({ code: 0, stderr: '' });
    expect(taken.stdout).toMatch(
      /^[\d,]+ new events, 2 new files of documents and messages \(0\.\d MB\); the backup holds/,
    );
    end = Number(/up to position (\d+)/.exec(taken.stdout)?.[1]);
  });
  expect(appended).toEqual([]);
  expect(await folder.verify()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('2 files of documents and messages'),
  });

  const { dataDir, ...restored } = await folder.restore();
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  const before = (await readAll(service.eventLog)).filter(({ position }) => position <= end);
  const again = await startTestService({ DATA_DIR: dataDir });
  expect((await readAll(again.eventLog)).slice(0, before.length)).toEqual(before);
  const client = again.as(service.key);
  const gone = await again.as(reader.key).get(`/events?after=${end + 1}`);
  expect(gone).toMatchObject({
    status: 410,
    body: { code: 'position_gone', last_position: String(end).padStart(16, '0') },
  });
  const behind = await again.as(reader.key).get(`/events?after=${gone.body.last_position}`);
  expect(behind).toMatchObject({ status: 200, text: '' });
  const patients = async (from: typeof client) => (await from.get('/integration/patients')).body;
  await eventually(async () => expect(await patients(client)).toEqual(await patients(service)));
  expect((await client.get(documentsPath(encounter, document))).bytes).toEqual(content);
  for (const file of ['signing-key', 'webhook-secrets-key'])
    expect(readFileSync(join(dataDir, file))).toEqual(readFileSync(join(service.config.dataDir, file)));
  const state = await openStateStore(again.config.stateUrl);
  const messages = await state.scan(messagesTable, { limit: 10 });
  const documentStore = await openDocumentStore(again.config.documentsUrl);
  const store = new MessageStore({ stateStore: state, documentStore });
  const sizes = messages.map(async (row) => {
    const { size, sha256 } = row.body;
    const bytes = await buffer(await store.bytes(toMessage(row)));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    return size > 20_000;
  });
  expect((await Promise.all(sizes)).sort()).toEqual([false, true]);
  for (const { body } of messages) expect(body).toMatchObject({ format: 'fhir', state: 'accepted' });
  await documentStore.close();
  await state.close();
  expect(
    await runCli(['verify', '--workspace', service.workspaceId('clinic'), '--documents'], {
      env: { ...storesOf(again.config), DATA_DIR: dataDir },
    }),
  ).toMatchObject({ code: 0, stderr: '' });
  await again.stop();
});

test('the next backup writes what is new alone, and takes out what was erased since', async () => {
  const folder = new BackupFolder(service.config);
  const patient = samples.patient();
  await service.post('/integration/patients', patient);
  await folder.take();
  expect(folder.text()).toContain(patient.last_name);
  const before = folder.files();
  await service.post('/integration/payers', samples.payer());
  const document = await upload(pdf());
  expect((await folder.take()).stdout).toMatch(/^[2-9] new events, 1 new file of documents and messages/);
  const objects = (names: string[]) => names.filter((name) => name.startsWith('objects/'));
  expect(objects(folder.files())).toHaveLength(objects(before).length + 1);
  expect(await folder.verify()).toMatchObject({ code: 0 });

  await service.delete(documentsPath(encounter, document));
  const erase = ['records', 'erase', 'patient', patient.id, '--reason', 'asked for'];
  expect(await runInWorkspace(service, ...erase)).toMatchObject({ code: 0 });
  expect((await folder.take()).stdout).toContain('taken out of the backup, as erased since: 1 event');
  expect(folder.text()).not.toContain(patient.last_name);
  expect((await folder.take()).stdout).toMatch(/^0 new events, 0 new files of documents/);
  expect(await folder.verify()).toMatchObject({ code: 0 });
  const { dataDir } = await folder.restore();
  const again = await startTestService({ DATA_DIR: dataDir });
  expect((await again.as(service.key).get(`/integration/patients/${patient.id}`)).status).toBe(410);
  await again.stop();
});

test('a file that is missing or was changed is named, and is not restored', async () => {
  const folder = new BackupFolder(service.config);
  await upload(pdf());
  await folder.take();
  const named = [/^log\//, /^state\//, /^keys-/, /^objects-/, /^objects\//].map(
    (pattern) => folder.files().find((name) => pattern.test(name)) as string,
  );
  expect(named).not.toContain(undefined);
  const publicKey = join(temporaryFolder(), 'key.pem');
  const pem = await runCli(['secrets', 'show', 'signing'], { env: { DATA_DIR: service.config.dataDir } });
  writeFileSync(publicKey, pem.stdout);
  for (const name of named) {
    const path = join(folder.path, name);
    const bytes = readFileSync(path);
    tamper(path);
    const changed = await folder.verify('--public-key', publicKey);
    expect(changed).toMatchObject({ code: 1, stdout: '' });
    expect(changed.stderr).toContain(`The file ${name} of the backup in ${folder.path} was changed.`);
    rmSync(path);
    expect((await folder.verify('--public-key', publicKey)).stderr).toContain(
      `${name} of the backup in ${folder.path} is missing.`,
    );
    writeFileSync(path, bytes);
  }
  expect(await folder.verify('--public-key', publicKey)).toMatchObject({ code: 0 });
  const [segment] = folder.files().filter((name) => name.startsWith('log/'));
  const intact = readFileSync(join(folder.path, segment as string));
  tamper(join(folder.path, segment as string));
  expect(await folder.restore()).toMatchObject({
    code: 1,
    stderr: `The file ${segment} of the backup in ${folder.path} was changed.\n`,
  });
  writeFileSync(join(folder.path, segment as string), intact);
  const manifest = join(folder.path, 'manifest.json');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"events": (\d+),/, '"events": 1$1,'));
  expect(await folder.verify()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('its signature does not match'),
  });
});

test('without its passphrase a backup is neither gone on with nor restored', async () => {
  const folder = new BackupFolder(service.config);
  const other = ['--passphrase-file', folder.passphraseFile('incorrect horse battery')];
  expect(await folder.take('--passphrase-file', folder.passphraseFile('short'))).toMatchObject({
    code: 1,
    stderr: 'The passphrase of a backup must have at least 12 characters.\n',
  });
  await folder.take();
  const refusal = {
    code: 1,
    stderr: `The passphrase does not unlock the keys of the backup in ${folder.path}.\n`,
  };
  expect(await folder.take(...other)).toMatchObject(refusal);
  expect(await folder.verify(...other)).toMatchObject(refusal);
  expect(await folder.restore(other)).toMatchObject(refusal);
  expect(await folder.take('--new-passphrase', ...other)).toMatchObject({ code: 0 });
  expect(await folder.verify(...other)).toMatchObject({ code: 0 });
  expect(await folder.verify()).toMatchObject(refusal);
});

test('a backup is restored into an empty folder alone, and begun in one', async () => {
  const folder = new BackupFolder(service.config);
  expect(await folder.verify()).toMatchObject({
    code: 1,
    stderr: `No backup was found in ${folder.path}.\n`,
  });
  mkdirSync(folder.path, { recursive: true });
  appendFileSync(join(folder.path, 'holiday.jpg'), '');
  expect(await folder.take()).toMatchObject({
    code: 1,
    stderr: `${folder.path} contains files that do not belong to a backup.\n`,
  });
  rmSync(join(folder.path, 'holiday.jpg'));
  await folder.take();
  const full = temporaryFolder();
  appendFileSync(join(full, 'notes'), '');
  expect(await folder.restore([], full)).toMatchObject({
    code: 1,
    stderr: `${full} is not empty. A backup can be restored only into an empty data folder.\n`,
  });
  expect(await folder.restore([], join(full, 'notes', 'data'))).toMatchObject({
    code: 1,
    stderr: `${join(full, 'notes', 'data')} lies in what is a file, not a folder, or is a file itself. Give another path.\n`,
  });
  const other = await startTestService();
  const env = { ...storesOf(other.config), DATA_DIR: other.config.dataDir };
  const passphrase = folder.passphraseFile('correct horse battery staple');
  expect(await runCli(['backup', folder.path, '--passphrase-file', passphrase], { env })).toMatchObject({
    code: 1,
    stderr: `The backup in ${folder.path} belongs to another event log. Start a new one in another place.\n`,
  });
  await other.stop();
});

test('a restore that was cut off is not served, and is begun anew', async () => {
  const folder = new BackupFolder(service.config);
  await folder.take();
  const [segment] = folder.files().filter((name) => name.startsWith('objects/'));
  const path = join(folder.path, segment as string);
  const bytes = readFileSync(path);
  rmSync(path);
  const { dataDir, code } = await folder.restore();
  expect(code).toBe(1);
  const message = `The restore into ${dataDir} was not completed. Run it again: chartledger restore.`;
  await expect(startTestService({ DATA_DIR: dataDir })).rejects.toThrow(message);
  expect(await runCli(['keys', 'list'], { env: { DATA_DIR: dataDir } })).toMatchObject({
    code: 1,
    stderr: `${message}\n`,
  });
  writeFileSync(path, bytes);
  expect(await folder.restore([], dataDir)).toMatchObject({ code: 0 });
  await (await startTestService({ DATA_DIR: dataDir })).stop();
});

test('a backup goes on over a change of the signing key, is checked with either key, and restores the new one', async () => {
  const own = await startTestService();
  const env = { ...storesOf(own.config), DATA_DIR: own.config.dataDir };
  const pem = async (name: string) => {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, (await runCli(['secrets', 'show', 'signing'], { env })).stdout);
    return path;
  };
  const folder = new BackupFolder(own.config);
  const before = await pem('before.pem');
  expect(await folder.take()).toMatchObject({ code: 0, stderr: '' });
  expect(await runCli(['secrets', 'rotate', 'signing'], { env })).toMatchObject({ code: 0, stderr: '' });
  await own.post('/integration/payers', samples.payer());
  const after = await pem('after.pem');
  expect(await folder.verify('--public-key', after)).toMatchObject({ code: 0, stderr: '' });
  const taken = await folder.take();
  expect(taken).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^[1-9]\d? new events/) });
  for (const key of [[], ['--public-key', before], ['--public-key', after]])
    expect(await folder.verify(...key)).toMatchObject({ code: 0, stderr: '' });
  const { dataDir, ...restored } = await folder.restore();
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  const key = await runCli(['secrets', 'show', 'signing'], { env: { DATA_DIR: dataDir } });
  expect(key.stdout).toBe(readFileSync(after, 'utf8'));
  await own.stop();
});
