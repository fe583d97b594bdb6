import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, spawnCli, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { canMount, SmallDisk } from '../support/files.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

notePhi('Watchman', 'Watcha');
/** Higher than any process id of Linux. */
const NO_PROCESS = 4_999_999;
/** The user without rights, on every Linux. */
const NOBODY = 65_534;

const record = (id: string, first_name = 'Bea') => ({
  ...{ id, first_name, last_name: 'Watchman', date_of_birth: '1984-02-29' },
});
const line = (id: string) => `${JSON.stringify({ kind: 'patient', record: record(id) })}\n`;
const person = (id: string) => ({
  ...{ resourceType: 'Patient', id, birthDate: '1984-02-29' },
  name: [{ family: 'Watchman', given: ['Bea'] }],
});
const message = (id: string, born = '19840229') =>
  [
    `MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^A28^ADT_A05|${id}|P|2.5.1`,
    ...['EVN|A28|20260314093015-0500', `PID|1||${id}^^^ELMST^MR||Watchman^Bea||${born}|F`, 'PV1|1|N', ''],
  ].join('\r');

onEmbeddedEngines((start) => {
  let service: TestService;
  let env: Record<string, string>;
  beforeAll(async () => {
    service = await start();
    env = { CHARTLEDGER_API_KEY: service.key as string, CHARTLEDGER_URL: service.url };
  });
  afterAll(() => service.stop());

  const once = (folder: string, ...more: string[]) =>
    runCli(['watch', folder, '--once', '--settle', '0s', ...more], { env });
  const drop = (folder: string, files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  };
  /** The names in a folder, without the ids of imports. */
  const namesIn = (folder: string, of: string) =>
    readdirSync(join(folder, of))
      .map((name) => name.replace(/^\d{8}T\d{9}Z-[0-9a-f]{6}-/, ''))
      .toSorted();
  const reportOf = (folder: string, of: string, name: string) => {
    const found = readdirSync(join(folder, of)).find((one) => one.endsWith(`-${name}.report.json`)) as string;
    return JSON.parse(readFileSync(join(folder, of, found), 'utf8'));
  };

  test('files of each format are imported once, and moved with a report; what is not complete stays', async () => {
    const folder = temporaryFolder();
    const mapping = join(temporaryFolder(), 'ours.json');
    const fields = { id: 'NO', first_name: 'GIVEN', last_name: 'FAMILY', date_of_birth: 'BORN' };
    writeFileSync(mapping, JSON.stringify({ files: { 'persons.csv': { kind: 'patient', fields } } }));
    drop(folder, {
      'adt.hl7': message('watch-hl7-1') + message('watch-hl7-2'),
      'bulk.ndjson': `${JSON.stringify(person('watch-fhir'))}\n`,
      'lines.ndjson': line('watch-line'),
      'persons.csv': 'NO,GIVEN,FAMILY,BORN\nwatch-csv,Bea,Watcha,1984-02-29\n',
      ...{ '.adt.hl7': 'x', 'adt.hl7.part': 'x', 'notes.txt': 'x' },
    });
    symlinkSync('/etc/hostname', join(folder, 'link.hl7'));
    let events: string[] = [];
    const accesses = await accessesBy(service, async () => {
      events = await appendedBy(service, async () => {
        expect(await once(folder, '--mapping', mapping)).toMatchObject({ code: 0, stderr: '' });
        // There is nothing any more.
        expect(await once(folder, '--mapping', mapping)).toMatchObject({ code: 0, stdout: '' });
      });
    });
    expect(events.toSorted()).toEqual(
      ['csv', 'fhir', 'hl7-1', 'hl7-2', 'line'].map((id) => `clinic.patient-watch-${id}: PatientUpserted`),
    );
    const files = accesses.filter(({ action }) => action === 'file.imported').map(({ query }) => query);
    expect(files).toHaveLength(4);
    expect(files).toContainEqual({
      ...{ sha256: expect.any(String), format: 'hl7v2', origin: 'folder', accepted: 2, rejected: 0 },
    });
    const names = ['adt.hl7', 'bulk.ndjson', 'lines.ndjson', 'persons.csv'];
    expect(namesIn(folder, 'done')).toEqual(names.flatMap((name) => [name, `${name}.report.json`]));
    expect(reportOf(folder, 'done', 'bulk.ndjson')).toMatchObject({
      ...{ file: 'bulk.ndjson', format: 'fhir', accepted: 1, rejected: 0 },
    });
    expect([namesIn(folder, 'failed'), namesIn(folder, 'working')]).toEqual([[], []]);
    expect(namesIn(folder, '.')).toEqual(
      ['.adt.hl7', 'adt.hl7.part', 'done', 'failed', 'link.hl7', 'notes.txt', 'working'].toSorted(),
    );
  });

  test('a file with something wrong goes to failed, and the report says what; a file is not complete before its time', async () => {
    const folder = temporaryFolder();
    drop(folder, {
      'adt.hl7': message('failed-hl7-1', 'never') + message('failed-hl7-2'),
      ...{ 'none.hl7': 'no message', 'persons.csv': 'NO\n1\n' },
      'lines.ndjson': `${line('failed-line')}${JSON.stringify({ kind: 'patient', record: { id: 'x' } })}\n`,
    });
    const waiting = await runCli(['watch', folder, '--once', '--settle', '1h'], { env });
    expect(waiting).toMatchObject({ code: 0, stdout: '' });
    const events = await appendedBy(service, async () => expect((await once(folder)).code).toBe(1));
    expect(events.toSorted()).toEqual([
      ...['clinic.patient-failed-hl7-2: PatientUpserted', 'clinic.patient-failed-line: PatientUpserted'],
    ]);
    expect(reportOf(folder, 'failed', 'adt.hl7')).toMatchObject({ accepted: 1, rejected: 1 });
    expect(reportOf(folder, 'failed', 'none.hl7').problem).toContain(
      'must consist of consecutive HL7 v2 messages',
    );
    expect(reportOf(folder, 'failed', 'persons.csv').problem).toContain('--mapping');
    expect(namesIn(folder, 'failed').filter((name) => name.endsWith('.rejected.ndjson'))).toEqual([
      ...['adt.hl7.rejected.ndjson', 'lines.ndjson.rejected.ndjson'],
    ]);
    expect(namesIn(folder, 'done')).toEqual([]);
  });

  test('of several that watch a folder, one takes each file', async () => {
    const folder = temporaryFolder();
    const ids = Array.from({ length: 12 }, (_, n) => `shared-${n}`);
    for (const id of ids) drop(folder, { [`${id}.ndjson`]: line(id) });
    const events = await appendedBy(service, async () => {
      const ended = await Promise.all([once(folder), once(folder), once(folder)]);
      expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual([
        [0, ''],
        [0, ''],
        [0, ''],
      ]);
    });
    expect(events).toHaveLength(ids.length);
    expect(namesIn(folder, 'done')).toHaveLength(2 * ids.length);
  });

  test('a process that is killed leaves its file to the next one, which writes nothing twice', async () => {
    const folder = temporaryFolder();
    const ids = Array.from({ length: 3_000 }, (_, n) => `killed-${n}`);
    drop(folder, { 'killed.ndjson': ids.map(line).join('') });
    const kill = new AbortController();
    const killed = spawnCli(['watch', folder, '--settle', '0s'], { env, kill: kill.signal });
    await eventually(async () => expect(existsSync(join(folder, 'killed.ndjson'))).toBe(false));
    kill.abort();
    await killed;
    const { code, stderr } = await once(folder);
    expect([code, stderr]).toEqual([0, '']);
    const { body } = await service.get('/integration/patients/killed-2999');
    expect(body).toMatchObject({ version: 1 });
    expect(reportOf(folder, 'done', 'killed.ndjson')).toMatchObject({ accepted: 3_000, rejected: 0 });
  });

  test('what another machine works on is left alone, and what cannot be moved waits', async () => {
    const folder = temporaryFolder();
    const taken = (owner: string) => {
      const path = join(folder, 'working', `20260314T093000000Z-abcde${owner.length % 10}@${owner}`);
      mkdirSync(path, { recursive: true });
      drop(path, { 'taken.ndjson': line(`taken-${owner.length}`) });
    };
    taken(`elsewhere~${process.pid}`);
    taken(`${hostname()}~${NO_PROCESS}`);
    // A rename cannot go to another file system.
    symlinkSync('/dev/shm', join(folder, 'done'));
    const waiting = await once(folder);
    expect([waiting.code, waiting.stderr]).toEqual([1, expect.stringContaining('waits: EXDEV')]);
    unlinkSync(join(folder, 'done'));
    expect(await once(folder)).toMatchObject({ code: 0, stderr: '' });
    expect(namesIn(folder, 'done')).toEqual(['taken.ndjson', 'taken.ndjson.report.json']);
    expect(readdirSync(join(folder, 'working'))).toEqual([expect.stringContaining('@elsewhere~')]);
  });

  test.skipIf(!canMount())(
    'on a full disk a file waits, and is imported once when there is room',
    async () => {
      const disk = new SmallDisk('64k');
      try {
        drop(disk.path, { 'lines.ndjson': line('full-line'), 'adt.hl7': message('full-hl7') });
        const release = disk.fill();
        const waiting = await once(disk.path);
        expect(waiting.code).toBe(1);
        expect(waiting.stderr.match(/ waits: .*ENOSPC/g)).toHaveLength(2);
        expect([namesIn(disk.path, 'done'), namesIn(disk.path, 'failed')]).toEqual([[], []]);
        release();
        expect(await once(disk.path)).toMatchObject({ code: 0, stderr: '' });
        const names = ['adt.hl7', 'lines.ndjson'];
        expect(namesIn(disk.path, 'done')).toEqual(names.flatMap((name) => [name, `${name}.report.json`]));
        for (const id of ['full-line', 'full-hl7'])
          expect((await service.get(`/integration/patients/${id}`)).body).toMatchObject({ version: 1 });
      } finally {
        disk.remove();
      }
    },
  );

  test('without the rights to a folder its files wait, and to a file it has failed', async () => {
    const folder = temporaryFolder();
    // Root has every right.
    const uid = process.getuid?.() === 0 ? NOBODY : undefined;
    const run = () => spawnCli(['watch', folder, '--once', '--settle', '0s'], { env, uid });
    const allow = (within: string, mode: number) => chmodSync(join(folder, within), mode);
    for (const name of ['working', 'done', 'failed']) {
      mkdirSync(join(folder, name));
      allow(name, 0o777);
    }
    drop(folder, { 'lines.ndjson': line('rights-line'), 'secret.ndjson': line('rights-secret') });
    allow('lines.ndjson', 0o644);
    allow('secret.ndjson', 0o000);
    allow('.', 0o555);
    const events = await appendedBy(service, async () => {
      expect(await run()).toMatchObject({ code: 1, stdout: '', stderr: 'A file waits: EACCES (rename).\n' });
    });
    expect(events).toEqual([]);
    allow('.', 0o777);
    allow('done', 0o555);
    const waiting = await run();
    expect([waiting.code, waiting.stderr]).toEqual([
      1,
      expect.stringMatching(/ waits: EACCES \(rename\)\.\n$/),
    ]);
    expect(reportOf(folder, 'failed', 'secret.ndjson').problem).toBe('The file cannot be read (EACCES).');
    allow('done', 0o777);
    expect(await run()).toMatchObject({ code: 0, stderr: '' });
    expect(namesIn(folder, 'done')).toEqual(['lines.ndjson', 'lines.ndjson.report.json']);
    expect((await service.get('/integration/patients/rights-line')).body).toMatchObject({ version: 1 });
    expect((await service.get('/integration/patients/rights-secret')).status).toBe(404);
  });
});
