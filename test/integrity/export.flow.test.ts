import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { eventLeaf } from '../../src/domain/merkle.ts';

import { type CliResult, runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { notePhi, phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, newEvents, readAll, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  const inFolder = (name: string) => join(folder, name);
  const formula = '=1+1,"x"';
  let service: TestService;
  let encounter: string;
  let documentId: string;
  beforeAll(async () => {
    service = await start();
    encounter = await createEncounter(service);
    const form = documentForm();
    documentId = form.get('document_id') as string;
    await service.upload(documentsPath(encounter), form);
    notePhi(formula);
    await service.post('/integration/payers', { ...samples.payer(), id: formula, name: phi('@name') });
    expect((await service.get(`/integration/payers/${encodeURIComponent(formula)}`)).status).toBe(200);
    const { key } = await service.createKey('elsewhere');
    await service.as(key).post('/integration/payers', samples.payer());
  }, LONG_MS);
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const cli = (...args: string[]): Promise<CliResult> =>
    runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });
  const exported = (...args: string[]) => cli('export', '--workspace', clinic(), ...args);

  async function events(): Promise<RecordedEvent[]> {
    const all = await readAll(service.eventLog);
    return all.filter(({ metadata }) => metadata.workspace === clinic());
  }

  function lineOf(
    { position, dataText: _data, metadataText: _metadata, ...event }: RecordedEvent,
    index: number,
  ) {
    return { position, index, ...event, leaf: eventLeaf(event) };
  }

  const parsed = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));

  test('every event of the workspace and of no other is written, with a manifest that tells of it', async () => {
    const path = inFolder('all.ndjson');
    const result = await exported('--format', 'ndjson', '--out', path);
    const own = await events();
    expect(result).toEqual({
      code: 0,
      stderr: '',
      stdout: `${own.length} events in ${path}; ${path}.manifest.json is the manifest.\n`,
    });
    const bytes = readFileSync(path);
    expect(parsed(bytes.toString())).toEqual(own.map(lineOf));
    expect(new Set(own.map(({ type }) => type))).toEqual(
      new Set(
        ['WorkspaceCreated', 'ApiKeyCreated', 'AccessRecorded', 'DocumentUploaded'].concat(
          ['Patient', 'Encounter', 'Payer'].map((kind) => `${kind}Upserted`),
        ),
      ),
    );
    expect(JSON.parse(readFileSync(`${path}.manifest.json`, 'utf8'))).toEqual({
      type: 'chartledger.export_manifest.v1',
      workspace: clinic(),
      filters: { from: null, to: null, kind: null },
      format: 'ndjson',
      events: own.length,
      first_position: own[0]?.position,
      last_position: own.at(-1)?.position,
      first_recorded_at: own[0]?.recordedAt,
      last_recorded_at: own.at(-1)?.recordedAt,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      tree_head: expect.objectContaining({
        workspace: clinic(),
        size: own.length,
        last_event_id: own.at(-1)?.id,
      }),
      created_at: expect.any(String),
      key_id: expect.any(String),
      signature: expect.any(String),
    });
    for (const name of [path, `${path}.manifest.json`]) expect(statSync(name).mode & 0o777).toBe(0o600);
    expect([`${path}.part`, `${path}.part.checkpoint`].filter(existsSync)).toEqual([]);
    const later = await cli('verify', '--workspace', clinic(), '--head', `${path}.manifest.json`);
    expect(later).toMatchObject({ code: 0, stderr: '' });
  });

  test('the read is in the audit trail before the first byte, with what was asked for', async () => {
    const to = await service.eventLog.head();
    const accesses = await accessesBy(service, () => exported('--kind', 'payer', '--format', 'ndjson'));
    const shown = { ranges: [{ from: 1, to }], event_types: ['PayerUpserted', 'RecordErased'] };
    expect(accesses).toEqual([{ action: 'export', query: { kind: 'payer', format: 'ndjson' }, shown }]);
  });

  test('an export limited by time has the positions that it wrote in the audit trail, and none if it wrote none', async () => {
    const upload = (await events()).find(({ type }) => type === 'DocumentUploaded') as RecordedEvent;
    const from = upload.recordedAt;
    const to = new Date(Date.parse(from) + 1).toISOString();
    const within = (await events()).filter(({ recordedAt }) => recordedAt === from);
    const [first, last] = [within[0]?.position, within.at(-1)?.position];
    const accesses = await accessesBy(service, async () => {
      await exported('--since', from, '--until', to, '--format', 'ndjson');
      await exported('--until', '2020-01-01', '--format', 'ndjson');
      await exported('--since', from, '--until', to, '--kind', 'facility', '--format', 'ndjson');
    });
    const query = { from, to, format: 'ndjson' };
    const never = { to: '2020-01-01T00:00:00.000Z', format: 'ndjson' };
    expect(accesses).toEqual([
      { action: 'export', query },
      { action: 'export', query, shown: { ranges: [{ from: first, to: last }], count: within.length } },
      { action: 'export', query: never },
      { action: 'export', query: { ...query, kind: 'facility' } },
    ]);
  });

  test('filters choose by kind and by time: from is included, to is not', async () => {
    const own = await events();
    const types = async (...args: string[]) => {
      const { stdout } = await exported('--format', 'ndjson', ...args);
      return parsed(stdout).map(({ id, type }) => [id, type]);
    };
    const expected = (wanted: (event: RecordedEvent) => boolean) =>
      own.filter(wanted).map(({ id, type }) => [id, type]);
    for (const kind of ['payer', 'patient', 'encounter', 'document', 'facility']) {
      const ofKind = new RegExp(`^${kind}(?:Upserted|Uploaded)$`, 'i');
      expect(await types('--kind', kind)).toEqual(expected(({ type }) => ofKind.test(type)));
    }
    const upload = own.find(({ type }) => type === 'DocumentUploaded') as RecordedEvent;
    const at = upload.recordedAt;
    expect(await types('--since', at, '--until', own.at(-1)?.recordedAt as string)).toEqual(
      expected(({ recordedAt }) => recordedAt >= at && recordedAt < (own.at(-1)?.recordedAt as string)),
    );
    expect(await types('--until', at)).toEqual(expected(({ recordedAt }) => recordedAt < at));
    expect(await types('--until', '2020-01-01')).toEqual([]);
  });

  test('CSV has a row an event, and no cell that a spreadsheet would compute', async () => {
    const { code, stdout } = await exported('--format', 'csv');
    expect(code).toBe(0);
    const rows: Record<string, string>[] = parse(stdout, { columns: true });
    const own = await events();
    expect(rows.map(({ event_id }) => event_id)).toEqual(own.map(({ id }) => id));
    expect(rows.map(({ data }) => JSON.parse(data as string))).toEqual(own.map(({ data }) => data));
    const payer = rows.find(({ type }) => type === 'PayerUpserted');
    const event = own.find(({ type }) => type === 'PayerUpserted') as RecordedEvent;
    expect(payer).toEqual({
      position: String(event.position),
      recorded_at: event.recordedAt,
      type: 'PayerUpserted',
      action: '',
      kind: 'payer',
      record_id: `'${formula}`,
      document_id: '',
      version: '1',
      principal_type: 'api_key',
      principal_id: event.metadata.principal.id,
      principal_name: 'Test key',
      client_ip: event.metadata.clientIp,
      user_agent: event.metadata.userAgent ?? '',
      request_id: event.metadata.requestId,
      event_id: event.id,
      schema_version: '1',
      data: JSON.stringify(event.data),
    });
    expect(rows.find(({ type }) => type === 'DocumentUploaded')).toMatchObject({
      kind: 'document',
      record_id: encounter,
      document_id: documentId,
    });
    expect(rows.find(({ action }) => action === 'record.read')).toMatchObject({
      type: 'AccessRecorded',
      kind: 'payer',
      record_id: `'${formula}`,
    });
    for (const row of rows) for (const cell of Object.values(row)) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
    expect(stdout.split('\r\n')).toHaveLength(own.length + 2);
  });

  test('a file that is there stays as it is, unless told otherwise', async () => {
    const path = inFolder('twice.ndjson');
    const args = ['--format', 'ndjson', '--kind', 'payer', '--out', path];
    expect((await exported(...args)).code).toBe(0);
    const first = readFileSync(path);
    const added = await newEvents(service, async () => {
      expect(await exported(...args)).toEqual({
        code: 1,
        stdout: '',
        stderr: `${path} already exists. To replace it, use --force.\n`,
      });
    });
    expect(added).toEqual([]);
    await service.post('/integration/payers', samples.payer());
    expect((await exported(...args, '--force')).code).toBe(0);
    expect(parsed(readFileSync(path, 'utf8'))).toHaveLength(parsed(first.toString()).length + 1);
  });

  test('what cannot be exported is refused, and appends nothing', async () => {
    const good = ['--workspace', clinic(), '--format', 'csv'];
    const refusals: [string[], number, string][] = [
      [['--workspace', 'not_there', '--format', 'csv'], 1, 'Workspace not_there does not exist.'],
      [['--workspace', clinic()], 2, "required option '--format <format>'"],
      [['--format', 'csv'], 2, "required option '--workspace <id>'"],
      [[...good, '--since', '2026-02-30'], 2, 'It must be an ISO 8601 date'],
      [[...good, '--kind', 'claim'], 2, 'Allowed choices are payer, patient'],
      [[...good, '--out', inFolder('no/such/folder.csv')], 1, 'cannot be read or written (ENOENT)'],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [args, code, message] of refusals) {
        const result = await cli('export', ...args);
        expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code, stdout: '' });
        expect(result.stderr).toContain(message);
      }
    });
    expect(appended).toEqual([]);
  });
});
