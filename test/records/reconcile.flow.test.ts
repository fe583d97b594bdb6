import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordDigest as clientDigest } from '../../clients/typescript/src/index.ts';
import { recordDigest } from '../../src/modules/records/queries/reconcile.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { linesOf } from '../support/client.ts';
import { expectDocumented } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines, onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';
import '../support/propertySeed.ts';

const RECONCILE = '/integration/reconcile';
const ndjson = { 'content-type': 'application/x-ndjson' };

interface Reconciled {
  results: Record<string, unknown>[];
  summary: Record<string, number>;
}

async function reconcile(
  client: Pick<TestService, 'send'>,
  lines: readonly (object | string)[],
  query = '',
): Promise<Reconciled> {
  const { status, text } = await client.send(`${RECONCILE}${query}`, {
    method: 'POST',
    body: linesOf(lines),
    headers: ndjson,
  });
  expect(status, text).toBe(200);
  const results = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { summary } = results.pop();
  return { results, summary };
}

const page = readFileSync(new URL('../../docs/guides/record-digests.md', import.meta.url), 'utf8');
const [, json = ''] = /```json\n(.*?)```/s.exec(page) ?? [];
const vectors: { name: string; record: { id: string }; sha256: string }[] = JSON.parse(json);

describe('the digest of a record', () => {
  test.each(vectors)('is that of the documentation: $name', async ({ record, sha256 }) => {
    expect(recordDigest(record)).toBe(sha256);
    expect(await clientDigest(record)).toBe(sha256);
  });

  test('of any fields is the same in the service and in the client', async () => {
    const fields = fc.dictionary(
      fc.string({ unit: 'grapheme' }),
      fc.oneof(fc.string({ unit: 'grapheme' }), fc.boolean()),
    );
    await fc.assert(
      fc.asyncProperty(fields, async (record) => {
        const whole = { ...record, id: 'payer' };
        expect(await clientDigest(whole)).toBe(recordDigest(whole));
      }),
    );
  });
});

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('each line is answered by version, digest or fields, and nothing is written', async () => {
    const payer = { ...samples.payer(), state: 'CT' };
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id, policy_number: 'P-1' } };
    await service.post(paths.payer, payer);
    await service.post(paths.patient, patient);
    const kind = 'payer';
    const { id } = payer;
    const view = (await service.get(pathOf('payer', id))).body.record;
    const other = { ...payer, state: 'MA', city: null };
    const insured = { ...patient, primary_insurance: { payer_id: payer.id, policy_number: 'P-2' } };
    const lines = [
      { kind, id },
      { kind, id, version: 1, digest: recordDigest(payer) },
      { kind, id, digest: recordDigest(view).toUpperCase() },
      { kind, record: view },
      { kind, record: { ...payer, city: null } },
      { kind, id, version: 2 },
      { kind, id, digest: recordDigest(other) },
      { kind, record: other },
      { kind: 'patient', record: insured },
      { kind, id: 'payer-of-nobody', version: 1 },
    ];
    let appended: string[] = [];
    const accesses = await accessesBy(service, async () => {
      appended = await appendedBy(service, async () => {
        const { results, summary } = await reconcile(service, lines);
        const same = { kind, id, outcome: 'same', version: 1 };
        const different = { kind, id, outcome: 'different', version: 1 };
        expect(results).toEqual([
          ...[1, 2, 3, 4, 5].map((line) => ({ line, ...same })),
          { line: 6, ...different },
          { line: 7, ...different },
          { line: 8, ...different, different_fields: ['state'] },
          {
            ...{ line: 9, kind: 'patient', id: patient.id, outcome: 'different', version: 1 },
            different_fields: ['primary_insurance.policy_number'],
          },
          { line: 10, kind, id: 'payer-of-nobody', outcome: 'missing_here' },
        ]);
        expect(summary).toEqual({
          ...{ lines: 10, same: 5, different: 4, missing_here: 1 },
          ...{ merged: 0, erased: 0, unreadable: 0, refused: 0 },
        });
      });
    });
    expect(appended).toEqual([]);
    expect(accesses).toMatchObject([
      {
        action: 'record.reconcile',
        kind,
        query: { same: 5, different: 3, missing_here: 1 },
        shown: { count: 8 },
      },
      { action: 'record.reconcile', kind: 'patient', query: { different: 1 }, shown: { count: 1 } },
    ]);
  });

  test('the command prints what is not the same, and fails then', async () => {
    const { id, ...fields } = samples.payer();
    const extra = samples.payer();
    for (const payer of [{ id, ...fields }, extra]) await service.post(paths.payer, payer);
    const file = join(temporaryFolder(), 'emr.ndjson');
    const env = { CHARTLEDGER_URL: service.url, CHARTLEDGER_API_KEY: String(service.key) };
    const same = { kind: 'payer', id, version: 1 };
    writeFileSync(file, linesOf([same]));
    expect(await runCli(['reconcile', file], { env })).toMatchObject({ code: 0, stdout: '1 line: 1 same\n' });
    writeFileSync(file, linesOf([same, { kind: 'payer', record: { id, ...fields, name: 'Other' } }]));
    const { code, stdout } = await runCli(['reconcile', file, '--missing-there', 'payer'], { env });
    expect(code).toBe(1);
    expect(stdout).toContain(`different      line 2  payer ${id}  name\n`);
    expect(stdout).toMatch(new RegExp(`^missing there +payer ${extra.id}$`, 'm'));
    expect(stdout).toMatch(/^2 lines: 1 same, 1 different, \d+ missing there$/m);
  });

  test.each<[string, object | string, object]>([
    [
      'that is no JSON',
      `{"kind":"payer","id":"${phi('cut')}`,
      { kind: null, id: null, code: 'malformed_body' },
    ],
    ['that is no object', '[]', { kind: null, id: null, code: 'validation_failed' }],
    [
      'of an unknown kind',
      { kind: 'claim', id: 'c-1' },
      { kind: null, id: 'c-1', details: [{ field: 'kind' }] },
    ],
    ['without an id', { kind: 'payer' }, { kind: 'payer', id: null, details: [{ field: 'id' }] }],
    ['with an empty id', { kind: 'payer', id: '' }, { kind: 'payer', id: null, details: [{ field: 'id' }] }],
    [
      'with two ids',
      { kind: 'payer', id: 'a', record: { id: 'b', name: 'B' } },
      { details: [{ field: 'id' }] },
    ],
    ['with a misspelled field', { kind: 'payer', id: 'a', digets: '' }, { details: [{ field: 'digets' }] }],
    ['with another digest', { kind: 'payer', id: 'a', digest: 'md5' }, { details: [{ field: 'digest' }] }],
    ['with version 0', { kind: 'payer', id: 'a', version: 0 }, { details: [{ field: 'version' }] }],
    ['with half a record', { kind: 'payer', record: { id: 'a' } }, { details: [{ field: 'name' }] }],
  ])('a line %s is refused, and no other', async (_name, line, refusal) => {
    const appended = await appendedBy(service, async () => {
      const { results, summary } = await reconcile(service, [line, { kind: 'payer', id: 'payer-none' }]);
      expect(results).toMatchObject([
        { line: 1, outcome: 'refused', ...refusal },
        { line: 2, outcome: 'missing_here' },
      ]);
      expect(summary).toMatchObject({ lines: 2, refused: 1, missing_here: 1 });
    });
    expect(appended).toEqual([]);
  });

  test('a key compares only kinds that it may read', async () => {
    const scoped = service.as((await service.createKey('clinic', ['read:payer'])).key);
    const { results } = await reconcile(scoped, [
      { kind: 'payer', id: 'payer-none' },
      { kind: 'patient', id: 'patient-none' },
    ]);
    expect(results).toMatchObject([
      { outcome: 'missing_here' },
      { outcome: 'refused', code: 'permission_denied', kind: 'patient', id: 'patient-none' },
    ]);
    const body = linesOf([]);
    const asked = (client: Pick<TestService, 'send'>, query: string, headers = ndjson) =>
      client.send(`${RECONCILE}${query}`, { method: 'POST', body, headers });
    const writer = service.as((await service.createKey('clinic', ['write'])).key);
    const appended = await appendedBy(service, async () => {
      const openapi = (await service.get('/openapi/json')).body;
      for (const [answer, status] of [
        [await asked(scoped, '?missing_there=patient'), 403],
        [await asked(writer, ''), 403],
        [await asked(service, '?missing_there=claim'), 400],
        [await asked(service, '?same=hide'), 400],
        [await asked(service, '', { 'content-type': 'text/plain' }), 415],
        [await asked(service, '', { ...ndjson, 'content-encoding': 'br' } as typeof ndjson), 415],
      ] as const) {
        expect(answer.status).toBe(status);
        expectDocumented(openapi, 'reconcile', answer);
      }
    });
    expect(appended).toEqual([]);
  });

  test('lines are answered while others are still to come, and a compressed body is read', async () => {
    const { hostname, port } = new URL(service.url);
    const headers = { ...ndjson, 'x-api-key': String(service.key) };
    const outgoing = request({ hostname, port, path: RECONCILE, method: 'POST', headers });
    const line = `${JSON.stringify({ kind: 'payer', id: 'payer-none' })}\n`;
    outgoing.write(line.repeat(1_000));
    const incoming = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      outgoing.on('response', resolve);
      outgoing.on('error', reject);
    });
    incoming.setEncoding('utf8');
    let text = '';
    for await (const part of incoming) {
      text += part;
      if (text.split('\n').length === 1_001) outgoing.end(line);
    }
    expect(JSON.parse(text.trimEnd().split('\n').at(-1) as string)).toMatchObject({
      summary: { lines: 1_001 },
    });
    const zipped = await service.send(RECONCILE, {
      method: 'POST',
      body: gzipSync(line),
      headers: { ...ndjson, 'content-encoding': 'gzip' },
    });
    expect(zipped.text).toContain('"lines":1');
    const expecting = { ...headers, expect: '100-continue', 'content-length': String(line.length) };
    const invited = request({ hostname, port, path: RECONCILE, method: 'POST', headers: expecting });
    invited.on('continue', () => invited.end(line));
    const [answer] = await once(invited, 'response');
    expect(answer.statusCode).toBe(200);
    answer.resume();
  });
});

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('agrees with a fold over random writes, changes, merges and erasures', async () => {
    const env = storesOf(service.config);
    const workspace = ['--workspace', service.workspaceId('clinic')];
    const choices = fc.sample(
      fc.record({ at: fc.nat(19), name: fc.constantFrom('Ana', 'Bea', 'Cid'), what: fc.nat(9) }),
      {
        numRuns: 120,
      },
    );
    const ids = Array.from({ length: 20 }, () => phi('patient'));
    const records = new Map<string, { version: number; fields: Record<string, unknown> }>();
    const write = async (id: string, fields: Record<string, unknown>) => {
      const before = records.get(id) ?? { version: 0, fields: {} };
      const sample = before.version === 0 ? samples.patient() : {};
      const sent = { ...sample, ...fields, id };
      expect((await service.post(paths.patient, { ...before.fields, ...sent })).status).toBe(200);
      records.set(id, { version: before.version + 1, fields: { ...before.fields, ...sent } });
    };
    for (const { at, name, what } of choices) {
      const [id, into] = [ids[at] as string, ids[0] as string];
      if (what === 0 && at > 0 && records.has(into)) await write(id, { merged_into: into });
      else await write(id, { first_name: name });
    }
    const present = [...records.keys()];
    const erased = present.slice(-2).filter((id) => records.get(id)?.fields.merged_into === undefined);
    for (const id of erased) {
      expect(
        (await runCli(['records', 'erase', 'patient', id, ...workspace, '--reason', 'Request'], { env }))
          .code,
      ).toBe(0);
    }
    const unsent = present.slice(1, 4).filter((id) => !erased.includes(id));
    const lines: object[] = [];
    const expected: object[] = [];
    const expects = (id: string, line: object, outcome: string) => {
      const { version, fields } = records.get(id) ?? {};
      const into = outcome !== 'missing_here' && outcome !== 'erased' ? fields?.merged_into : undefined;
      lines.push({ kind: 'patient', ...line });
      expected.push({
        ...{ line: lines.length, kind: 'patient', id, outcome },
        ...(outcome !== 'erased' && version !== undefined && { version }),
        ...(into !== undefined && { merged_into: into }),
        ...('record' in line && outcome === 'different' && { different_fields: ['first_name'] }),
        ...('record' in line && outcome === 'merged' && { different_fields: ['merged_into'] }),
      });
    };
    for (const id of present.filter((id) => !unsent.includes(id))) {
      const { version, fields } = records.get(id) as { version: number; fields: { id: string } };
      if (erased.includes(id)) {
        expects(id, { id, version }, 'erased');
        continue;
      }
      const { merged_into, ...unmerged } = fields as Record<string, unknown>;
      expects(id, { id, version, digest: recordDigest(fields) }, 'same');
      expects(id, { record: fields }, 'same');
      if (merged_into !== undefined) expects(id, { record: unmerged }, 'merged');
      else expects(id, { record: { ...fields, first_name: 'Eva' } }, 'different');
    }
    expects('patient-none', { id: 'patient-none' }, 'missing_here');
    const appended = await appendedBy(service, async () => {
      const { results, summary } = await reconcile(service, lines, '?missing_there=patient');
      const there = results.splice(lines.length);
      expect(results.map(({ erased_at, ...result }) => result)).toEqual(expected);
      expect(there).toEqual(
        unsent.map((id) => ({
          kind: 'patient',
          id,
          outcome: 'missing_there',
          version: records.get(id)?.version,
        })),
      );
      expect(summary).toMatchObject({
        lines: lines.length,
        missing_there: unsent.length,
        erased: erased.length,
      });
      const omitted = await reconcile(service, lines, '?same=omit');
      expect(omitted.results).toEqual(results.filter(({ outcome }) => outcome !== 'same'));
    });
    expect(appended).toEqual([]);
  });
});
