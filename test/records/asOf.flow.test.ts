import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { linesAsked, listed, nextMoment } from '../support/asOf.ts';
import { runCli, runInWorkspace, temporaryFolder } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { phi } from '../support/output.ts';
import { paths, samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

type Fields = Record<string, unknown>;

onSharedService((start) => {
  let service: TestService;
  let senders: { id: string; client: Client }[];
  let reader: Client;
  beforeAll(async () => {
    service = await start();
    senders = await Promise.all(
      [0, 1].map(async () => {
        const { id, key } = await service.createKey('clinic');
        return { id, client: service.as(key) };
      }),
    );
    reader = service.as((await service.createKey('clinic', ['read', 'events'])).key);
  });
  afterAll(() => service.stop());

  test('filters apply to what the fields were; the audit trail has what was shown', async () => {
    const [first, other] = [samples.patient(), samples.patient()];
    const client = senders[0]?.client as Client;
    for (const patient of [first, other]) await client.post(paths.patient, patient);
    const encounter = samples.encounter(first.id);
    await client.post(paths.encounter, encounter);
    const then = await nextMoment();
    await client.post(paths.encounter, { ...encounter, patient_id: other.id });
    const later = await nextMoment();
    const found = async (patient_id: string, as_of: string) =>
      (await listed(reader, '/integration/encounters', { patient_id, as_of })).map(({ id }) => id);
    expect([await found(first.id, then), await found(other.id, then)]).toEqual([[encounter.id], []]);
    expect([await found(first.id, later), await found(other.id, later)]).toEqual([[], [encounter.id]]);
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, () => found(first.id, then))).toEqual([]);
    });
    expect(accesses).toMatchObject([
      {
        action: 'record.list',
        kind: 'encounter',
        query: { patient_id: first.id, as_of: then },
        shown: { count: 1 },
      },
    ]);
  });

  test('the worklist as of a moment says of each encounter what its readiness as of then says', async () => {
    const client = senders[0]?.client as Client;
    const patient = samples.patient();
    await client.post(paths.patient, patient);
    const encounter = { ...samples.encounter(patient.id), is_completed: false };
    await client.post(paths.encounter, encounter);
    const then = await nextMoment();
    await client.post(paths.encounter, { ...encounter, is_completed: true, date_of_service: '2026-03-14' });
    const later = await nextMoment();
    const seen: unknown[] = [];
    for (const as_of of [then, later]) {
      const items = await listed(reader, '/integration/readiness', { as_of });
      const item = items.find(({ id }) => id === encounter.id) as unknown as Fields;
      const { body } = await reader.get(`/integration/encounters/${encounter.id}/readiness?as_of=${as_of}`);
      const rules = (findings: unknown) =>
        (findings as { rule: string }[]).map(({ rule }) => rule).toSorted();
      expect([item.state, rules(item.findings)]).toEqual([body.state, rules(body.findings)]);
      seen.push(item.state);
      const inState = await listed(reader, '/integration/readiness', { as_of, state: body.state });
      expect(inState.map(({ id }) => id)).toContain(encounter.id);
    }
    expect(seen[0]).not.toBe(seen[1]);
  });

  test('what cannot be answered is refused, and says what to change', async () => {
    const future = new Date(Date.now() + 3_600_000).toISOString();
    const refused = [
      ['/integration/patients?as_of=2026-01-01&sort=-updated_at', 'as_of'],
      ['/integration/patients?as_of=2026-01-01&updated_since=2026-01-01', 'as_of'],
      ['/integration/patients?as_of=2026-01-01&consistency=eventual', 'as_of'],
      [`/integration/patients?as_of=${future}`, 'as_of'],
      ['/integration/patients?as_of=yesterday', 'as_of'],
      ['/integration/readiness?as_of=2026-01-01&sort=filing', 'as_of'],
      [`/integration/snapshot?kind=payer&as_of=${future}`, 'as_of'],
      ['/integration/snapshot?kind=payer&view=deidentified&as_of=2026-01-02', 'as_of'],
      ['/integration/diff', 'since'],
      ['/integration/diff?since=2026-01-02&until=2026-01-01', 'since'],
      [`/integration/diff?since=2026-01-02&until=${future}`, 'until'],
    ];
    const full = service.as(
      (await service.createKey('clinic', ['read', 'events', 'events:deidentified'])).key,
    );
    const part = service.as((await service.createKey('clinic', ['read:payer'])).key);
    const appended = await appendedBy(service, async () => {
      for (const [path, field] of refused) {
        const { status, body } = await full.get(path as string);
        expect([path, status, body.details?.[0]?.field]).toEqual([path, 400, field]);
      }
      const { status, body } = await reader.get('/integration/patients?as_of=1999-12-31');
      expect([status, body.items]).toEqual([200, []]);
      const asked = '/integration/diff?since=2026-01-01';
      const answers = [await part.get(`${asked}&kind=payer`), await part.get(asked)];
      expect(answers.map((answer) => answer.status)).toEqual([200, 403]);
    });
    expect(appended).toEqual([]);
    const year = `${new Date().getUTCFullYear()}-01-01`;
    const snapshot = await linesAsked(reader, `/integration/snapshot?kind=payer&view=full&as_of=${year}`);
    expect(snapshot.at(-1)).toEqual({ end: { count: 0, unreadable: 0 } });
  });

  test('the command lists as of a moment, and shows differences with counts, or as a file with a manifest', async () => {
    const client = senders[0]?.client as Client;
    const payer = { ...samples.payer(), city: phi('Omaha') };
    const { id, key } = await service.createKey('clinic', ['read']);
    await client.post(paths.payer, payer);
    const then = await nextMoment();
    const city = phi('Lincoln');
    await client.post(paths.payer, { ...payer, city });
    const until = await nextMoment();
    const listing = await runCli(
      ['records', 'list', 'payer', '--url', service.url, '--as-of', then, '--json'],
      { env: { CHARTLEDGER_API_KEY: key } },
    );
    const items: { id: string; version: number; record: Fields }[] = JSON.parse(listing.stdout);
    expect(items.find((item) => item.id === payer.id)).toMatchObject({ version: 1, record: payer });
    const diff = (...args: string[]) =>
      runInWorkspace(service, 'diff', '--since', then, '--until', until, ...args);
    const out = join(temporaryFolder(), 'diff.csv');
    const accesses = await accessesBy(service, async () => {
      const appended = await appendedBy(service, async () => {
        const { code, stdout, stderr } = await diff();
        expect([code, stderr]).toEqual([0, '']);
        expect(stdout).toMatch(
          /payer +1 changed[\s\S]*1 {2}payer\.city[\s\S]*1 {2}api_key Test key, in 1 record[\s\S]*payer .*: changed/,
        );
        expect(stdout).toContain(`city: "${payer.city}" → "${city}", version 2`);
        const json = JSON.parse(
          (await diff('--format', 'json', '--principal', senders[0]?.id as string)).stdout,
        );
        expect(json).toMatchObject({ since: then, until, counts: { fields: { 'payer.city': 1 } } });
        expect(json.items).toMatchObject([{ kind: 'payer', id: payer.id, change: 'changed' }]);
        expect(JSON.parse((await diff('--format', 'json', '--principal', id)).stdout).items).toEqual([]);
        expect((await diff('--format', 'csv', '--out', out)).code).toBe(0);
        expect((await diff('--format', 'csv', '--out', out)).code).toBe(1);
      });
      expect(appended).toEqual([]);
    });
    const file = readFileSync(out, 'utf8');
    expect(file).toContain(`payer,${payer.id},,changed,city,${payer.city},${city},2,`);
    const manifest = JSON.parse(readFileSync(`${out}.manifest.json`, 'utf8'));
    expect(manifest).toMatchObject({
      ...{ report: 'diff', query: { since: then, until, format: 'csv' } },
      sha256: createHash('sha256').update(file).digest('hex'),
    });
    expect(new Set(accesses.map(({ action }) => action))).toEqual(new Set(['record.diff']));
    const refused = await runInWorkspace(service, 'diff', '--since', '2999-01-01');
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--since must be before the later moment'),
    });
  });

  test('a list as of a moment is not changed by what is written between two pages', async () => {
    const client = senders[0]?.client as Client;
    const payers = Array.from({ length: 4 }, () => ({ ...samples.payer(), city: 'Omaha' }));
    for (const payer of payers) await client.post(paths.payer, payer);
    const as_of = await nextMoment();
    const seen: string[] = [];
    for (let token: string | null = ''; token !== null; ) {
      const sent = new URLSearchParams({ as_of, limit: '2', ...(token && { page_token: token }) });
      const { body } = await reader.get(`/integration/payers?${sent}`);
      for (const { id, record } of body.items) {
        if (payers.some((payer) => payer.id === id)) seen.push(`${id} ${record.city}`);
      }
      token = body.next_page_token;
      for (const payer of [...payers, samples.payer()])
        await client.post(paths.payer, { ...payer, city: 'Lincoln' });
    }
    expect(seen).toEqual(payers.map(({ id }) => `${id} Omaha`));
  });
});
