import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateApiKey } from '../../src/modules/auth/apiKeys.ts';
import { type CliResult, spawnCli, temporaryFolder } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, newEvents, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** Imports lines (values become JSON, strings are taken as they are) in a folder of its own. */
  async function importLines(
    lines: unknown[],
    { key = service.key, args = [] as string[], folder = temporaryFolder() } = {},
  ) {
    const path = join(temporaryFolder(), 'records.ndjson');
    writeFileSync(
      path,
      lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    );
    const result = await spawnCli(['import', path, '--format', 'ndjson', '--url', service.url, ...args], {
      cwd: folder,
      env: { CHARTLEDGER_API_KEY: key as string },
    });
    return { ...result, folder };
  }

  function counts({ stdout }: CliResult) {
    return JSON.parse(stdout);
  }

  test('records go in in the order in which they refer to each other, whatever the order of the file', async () => {
    const payer = samples.payer();
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const encounter = samples.encounter(patient.id);
    const appended = await appendedBy(service, async () => {
      const result = await importLines([
        { kind: 'encounter', record: encounter },
        '',
        { kind: 'patient', record: patient },
        { kind: 'payer', record: payer },
      ]);
      expect(result).toMatchObject({ code: 0, stderr: '' });
      expect(result.stdout).toMatch(
        /\n3 accepted \(3 created, 0 updated\), 0 rejected, 0 warnings, in \d+\.\d s\n$/,
      );
      expect(readdirSync(result.folder)).toEqual([]);
    });
    expect(appended).toEqual([
      `clinic.payer-${payer.id}: PayerUpserted`,
      `clinic.patient-${patient.id}: PatientUpserted`,
      `clinic.encounter-${encodeURIComponent(encounter.id)}: EncounterUpserted`,
    ]);
  });

  test('lines for one record are sent in the order of the file, and the counts tell', async () => {
    const payer = samples.payer();
    const names = Array.from({ length: 30 }, (_, index) => `${phi('Aetna')}-${index}`);
    const events = await newEvents(service, async () => {
      const lines = names.map((name) => ({ kind: 'payer', record: { ...payer, name, fax: '1' } }));
      const result = await importLines(lines, { args: ['--json'] });
      expect(counts(result)).toEqual({
        accepted: 30,
        rejected: 0,
        created: 1,
        updated: 29,
        unchanged: 0,
        warnings: 30,
        by_kind: { payer: { accepted: 30, rejected: 0 } },
        seconds: expect.any(Number),
      });
    });
    expect(events.map(({ data }) => data.name)).toEqual(names);
    expect(events[0]?.metadata.userAgent).toMatch(/^chartledger-import\/\d+\.\d+\.\d+$/);
  });

  test('what is refused is listed, for the owner of the file alone, and the rest goes in', async () => {
    const good = samples.payer();
    const nameless = { id: phi('payer') };
    const stray = samples.encounter(phi('patient'));
    const appended = await appendedBy(service, async () => {
      const result = await importLines(
        [
          { kind: 'payer', record: nameless },
          'no JSON',
          { kind: 'payer', record: good },
          { kind: 'claim', record: { id: 'x' } },
          { kind: 'encounter', record: stray },
        ],
        { args: ['--json', '--reject-file', 'refused.ndjson'] },
      );
      expect(result.code).toBe(1);
      expect(result.stderr).toBe('What was rejected, and why, is in refused.ndjson.\n');
      expect(counts(result)).toMatchObject({ accepted: 1, rejected: 4, created: 1 });
      const path = join(result.folder, 'refused.ndjson');
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line))).toEqual([
        { kind: null, source: 'records.ndjson:2', id: null, status: null, error: 'The line is not JSON.' },
        {
          kind: null,
          source: 'records.ndjson:4',
          id: null,
          status: null,
          error: expect.stringContaining('payer, patient, provider, facility, encounter'),
        },
        {
          kind: 'payer',
          source: 'records.ndjson:1',
          id: nameless.id,
          status: 400,
          error: 'Validation failed: name is required',
          details: [{ field: 'name', message: 'is required' }],
        },
        {
          kind: 'encounter',
          source: 'records.ndjson:5',
          id: stray.id,
          status: 400,
          error: expect.stringContaining(stray.patient_id),
          details: [expect.objectContaining({ field: 'patient_id', kind: 'patient', id: stray.patient_id })],
        },
      ]);
    });
    expect(appended).toEqual([`clinic.payer-${good.id}: PayerUpserted`]);
  });

  test('without a name for the reject file, each import has a new one, of several at once, too', async () => {
    const folder = temporaryFolder();
    const appended = await appendedBy(service, async () => {
      const imports = [1, 2, 3].map(() => importLines([{ kind: 'payer', record: {} }], { folder }));
      expect((await Promise.all(imports)).map(({ code }) => code)).toEqual([1, 1, 1]);
      const name = expect.stringMatching(/^rejected-\d{8}T\d{6}Z-\w{6}\.ndjson$/);
      expect(readdirSync(folder)).toEqual([name, name, name]);
    });
    expect(appended).toEqual([]);
  });

  test('of two that run one import at the same time, one goes on, and nothing is written twice', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'payers.ndjson');
    const payers = Array.from({ length: 3_000 }, samples.payer);
    writeFileSync(path, payers.map((record) => JSON.stringify({ kind: 'payer', record })).join('\n'));
    const args = ['import', path, '--format', 'ndjson', '--url', service.url, '--json'];
    const options = { cwd: folder, env: { CHARTLEDGER_API_KEY: service.key as string } };
    const appended = await appendedBy(service, async () => {
      const results = await Promise.all([1, 2, 3].map(() => spawnCli(args, options)));
      expect(results.map(({ code }) => code).toSorted()).toEqual([0, 1, 1]);
      for (const { code, stderr } of results)
        expect(stderr).toEqual(
          code === 0 ? expect.anything() : expect.stringContaining('Another process runs the'),
        );
    });
    expect(appended).toHaveLength(payers.length);
    expect(readdirSync(folder)).toEqual(['payers.ndjson']);
  });

  test('text that other tools would break goes through whole', async () => {
    const payer = { ...samples.payer(), name: `${phi('Ünïon')}\u2028Ltd 😀` };
    const appended = await appendedBy(service, async () => {
      const line = JSON.stringify({ kind: 'payer', record: payer });
      expect((await importLines([`\uFEFF${line}\r`])).code).toBe(0);
      expect((await service.get(`/integration/payers/${payer.id}`)).body.record.name).toBe(payer.name);
    });
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  });

  test('a refused key stops the import at once, with the counts so far', async () => {
    const readOnly = await service.createKey('clinic', ['read']);
    const lines = Array.from({ length: 500 }, () => ({ kind: 'payer', record: samples.payer() }));
    const appended = await appendedBy(service, async () => {
      const refusals: [string, RegExp][] = [
        [generateApiKey(), /refused the API key \(401\): The API key is not valid\.\n$/],
        [readOnly.key, /refused the API key \(403\): The API key lacks the permission 'write' or .+\.\n$/],
      ];
      for (const [key, message] of refusals) {
        const result = await importLines(lines, { key, args: ['--json'] });
        expect(result.code).toBe(1);
        expect(result.stderr).toMatch(message);
        expect(counts(result)).toMatchObject({ accepted: 0, rejected: 0 });
      }
    });
    expect(appended).toEqual([]);
  });

  test('an input that cannot be read is one line and exit code 1', async () => {
    const folder = temporaryFolder();
    const csvFolder = temporaryFolder();
    writeFileSync(join(csvFolder, 'payers.csv'), '"Id,NAME\n1,One\n');
    const noHeader = temporaryFolder();
    writeFileSync(join(noHeader, 'payers.csv'), '');
    const unreadable: [string[], string][] = [
      [[join(folder, 'none.ndjson'), '--format', 'ndjson'], 'cannot be read (ENOENT)'],
      [[folder, '--format', 'ndjson'], 'cannot be read (EISDIR)'],
      [[join(folder, 'none'), '--format', 'synthea'], 'is not a readable folder (ENOENT)'],
      [[folder, '--format', 'synthea'], 'contains none of payers.csv, patients.csv'],
      [
        [csvFolder, '--format', 'synthea'],
        'The header of payers.csv cannot be read. The row is not well-formed',
      ],
      [[noHeader, '--format', 'synthea'], 'payers.csv is empty: it has no header.'],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [args, message] of unreadable) {
        const { code, stdout, stderr } = await spawnCli(['import', ...args, '--url', service.url], {
          env: { CHARTLEDGER_API_KEY: service.key as string },
        });
        expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
        expect(stderr.trimEnd().split('\n').at(-1)).toContain(message);
        expect(stderr).not.toContain('    at ');
      }
    });
    expect(appended).toEqual([]);
    expect(existsSync('rejected.ndjson')).toBe(false);
  });

  /** Imports a folder of CSV files, given as lines. */
  async function importCsv(files: Record<string, string[]>, args: string[] = []) {
    const folder = temporaryFolder();
    for (const [name, lines] of Object.entries(files)) {
      writeFileSync(join(folder, name), Buffer.from(lines.join('\n'), 'latin1'));
    }
    const cwd = temporaryFolder();
    const result = await spawnCli(['import', folder, '--format', 'synthea', '--url', service.url, ...args], {
      cwd,
      env: { CHARTLEDGER_API_KEY: service.key as string },
    });
    return { ...result, cwd };
  }

  /** The lines of the only file in a folder whose name begins so. */
  function reported(folder: string, name: string) {
    const file = readdirSync(folder).find((each) => each.startsWith(name)) as string;
    const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line));
  }

  test('missing columns stop an import before its first record, unless they are allowed', async () => {
    const { id } = samples.payer();
    const files = { 'payers.csv': ['Id,NAME', `${id},Aetna`] };
    const lack = 'payers.csv lacks OWNERSHIP, ADDRESS, CITY, STATE_HEADQUARTERED, ZIP, PHONE';
    const refused = await appendedBy(service, async () => {
      const { code, stdout, stderr } = await importCsv(files);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(
        `${lack}. Nothing was imported. To import records without these columns, use --allow-missing`,
      );
    });
    expect(refused).toEqual([]);
    const appended = await appendedBy(service, async () => {
      const { code, stderr } = await importCsv(files, ['--allow-missing']);
      expect(code).toBe(0);
      expect(stderr).toContain(`${lack}: imported without.`);
    });
    expect(appended).toEqual([`clinic.payer-${id}: PayerUpserted`]);
  });

  test('a bad row is one reject line; warnings are shown, and listed for the owner of the file alone', async () => {
    const [padded, remarked, broken] = [samples.payer(), samples.payer(), samples.payer()];
    const appended = await appendedBy(service, async () => {
      const { code, stdout, stderr, cwd } = await importCsv({
        'payers.csv': [
          'Id,NAME,OWNERSHIP,ADDRESS,CITY,STATE_HEADQUARTERED,ZIP,PHONE',
          `${padded.id},Aetna,,,,CT,6510,`,
          `${broken.id},Caf\xe9,,,,CT,06510,`,
          `${remarked.id},Humana,,,,Ontario,06510,1`,
        ],
      });
      expect(code).toBe(1);
      expect(stdout).toMatch(/2 accepted \(2 created, 0 updated\), 1 rejected, \d warnings/);
      expect(stdout).toMatch(
        /^1 +payer +zip_code +had lost its leading zeros in the file; they were added$/m,
      );
      expect(stdout).toMatch(/^1 +payer +contact_phone +/m);
      expect(stderr).toContain('What was accepted with warnings is in warnings-');
      expect(reported(cwd, 'rejected-')).toEqual([
        { kind: null, source: 'payers.csv:3', id: null, status: null, error: expect.stringMatching(/UTF-8/) },
      ]);
      const lines = reported(cwd, 'warnings-');
      expect(lines.map(({ kind, source, id }) => [kind, source, id])).toEqual([
        ['payer', 'payers.csv:2', padded.id],
        ['payer', 'payers.csv:4', remarked.id],
      ]);
      expect(lines[1].warnings).toContainEqual({ field: 'contact_phone', message: expect.any(String) });
      for (const name of readdirSync(cwd)) expect(statSync(join(cwd, name)).mode & 0o777).toBe(0o600);
    });
    expect(appended.toSorted()).toEqual(
      [padded, remarked].map(({ id }) => `clinic.payer-${id}: PayerUpserted`).toSorted(),
    );
    const { body } = await service.get(`/integration/payers/${padded.id}`);
    expect(body.record.zip_code).toBe('06510');
  });
});
