import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, runInWorkspace, storesOf, temporaryFolder } from '../support/cli.ts';
import { signedIn } from '../support/dashboard.ts';
import { pdf, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, newEvents, readAll, startTestService, type TestService } from '../support/service.ts';

const hasTools = ['python3', 'openssl'].every((tool) => spawnSync(tool, ['version']).error === undefined);

onEmbeddedEngines((start) => {
  let service: TestService;
  let other: TestService;
  const folder = temporaryFolder();
  const inFolder = (name: string) => join(folder, name);
  const key = inFolder('chartledger.pem');
  const patient = { ...samples.patient(), first_name: 'María' };
  const run = (...args: string[]) => runInWorkspace(service, ...args);
  const ofPatient = ['patient', patient.id];

  /** Writes what a command returns, which has to succeed. */
  async function written(name: string, args: string[]): Promise<string> {
    const done = await run(...args, '--out', inFolder(name));
    expect(done).toMatchObject({ code: 0, stderr: '' });
    return inFolder(name);
  }

  beforeAll(async () => {
    service = await start();
    other = await startTestService();
    const send = async (to: TestService, path: string, body: object) =>
      expect((await to.post(path, body)).status).toBe(200);
    await send(service, '/integration/patients', patient);
    await send(service, '/integration/patients', { ...patient, first_name: 'Maria' });
    await send(service, '/integration/patients', { ...samples.patient(), id: 'erased' });
    await send(other, '/integration/patients', patient);
    await service.get(`/integration/patients/${patient.id}`);
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    writeFileSync(key, (await runCli(['secrets', 'show', 'signing'], { env })).stdout);
    await written('audit.csv', ['audit', 'list', '--format', 'csv']);
    await written('disclosures.csv', ['disclosures', 'list', ...ofPatient, '--format', 'csv']);
    await written('history.json', ['records', 'history', ...ofPatient, '--format', 'json']);
    await written('state.csv', [
      'records',
      'history',
      ...ofPatient,
      '--as-of',
      '2100-01-01',
      '--format',
      'csv',
    ]);
    await written('events.ndjson', ['export', '--format', 'ndjson']);
    await written('events.csv', ['export', '--format', 'csv']);
    await written('proof.json', ['records', 'prove', ...ofPatient, '--version', '2']);
    await written('copy.zip', ['records', 'copy', ...ofPatient]);
    const erasing = ['records', 'erase', 'patient', 'erased', '--reason', 'x'];
    expect(await run(...erasing, '--certificate', inFolder('certificate.json'))).toMatchObject({ code: 0 });
    expect(await run('verify', '--save-head', inFolder('head.json'))).toMatchObject({ code: 0 });
    const { visitor } = await signedIn(service, 'compliance');
    const printed = `/workspaces/${service.workspaceId('clinic')}/records/patients/${patient.id}/print`;
    writeFileSync(inFolder('page.html'), (await visitor.get(printed)).text);
    writeFileSync(inFolder('page.pdf'), pdf('Printed in a browser'));
    await runInWorkspace(other, 'verify', '--save-head', inFolder('other-head.json'));
  }, 60_000);
  afterAll(() => Promise.all([service.stop(), other.stop()]));

  const cliVerify = (file: string, ...more: string[]) =>
    runCli(['verify', inFolder(file), '--public-key', key, ...more]);
  const python = (file: string, ...more: string[]) => {
    const { status, stdout, stderr } = spawnSync(
      'python3',
      ['examples/verify_offline.py', inFolder(file), key, ...more],
      { encoding: 'utf8' },
    );
    return { code: status, stdout, stderr };
  };

  /** Copies a file and its manifest, with a change of the file. */
  function changed(name: string, change: (text: string) => string): string {
    const copy = `changed-${name}`;
    copyFileSync(inFolder(`${name}.manifest.json`), inFolder(`${copy}.manifest.json`));
    writeFileSync(inFolder(copy), change(readFileSync(inFolder(name), 'latin1')), 'latin1');
    return copy;
  }

  const withoutLine = (text: string) => text.replace(/\n[^\n]*\n$/, '\n');

  test('a report and its manifest are tied to the entry of the audit trail that records it', async () => {
    let file = '';
    const accesses = await accessesBy(service, async () => {
      file = await written('again.csv', ['audit', 'list', '--limit', '3', '--format', 'csv']);
    });
    expect(accesses).toEqual([{ action: 'audit.export', query: { limit: 3, format: 'csv' } }]);
    const manifest = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'));
    const all = await readAll(service.eventLog);
    const mine = all.filter(({ metadata }) => metadata.workspace === service.workspaceId('clinic'));
    expect(manifest).toMatchObject({
      report: 'audit',
      query: { limit: 3, format: 'csv' },
      lines: 4,
      // One version was erased: its leaf remains.
      tree_head: { size: mine.length + 1, last_event_id: mine.at(-1)?.id },
    });
    expect(mine.at(-1)?.data).toMatchObject(accesses[0] as object);
  });

  test('an existing file is kept, and the audit trail says nothing of it', async () => {
    const added = await newEvents(service, async () => {
      for (const args of [
        ['audit', 'list', '--format', 'csv', '--out', inFolder('audit.csv')],
        ['disclosures', 'list', ...ofPatient, '--format', 'csv', '--out', inFolder('audit.csv')],
        ['records', 'history', ...ofPatient, '--format', 'csv', '--out', inFolder('audit.csv')],
      ])
        expect(await run(...args)).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('already exists'),
        });
      const table = await run('audit', 'list', '--out', inFolder('table'));
      expect(table).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--out requires --format csv or json'),
      });
    });
    expect(added).toEqual([]);
  });

  test('a file of any content is signed, its hash is in the trail', async () => {
    const accesses = await accessesBy(service, async () => {
      expect(await run('sign', inFolder('page.pdf'))).toMatchObject({ code: 0, stderr: '' });
    });
    const { bytes, sha256 } = JSON.parse(readFileSync(inFolder('page.pdf.manifest.json'), 'utf8'));
    expect(accesses).toEqual([{ action: 'file.signed', query: { bytes, sha256 } }]);
    expect((await cliVerify('page.pdf')).stdout).toMatch(/^A signed file of /);
  });

  describe.each([
    ['chartledger verify', cliVerify],
    ...(hasTools
      ? ([
          ['examples/verify_offline.py', async (...args: Parameters<typeof python>) => python(...args)],
        ] as const)
      : []),
  ] as const)('%s', (_name, verify) => {
    test.each([
      ...['audit.csv', 'disclosures.csv', 'history.json', 'state.csv', 'events.ndjson', 'events.csv'],
      ...['copy.zip', 'proof.json', 'certificate.json', 'page.pdf'],
    ])('%s is valid', async (file) => {
      expect(await verify(file)).toMatchObject({ code: 0, stderr: '' });
    });

    test('the foot of a printed page is compared with the proof of its event', async () => {
      const proof = ['--proof', inFolder('proof.json')];
      expect(await verify('page.html', ...proof)).toMatchObject({ code: 0, stderr: '' });
      const page = readFileSync(inFolder('page.html'), 'utf8');
      const root = /root (\w{64})/.exec(page)?.[1] as string;
      const cases: [RegExp | string, string, RegExp][] = [
        [/leaf \w{64}/, `leaf ${root}`, /leaf/],
        [/Evidence: /, '', /vidence/],
      ];
      for (const [from, to, problem] of cases) {
        writeFileSync(inFolder('changed.html'), page.replace(from, to));
        const found = await verify('changed.html', ...proof);
        expect(found).toMatchObject({ code: 1, stderr: expect.stringMatching(problem) });
      }
    });

    test('a PDF changed by one letter, and a CSV with a line less, are named', async () => {
      const pages = changed('page.pdf', (text) => text.replace('browser', 'Browser'));
      expect(await verify(pages)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('SHA-256 differs'),
      });
      for (const file of ['audit.csv', 'disclosures.csv']) {
        const lines = readFileSync(inFolder(file), 'utf8').split('\n').length - 1;
        expect(await verify(changed(file, withoutLine))).toMatchObject({
          code: 1,
          stderr: expect.stringContaining(`has ${lines - 1} lines, but the manifest says ${lines}`),
        });
      }
      const events = await verify(changed('events.csv', withoutLine));
      expect(events).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/\d+ events, but the manifest says/),
      });
      const lines = await verify(changed('events.ndjson', (text) => text.replace('Maria', 'Marie')));
      expect(lines).toMatchObject({ code: 1, stderr: expect.stringMatching(/line \d+ was changed/i) });
    });

    test('a manifest that says what the altered file has is no longer signed', async () => {
      const copy = changed('audit.csv', withoutLine);
      const path = inFolder(`${copy}.manifest.json`);
      writeFileSync(path, readFileSync(path, 'utf8').replace(/"lines": \d+/, '"lines": 1'));
      expect(await verify(copy)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('was changed after it was signed'),
      });
    });

    test('a report without its manifest is not valid', async () => {
      copyFileSync(inFolder('audit.csv'), inFolder('bare.csv'));
      const found = await verify('bare.csv');
      expect(found).toMatchObject({ code: 1, stderr: expect.stringContaining('manifest') });
    });

    test('the head of another log is named', async () => {
      const found = await verify('proof.json', '--head', inFolder('other-head.json'));
      expect(found).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/was signed with the key \w{16}, not with \w{16}/),
      });
    });
  });

  test.runIf(hasTools)(
    'the recipe checks signed heads, and proofs that a head continues another',
    async () => {
      expect(python('head.json')).toMatchObject({ code: 0, stderr: '' });
      expect(await run('verify', '--save-head', inFolder('later.json'))).toMatchObject({ code: 0 });
      await written('continued.json', ['heads', 'prove', inFolder('head.json'), inFolder('later.json')]);
      expect(python('continued.json')).toMatchObject({ code: 0, stderr: '' });
      const proof = JSON.parse(readFileSync(inFolder('continued.json'), 'utf8'));
      proof.consistency[0] = proof.first.root;
      writeFileSync(inFolder('broken.json'), JSON.stringify(proof));
      expect(python('broken.json')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('does not begin with'),
      });
      const file = inFolder('audit.csv');
      for (const wrong of [inFolder('nowhere.pem'), file]) {
        const { status, stderr } = spawnSync('python3', ['examples/verify_offline.py', file, wrong], {
          encoding: 'utf8',
        });
        expect([status, stderr]).toEqual([1, `NOT VALID: ${wrong} is no public key in PEM\n`]);
      }
    },
  );
});
