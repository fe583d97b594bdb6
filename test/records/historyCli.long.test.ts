import { userInfo } from 'node:os';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordStream } from '../../src/domain/events/streams.ts';
import { type CliResult, runCli, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import {
  createEncounter,
  documentForm,
  documentsPath,
  pathOf,
  paths,
  pdf,
  samples,
  TestWorkspace,
} from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, newEvents, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** Runs `chartledger records history` on the stores of the running service, in its workspace. */
  function history(...args: string[]): Promise<CliResult> {
    const workspace = ['--workspace', service.workspaceId('clinic')];
    return runCli(['records', 'history', ...args, ...workspace], { env: storesOf(service.config) });
  }

  /** A payer in three versions; the second changes nothing. */
  async function payerOfThree(city = phi('Omaha')) {
    const payer = { ...samples.payer(), city };
    await service.post(paths.payer, payer);
    await service.post(paths.payer, payer);
    await service.post(paths.payer, { ...payer, city: null });
    return payer;
  }

  test('json is one array of what the interface answers', async () => {
    const payer = await payerOfThree();
    const { items } = (await service.get(`${pathOf('payer', payer.id)}/history`)).body;
    const all = await history('payer', payer.id, '--format', 'json');
    expect(all).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(all.stdout)).toEqual(items);
    const newest = await history('payer', payer.id, '--format', 'json', '--limit', '2');
    expect(JSON.parse(newest.stdout)).toEqual(items.slice(0, 2));
  });

  test('a table has a line a version and a line a change', async () => {
    const payer = await payerOfThree();
    const { stdout, code } = await history('payer', payer.id);
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^VERSION {2}RECORDED AT {15}OUTCOME {4}BY {24}FROM$/);
    const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]{12}Z`;
    const version = (number: number, outcome: string) =>
      new RegExp(`^${number} {8}${time}  ${outcome} +Test key +127.0.0.1$`);
    expect(lines[1]).toMatch(version(3, 'updated'));
    expect(lines[2]?.trim()).toBe(`city: "${payer.city}" → null`);
    expect(lines[3]).toMatch(version(2, 'unchanged'));
    expect(lines[4]).toMatch(version(1, 'created'));
    expect(lines.slice(5).map((line) => line.trim())).toEqual([
      `id: null → "${payer.id}"`,
      `name: null → "${payer.name}"`,
      `city: null → "${payer.city}"`,
    ]);
  });

  test('a table holds nothing that steers a terminal', async () => {
    const payer = await payerOfThree('\u001b[2J\u009b2J\n\u202eevil');
    const { stdout } = await history('payer', payer.id);
    expect(stdout).toContain('evil');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  });

  test('csv has a row a change, and no cell that a spreadsheet would run', async () => {
    const tricky = ['=1+1', '+1', '-1', '@a', '\ta', 'a"b', 'a,b', 'a\r\nb', "'a", 'a=1'];
    const safe = ["'=1+1", "'+1", "'-1", "'@a", "'\ta", 'a"b', 'a,b', 'a\r\nb', "'a", 'a=1'];
    const payer = samples.payer();
    const workspace = new TestWorkspace(service.workspaceId('clinic'));
    const stream = recordStream(workspace.id, 'payer', payer.id);
    for (const city of tricky) {
      // Earlier versions stored tabs and line breaks.
      if (/[\t\n]/.test(city))
        await service.eventLog.append(stream, workspace.event({ ...payer, city }, 'PayerUpserted'), 'any');
      else await service.post(paths.payer, { ...payer, city });
    }
    await service.post(paths.payer, payer);
    const { stdout } = await history('payer', payer.id, '--format', 'csv');
    expect(stdout.endsWith('\r\n')).toBe(true);
    const rows: Record<string, string>[] = parse(stdout, { columns: true, record_delimiter: '\r\n' });
    expect(rows[0]).toMatchObject({ version: '11', outcome: 'unchanged', field: '', from: '', to: '' });
    const cities = rows.filter(({ field }) => field === 'city');
    expect(cities.map(({ to }) => to)).toEqual(safe.toReversed());
    expect(cities.at(-1)).toMatchObject({ version: '1', outcome: 'created', from: '' });
    expect(cities[0]).toMatchObject({
      principal_type: 'api_key',
      principal_name: 'Test key',
      client_ip: '127.0.0.1',
      type: 'PayerUpserted',
    });
  });

  test('--as-of prints the record as it was', async () => {
    const payer = { ...samples.payer(), city: phi('Omaha') };
    await service.post(paths.payer, payer);
    const first = (await service.get(pathOf('payer', payer.id))).body;
    await eventually(async () => {
      await service.post(paths.payer, { ...payer, city: phi('Lincoln') });
      const { updated_at } = (await service.get(pathOf('payer', payer.id))).body;
      expect(updated_at > first.updated_at).toBe(true);
    });
    const asOf = (format: string) =>
      history('payer', payer.id, '--as-of', first.updated_at, '--format', format);
    expect(JSON.parse((await asOf('json')).stdout)).toEqual(first);
    expect((await asOf('table')).stdout).toContain(`\ncity        "${payer.city}"\n`);
    const rows = parse((await asOf('csv')).stdout, { columns: true });
    expect(rows).toEqual([expect.objectContaining({ version: '1', id: payer.id, city: payer.city })]);
    const before = await history('payer', payer.id, '--as-of', '1999-12-31');
    expect(before).toEqual({ code: 1, stdout: '', stderr: 'The payer did not exist at that time.\n' });
  });

  describe('documents', () => {
    test('have their files in the history, also when they were removed', async () => {
      const encounter = await createEncounter(service);
      const id = phi('document');
      const content = pdf(phi('content'));
      await service.upload(documentsPath(encounter), documentForm({ document_id: id, content }));
      const uploaded = (await service.get(documentsPath(encounter))).body.items[0];
      await service.delete(documentsPath(encounter, id));
      const { items } = (await service.get(`${documentsPath(encounter, id)}/history`)).body;
      const show = (...args: string[]) => history('document', id, '--encounter', encounter, ...args);
      expect(JSON.parse((await show('--format', 'json')).stdout)).toEqual(items);
      const table = (await show()).stdout.split('\n');
      expect(table[1]).toMatch(/^2 .* removed .*Test key/);
      expect(table[2]).toMatch(/^1 .* uploaded .*Test key/);
      expect(table[3]?.trim()).toBe(`lab_results, "report.pdf", ${content.length} bytes, kept`);
      expect(table[4]?.trim()).toBe(`sha256 ${uploaded.sha256}`);
      const rows = parse((await show('--format', 'csv')).stdout, { columns: true });
      expect(rows).toEqual([
        expect.objectContaining({ version: '2', sha256: '', content_available: 'false' }),
        expect.objectContaining({ version: '1', sha256: uploaded.sha256, content_available: 'true' }),
      ]);
      const gone = await show('--as-of', '2999-01-01');
      expect(gone).toMatchObject({ code: 1, stdout: '', stderr: 'The document was removed in version 2.\n' });
    });

    test('are shown as they were', async () => {
      const encounter = await createEncounter(service);
      const id = phi('document');
      await service.upload(documentsPath(encounter), documentForm({ document_id: id }));
      const { items } = (await service.get(documentsPath(encounter))).body;
      const args = ['document', id, '--encounter', encounter, '--as-of', '2999-01-01', '--format', 'json'];
      expect(JSON.parse((await history(...args)).stdout)).toEqual(items[0]);
    });
  });

  test('the audit trail names the operator, what was read and how it was asked', async () => {
    const payer = await payerOfThree();
    const events = await newEvents(service, async () => {
      await history('payer', payer.id, '--limit', '2');
      await history('payer', payer.id, '--as-of', '2999-01-01');
    });
    const record = { kind: 'payer', record_id: payer.id };
    expect(events.map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'AccessRecorded', data: { action: 'record.history', ...record, query: { limit: 2 } } },
      { type: 'AccessRecorded', data: { action: 'record.read', ...record, query: { as_of: '2999-01-01' } } },
    ]);
    for (const { metadata } of events) {
      expect(metadata).toMatchObject({
        workspace: service.workspaceId('clinic'),
        principal: { type: 'operator', id: userInfo().username },
      });
    }
  });

  /** Runs a command that is refused; asserts its exit code and what it says, and that it prints nothing else. */
  async function expectRefused(code: number, refusals: [string[], string][]) {
    const accesses = await accessesBy(service, async () => {
      const appended = await appendedBy(service, async () => {
        for (const [args, message] of refusals) {
          const result = await runCli(['records', 'history', ...args], { env: storesOf(service.config) });
          expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code, stdout: '' });
          expect(result.stderr).toContain(message);
        }
      });
      expect(appended).toEqual([]);
    });
    expect(accesses).toEqual([]);
  }

  const clinic = () => ['--workspace', service.workspaceId('clinic')];

  test('what is not there says so and leaves no trace', async () => {
    const payer = await payerOfThree();
    const elsewhere = service.workspaceId('elsewhere_cli');
    await service.keys.createWorkspace(elsewhere);
    await expectRefused(1, [
      [['payer', phi('nowhere'), ...clinic()], 'Payer not found.\n'],
      [['payer', payer.id, '--workspace', elsewhere], 'Payer not found.\n'],
      [['payer', payer.id, '--workspace', 'not_there'], 'Workspace not_there does not exist.\n'],
      [['document', 'd', '--encounter', phi('none'), ...clinic()], 'Document not found.\n'],
    ]);
  });

  test('what makes no sense ends with 2 and says what to do', async () => {
    const payer = await payerOfThree();
    const of = (...args: string[]) => ['payer', payer.id, ...args, ...clinic()];
    await expectRefused(2, [
      [['payer', payer.id], '--workspace <id>'],
      [['cat', payer.id, ...clinic()], 'Allowed choices are payer, patient'],
      [['document', 'd', ...clinic()], 'specify the encounter of the document with --encounter'],
      [of('--encounter', 'e'), '--encounter is only for the kind document'],
      [of('--limit', '0'), 'Specify a whole number of 1 or more.'],
      [of('--as-of', 'noon'), 'Specify an ISO 8601 date or date-time'],
      [of('--limit', '1', '--as-of', '2026-01-01'), 'cannot be used with'],
      [of('--format', 'xml'), 'Allowed choices are table, json, csv'],
    ]);
  });

  test('its help has an example of every form and warns of the apostrophe', async () => {
    const { code, stdout } = await runCli(['records', 'history', '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('$ chartledger records history patient patient-1001 --workspace clinic\n');
    expect(stdout).toContain(
      '$ chartledger records history document document-5001 --encounter encounter-4001',
    );
    expect(stdout.replace(/\s+/g, ' ')).toContain('has an apostrophe in front');
  });
});
