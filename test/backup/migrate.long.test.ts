import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import { startService } from '../../src/server/service.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import {
  createEncounter,
  documentForm,
  documentsPath,
  pdf,
  samples,
  TestWorkspace,
} from '../support/samples.ts';
import { changesBy, readAll, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;
const RUNNING =
  'The service is running, so the move is not complete. Stop all of its processes, and run this again: only what is new is copied.\n';
let service: TestService;
let env: Record<string, string>;
beforeAll(async () => {
  service = await startTestService({ DATA_DIR: join(temporaryFolder(), 'data') });
  env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
}, LONG_MS);
afterAll(() => service.stop());

/** A file of settings for new stores, in a folder that does not exist. */
function newSettings(settings: Record<string, string> = {}): { file: string; dataDir: string } {
  const folder = temporaryFolder();
  const file = join(folder, 'new.env');
  const all: Record<string, string> = { DATA_DIR: join(folder, 'data'), ...settings };
  writeFileSync(
    file,
    Object.entries(all)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  return { file, dataDir: all.DATA_DIR as string };
}

/** Starts the service on the stores of a folder. */
const start = (folder: string) =>
  startService(loadConfig({ DATA_DIR: folder, PORT: '0' }), pino({ enabled: false }));

const migrate = (file: string, ...options: string[]) => runCli(['migrate', file, ...options], { env });

test('settings that a service cannot be moved to are refused, and nothing is written', async () => {
  const missing = join(temporaryFolder(), 'missing.env');
  const full = newSettings();
  mkdirSync(full.dataDir);
  appendFileSync(join(full.dataDir, 'notes'), '');
  const { dataDir, eventLogUrl, documentsUrl } = service.config;
  const place = 'must name another place than that of the service.\n';
  const same = newSettings({ DATA_DIR: dataDir });
  const sameLog = newSettings({ EVENT_LOG_URL: eventLogUrl });
  const sameDocuments = newSettings({ DOCUMENTS_URL: documentsUrl });
  const otherKey = newSettings({ DEIDENTIFICATION_KEY: Buffer.alloc(32, 1).toString('base64') });
  const bad = newSettings({ EVENT_LOG_URL: 'mysql://localhost' });
  // The key exists once something was shown without patient data.
  const reader = await service.createKey('clinic', ['events:deidentified']);
  expect((await service.as(reader.key).get('/events')).status).toBe(200);
  const appended = await changesBy(service, async () => {
    for (const [file, stderr] of [
      [missing, `${missing} cannot be read or written (ENOENT).\n`],
      [full.file, `${full.dataDir} is not empty. A service can be moved only to empty stores.\n`],
      [same.file, `DATA_DIR in ${same.file} ${place}`],
      [sameLog.file, `EVENT_LOG_URL in ${sameLog.file} ${place}`],
      [sameDocuments.file, `DOCUMENTS_URL in ${sameDocuments.file} ${place}`],
      [
        otherKey.file,
        `The key that the service has as deidentification-key is another one in ${otherKey.file}, or is missing there. Set it to the same value, or leave out the setting: the key is then written to DATA_DIR.\n`,
      ],
      [bad.file, expect.stringMatching(/^Bad settings: EVENT_LOG_URL/)],
    ] as const)
      for (const options of [['--dry-run'], []])
        expect(await migrate(file, ...options)).toMatchObject({ code: 1, stdout: '', stderr });
  });
  expect(appended).toEqual([]);
  expect(readdirSync(full.dataDir)).toEqual(['notes']);
  for (const { dataDir: untouched } of [sameLog, sameDocuments, otherKey])
    expect(existsSync(untouched)).toBe(false);
});

test('what is erased between two runs is not in the new stores', async () => {
  const patient = samples.patient();
  expect((await service.post('/integration/patients', patient)).status).toBe(200);
  const kept = samples.payer();
  expect((await service.post('/integration/payers', kept)).status).toBe(200);
  const { file, dataDir } = newSettings({ DAT_DIR: 'x' });
  expect(await migrate(file, '--dry-run')).toMatchObject({ code: 0, stderr: '' });
  expect(existsSync(dataDir)).toBe(false);
  const first = await migrate(file);
  expect(first).toMatchObject({ code: 1, stderr: RUNNING });
  expect(first.stdout).toMatch(
    /^DAT_DIR in \S+ is not a setting; did you mean DATA_DIR\?\nCopied: [\d,]+ events, 0 documents and messages \(0\.0 MB\)\.\n$/,
  );
  expect(readFileSync(join(dataDir, 'events.db')).includes(patient.last_name)).toBe(true);
  const half = await runCli(['workspaces', 'list'], { env: { DATA_DIR: dataDir } });
  expect(half).toMatchObject({ code: 1, stderr: expect.stringContaining('Run chartledger migrate again') });
  await expect(start(dataDir)).rejects.toThrow('Run chartledger migrate again');
  const erase = [
    'records',
    'erase',
    'patient',
    patient.id,
    '--workspace',
    service.workspaceId('clinic'),
    '--reason',
    'asked',
  ];
  await eventually(async () => expect(await runCli(erase, { env })).toMatchObject({ code: 0 }));
  const events = (await readAll(service.eventLog)).length;
  await service.restart(async () => {
    expect(await migrate(file)).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining(
        `The move is complete: start the service with the settings in ${file}.`,
      ),
    });
    // Only for this test: the service continues on its previous stores.
    rmSync(join(service.config.dataDir, 'moved'));
  });
  for (const name of readdirSync(dataDir).filter((one) => one.startsWith('events.db')))
    expect(readFileSync(join(dataDir, name)).includes(patient.last_name)).toBe(false);
  const moved = await startTestService({ DATA_DIR: dataDir });
  const all = await readAll(moved.eventLog);
  expect(all.slice(0, events)).toEqual((await readAll(service.eventLog)).slice(0, events));
  expect((await moved.as(service.key).get(`/integration/patients/${patient.id}`)).status).toBe(410);
  expect((await moved.as(service.key).get(`/integration/payers/${kept.id}`)).status).toBe(200);
  await moved.stop();
});

test('new stores that somebody else has written to are refused', async () => {
  const { file, dataDir } = newSettings();
  expect(await migrate(file)).toMatchObject({ code: 1, stderr: RUNNING });
  const log = await openEventLog(`sqlite:${join(dataDir, 'events.db')}`);
  const workspace = new TestWorkspace();
  await workspace.append(log, workspace.stream());
  await log.close();
  expect(await migrate(file)).toMatchObject({
    code: 1,
    stderr:
      'The new event log holds other events than this one, or not all up to its last one. Empty it, and start again.\n',
  });
});

test('a service that was moved does not start on its previous stores, and what is written there since is not lost unnoticed', async () => {
  const { file, dataDir } = newSettings();
  const { dataDir: previous } = service.config;
  await service.restart(async () => {
    expect(await migrate(file)).toMatchObject({ code: 0 });
    await expect(start(previous)).rejects.toThrow(
      `The service of ${previous} was moved to other stores with chartledger migrate.`,
    );
    expect(await migrate(file)).toMatchObject({
      code: 1,
      stderr: `${dataDir} is not empty. A service can be moved only to empty stores.\n`,
    });
    // As if it had been killed just before its end, once before and once after somebody started the service.
    writeFileSync(join(dataDir, 'migrate-under-way'), '');
    expect(await migrate(file)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The move is complete'),
    });
    rmSync(join(previous, 'moved'));
    writeFileSync(join(dataDir, 'migrate-under-way'), '');
    expect(await migrate(file)).toMatchObject({
      code: 1,
      stderr:
        'The service was used after its event log had been copied. Stop all of its processes, empty the new stores, and start again.\n',
    });
  });
});

test('a document without its bytes is named, and everything else is moved', async () => {
  const encounter = await createEncounter(service);
  const content = pdf();
  const documents = ['lost', 'kept'].map((name) => ({ document_id: `${name}-${encounter}`, content }));
  for (const form of documents)
    expect((await service.upload(documentsPath(encounter), documentForm(form))).status).toBe(200);
  const uploads = (await readAll(service.eventLog)).filter(({ type }) => type === 'DocumentUploaded');
  const id = String(uploads.at(-2)?.data.object_id);
  rmSync(join(service.config.dataDir, 'documents', 'objects', id.slice(-2), id));
  const problem = `The bytes of the document at position ${uploads.at(-2)?.position} are not in the document store.\n`;
  const { file, dataDir } = newSettings();
  expect(await migrate(file, '--dry-run')).toMatchObject({ code: 1, stderr: problem });
  await service.restart(async () => {
    expect(await migrate(file)).toMatchObject({
      code: 1,
      stderr: problem,
      stdout: expect.stringContaining('is complete'),
    });
    rmSync(join(service.config.dataDir, 'moved'));
  });
  const moved = await startTestService({ DATA_DIR: dataDir });
  const path = documentsPath(encounter, documents[1]?.document_id);
  expect((await moved.as(service.key).get(path)).bytes).toEqual(content);
  await moved.stop();
});
