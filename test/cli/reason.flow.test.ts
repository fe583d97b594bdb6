import { mkdtempSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../../src/cli/program.ts';
import { runOn } from '../../src/server/terminal.ts';
import { runCli, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, newEvents, sharedService, type TestService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  const patient = samples.patient();
  const home = mkdtempSync(join(tmpdir(), 'reason-'));
  beforeAll(async () => {
    service = await sharedService();
    await service.post('/integration/patients', patient);
  });
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const environment = (env: Record<string, string> = {}) => ({
    ...{ ...storesOf(service.config), DATA_DIR: service.config.dataDir, HOME: home },
    ...env,
  });
  const command = () => ['records', 'history', 'patient', patient.id, '--workspace', clinic()];
  const history = (args: string[] = [], env: Record<string, string> = {}) =>
    runCli([...command(), ...args], { env: environment(env) });
  const recorded = async (work: () => Promise<unknown>) =>
    (await newEvents(service, work)).map(({ metadata, data }) => [metadata.principal.id, data.disclosed_to]);

  test('a command names who runs it, and why: by options, by the environment, otherwise by the account', async () => {
    const account = userInfo().username;
    const why = { purpose_statement: 'Request 2026-117' };
    expect(await recorded(() => history())).toEqual([[account, undefined]]);
    const stated = ['--as', 'Ana Lopez', '--reason', 'Request 2026-117'];
    expect(await recorded(() => history(stated))).toEqual([['Ana Lopez', why]]);
    const env = { CHARTLEDGER_AS: 'Ben Okoye', CHARTLEDGER_REASON: 'Request 2026-117' };
    expect(await recorded(() => history([], env))).toEqual([['Ben Okoye', why]]);
    expect(await history(['--as', 'A\u0007'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--as must have/),
    });
    const report = await runCli(
      ['disclosures', 'list', 'patient', patient.id, '--workspace', clinic(), '--format', 'json'],
      { env: environment() },
    );
    const read = JSON.parse(report.stdout).disclosures.find(
      ({ principal }: { principal: { id: string } }) => principal.id === 'Ana Lopez',
    );
    expect(read).toMatchObject({ status: 'internal_use', purpose_statement: 'Request 2026-117' });
  });

  test.runIf(userInfo().username === 'root')(
    'at a terminal, the name is asked for once and kept',
    async () => {
      const ask = async (typed: string) => {
        let asked = '';
        const output = () => new Writable({ write: (_chunk, _encoding, done) => done() });
        const stderr = new Writable({
          write(chunk, _encoding, done) {
            asked += chunk;
            done();
          },
        });
        const stdin = Object.assign(new PassThrough(), { isTTY: true });
        stdin.end(`${typed}\n`);
        await runOn({ env: environment(), stdin, stdout: output(), stderr }, () => runCommand(command()));
        return asked;
      };
      const names: unknown[] = [];
      names.push(...(await recorded(async () => expect(await ask('Cy Young')).toContain('Your name'))));
      names.push(...(await recorded(async () => expect(await ask('')).not.toContain('Your name'))));
      expect(names).toEqual([
        ['Cy Young', undefined],
        ['Cy Young', undefined],
      ]);
      expect(await readFile(join(home, '.config/chartledger/name'), 'utf8')).toBe('Cy Young\n');
    },
  );

  describe('in a workspace that requires a reason', () => {
    beforeAll(async () => {
      const set = ['workspaces', 'set', clinic(), '--reason', 'required'];
      expect(await runCli(set, { env: environment() })).toMatchObject({ code: 0 });
    });

    test('a command without a name or a reason is wrong usage, and reads nothing', async () => {
      const appended = await appendedBy(service, async () => {
        const unnamed = await history([], { XDG_CONFIG_HOME: join(home, 'none') });
        expect(unnamed).toMatchObject({ code: 2, stdout: '' });
        expect(unnamed.stderr).toMatch(/^error: The workspace requires/);
        const stated = await history(['--as', 'Ana Lopez']);
        expect(stated).toMatchObject({ code: 2, stdout: '' });
        expect(stated.stderr).toMatch(/add --reason TEXT, or set CHARTLEDGER_REASON/);
      });
      expect(appended).toEqual([]);
      expect(await history(['--as', 'Ana Lopez', '--reason', 'Audit'])).toMatchObject({ code: 0 });
    });

    test('a read with a key needs a Purpose-Statement, or a key whose purpose is stated; a write needs none', async () => {
      const path = `/integration/patients/${encodeURIComponent(patient.id)}`;
      // The service learns within a second what a command has set.
      await eventually(async () => {
        const refused = await service.get(path);
        expect(refused).toMatchObject({ status: 403, body: { code: 'reason_required' } });
      });
      for (const other of ['/integration/patients', `${path}/history`])
        expect((await service.get(other)).body.code).toBe('reason_required');
      const reader = await service.createKey('clinic', ['events']);
      expect((await service.as(reader.key).get('/events')).body.code).toBe('reason_required');
      const sent = await service.send(path, { headers: { 'purpose-statement': 'Claim 17' } });
      expect(sent.status).toBe(200);
      const terms = { purpose: 'payment', purpose_statement: 'Claims of the clinic' } as const;
      const { key } = await service.keys.createKey(clinic(), 'Billing', ['read'], terms);
      expect((await service.as(key).get(path)).status).toBe(200);
      expect((await service.post('/integration/patients', { ...patient, city: phi('city') })).status).toBe(
        200,
      );
    });
  });
});
