import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { choices } from '../support/choices.ts';
import { runInWorkspace, spawnCli, temporaryFolder } from '../support/cli.ts';
import { linesOf } from '../support/client.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { readAll, type TestService } from '../support/service.ts';

const LONG_MS = 540_000;
const DAY = 86_400_000;
const synthea = resolve(process.cwd(), '../shared/data/synthea');

const hasDuckDb = (() => {
  try {
    execFileSync('duckdb', ['-c', 'SELECT 1'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
if (!hasDuckDb) process.stdout.write('Skipped: duckdb is not on the path.\n');
if (!existsSync(synthea)) process.stdout.write('Skipped: the Synthea export is not beside the repository.\n');

/** The queries of the guide, in its order. */
const [readmissions = '', coverage = '', seasons = ''] = [
  ...readFileSync('docs/guides/deidentified-analytics.md', 'utf8').matchAll(/^```sql\n(.*?)^```/gms),
].map(([, query = '']) => query);

type Fields = Record<string, unknown>;
type Row = Record<string, string | number | null>;

/** What the queries are held against: the records that were sent, folded by the test, by kind and id. */
async function recordsIn(service: TestService): Promise<Map<string, Map<string, Fields>>> {
  const kinds = new Map<string, Map<string, Fields>>();
  for (const { type, data } of await readAll(service.eventLog)) {
    const kind = /^(\w+)Upserted$/.exec(type)?.[1]?.toLowerCase();
    if (kind === undefined) continue;
    const records = kinds.get(kind) ?? new Map<string, Fields>();
    kinds.set(kind, records);
    const id = String(data.id);
    const merged = Object.entries({ ...records.get(id), ...data }).filter(([, value]) => value !== null);
    records.set(id, Object.fromEntries(merged));
  }
  return kinds;
}

/** Those of the specification; the view has no others. */
const commonTypes = ['Private', 'Medicare', 'Medicaid', 'Tricare', 'Workers Compensation', 'Self-Pay'];

const dayOf = (date: unknown) => Date.parse(String(date).slice(0, 10)) / DAY;

function readmissionsOf(encounters: Iterable<Fields>): Row {
  const stays = new Map<unknown, Set<number>>();
  for (const { patient_id, visit_type, date_of_service, voided_at } of encounters) {
    if (visit_type !== 'inpatient' || date_of_service === undefined || voided_at !== undefined) continue;
    stays.set(patient_id, (stays.get(patient_id) ?? new Set()).add(dayOf(date_of_service)));
  }
  const all = [...stays.values()].map((days) => [...days].sort((a, b) => a - b));
  const within = all.flatMap((days) => days.filter((day, at) => (days[at + 1] ?? Infinity) - day <= 30));
  return { stays: all.flat().length, readmitted: within.length };
}

function coverageOf(patients: Iterable<Fields>, payers: ReadonlyMap<string, Fields>): Row[] {
  const lengths = new Map<string | null, number[]>();
  for (const { primary_insurance } of patients) {
    const { payer_id, effective_date, termination_date } = (primary_insurance ?? {}) as Fields;
    if (effective_date === undefined || termination_date === undefined) continue;
    const { payer_type } = payers.get(String(payer_id)) ?? {};
    const type = commonTypes.includes(String(payer_type)) ? String(payer_type) : null;
    const days = dayOf(termination_date) - dayOf(effective_date) + 1;
    lengths.set(type, [...(lengths.get(type) ?? []), days]);
  }
  return [...lengths].map(([payer_type, days]) => ({
    ...{ payer_type, coverages: days.length },
    days: days.reduce((sum, one) => sum + one, 0),
  }));
}

/** Whole quarters since 1970. */
const quarterOf = (day: number) => {
  const at = new Date(day * DAY);
  return at.getUTCFullYear() * 4 + Math.floor(at.getUTCMonth() / 3);
};

onEmbeddedEngines((start) => {
  async function started(): Promise<TestService> {
    const service = await start({ BATCH_LINES_PER_MINUTE: '1000000000', RATE_LIMIT_PER_MINUTE: '0' });
    onTestFinished(() => service.stop());
    const file = join(temporaryFolder(), 'areas.csv');
    writeFileSync(file, 'zcta,population\n02101,12000\n02102,12000\n02139,1\n68101,20001\n68001,20000\n');
    const determination = 'Report of J. Doe, PhD, of 2026-02-01';
    const set = await runInWorkspace(
      service,
      ...['deidentification', 'set', '--zip-areas', file, '--dates', 'shifted'],
      ...['--determination', determination],
    );
    expect(set).toMatchObject({ code: 0, stderr: '' });
    return service;
  }

  /** Runs a query in the folder that has the warehouse, which the guide calls `research`. */
  async function warehouse(service: TestService) {
    const folder = temporaryFolder();
    const written = await runInWorkspace(
      service,
      ...['sink', 'parquet', join(folder, 'research'), '--view', 'deidentified'],
    );
    expect(written).toMatchObject({ code: 0, stderr: '' });
    return (query: string): Row[] =>
      JSON.parse(
        execFileSync('duckdb', ['-json', '-c', query], { cwd: folder, encoding: 'utf8' }).trim() || '[]',
      );
  }

  async function expectAnswers(
    service: TestService,
  ): Promise<{ stays: number; moved: number; visits: number }> {
    const run = await warehouse(service);
    const kinds = await recordsIn(service);
    const of = (kind: string) => kinds.get(kind) ?? new Map<string, Fields>();
    const [patients, encounters, payers] = ['patient', 'encounter', 'payer'].map(of) as [
      Map<string, Fields>,
      Map<string, Fields>,
      Map<string, Fields>,
    ];
    const expected = readmissionsOf(encounters.values());
    expect(run(readmissions)).toEqual([expected]);
    const byType = (rows: Row[]) =>
      rows.toSorted((a, b) => String(a.payer_type).localeCompare(String(b.payer_type)));
    const covered = run(coverage).map((row) => ({ ...row, days: Number(row.days) }));
    expect(byType(covered)).toEqual(byType(coverageOf(patients.values(), payers)));

    // A visit moves by at most 15 days, so a quarter gains and loses at most those that are so close to its ends.
    const counts = new Map<string, { visits: number; near: number }>();
    // Dates that would reveal an age of 90 are grouped, and so are those that are shifted among them.
    const firstQuarter = (new Date().getUTCFullYear() - 88) * 4;
    let [dated, old] = [0, 0];
    const count = (key: string, by: { visits: number; near: number }) => {
      const { visits, near } = counts.get(key) ?? { visits: 0, near: 0 };
      counts.set(key, { visits: visits + by.visits, near: near + by.near });
    };
    for (const { patient_id, date_of_service } of encounters.values()) {
      if (date_of_service === undefined) continue;
      const { zip_code } = patients.get(String(patient_id)) ?? {};
      const sent = String(zip_code ?? '').slice(0, 3);
      const area = sent === '' ? null : ['021', '681'].includes(sent) ? sent : '000';
      const day = dayOf(date_of_service);
      const quarter = quarterOf(day);
      dated += 1;
      if (quarter < firstQuarter) old += 1;
      count(`${area} ${quarter}`, { visits: 1, near: 0 });
      for (const near of new Set([quarterOf(day - 15), quarterOf(day + 15)]))
        if (near !== quarter)
          for (const one of [near, quarter]) count(`${area} ${one}`, { visits: 0, near: 1 });
    }
    const rows = run(seasons);
    const shown = new Map(
      rows.map((row) => [
        `${row.area} ${Number(row.year) * 4 + Number(row.quarter) - 1}`,
        Number(row.visits),
      ]),
    );
    let moved = 0;
    for (const key of new Set([...shown.keys(), ...counts.keys()])) {
      if (Number(key.split(' ')[1]) < firstQuarter) continue;
      const { visits, near } = counts.get(key) ?? { visits: 0, near: 0 };
      const difference = Math.abs((shown.get(key) ?? 0) - visits);
      expect([key, difference <= near]).toEqual([key, true]);
      moved += difference;
    }
    const total = [...shown.values()].reduce((sum, one) => sum + one, 0);
    expect(total).toBeLessThanOrEqual(dated);
    expect(total).toBeGreaterThanOrEqual(dated - old);
    return { stays: Number(expected.stays), moved, visits: total };
  }

  describe.skipIf(!hasDuckDb)(
    'the queries of the guide, on a warehouse of the de-identified view with shifted dates,',
    () => {
      beforeAll(() => {
        for (const query of [readmissions, coverage, seasons]) expect(query).toContain('research/');
      });

      test(
        'find in generated records the readmissions, coverages, quarters and areas that were sent',
        async () => {
          const service = await started();
          const choose = choices(46);
          const date = (from: string, days: number) =>
            new Date(Date.parse(from) + choose(days) * DAY).toISOString().slice(0, 10);
          const types = ['inpatient', 'inpatient', 'office_visit', 'emergency'];
          const zips = ['68102', '02139-0001', '68001', '10001', undefined];
          const payers = ['Medicare', 'Medicaid', undefined].map((payer_type, at) => ({
            kind: 'payer',
            record: { id: `payer-${at}`, name: `Payer ${at}`, payer_type },
          }));
          const patients = Array.from({ length: 80 }, (_, at) => {
            const effective_date = date('2024-01-01', 300);
            const termination_date = date(effective_date, 700);
            const primary_insurance = { payer_id: `payer-${choose(3)}`, effective_date, termination_date };
            const born = { date_of_birth: date('1940-01-01', 20_000), zip_code: zips[choose(5)] };
            const record = {
              id: `patient-${at}`,
              first_name: 'Ann',
              last_name: 'Lee',
              ...born,
              primary_insurance,
            };
            return { kind: 'patient', record };
          });
          const visits = Array.from({ length: 800 }, (_, at) => ({
            kind: 'encounter',
            record: {
              ...{ id: `encounter-${at}`, patient_id: `patient-${choose(80)}`, visit_type: types[choose(4)] },
              date_of_service: `${date('2024-01-01', 730)}T09:30:00Z`,
              ...(at % 50 === 0 && { voided_at: '2025-06-01' }),
            },
          }));
          const { text } = await service.send('/integration/batch', {
            ...{ method: 'POST', headers: { 'content-type': 'application/x-ndjson' } },
            body: linesOf([...payers, ...patients, ...visits]),
          });
          expect(JSON.parse(String(text.trimEnd().split('\n').at(-1))).summary).toMatchObject({
            accepted: 883,
          });
          const { stays } = await expectAnswers(service);
          expect(stays).toBeGreaterThan(200);
        },
        LONG_MS,
      );

      test.skipIf(!existsSync(synthea))(
        'find in a Synthea population what a fold of its log finds',
        async () => {
          const people: Record<string, string>[] = parse(readFileSync(`${synthea}/patients.csv`), {
            ...{ columns: true, bom: true },
          });
          for (const { Id = '', SSN = '', FIRST = '', LAST = '' } of people) notePhi(Id, SSN, FIRST, LAST);
          const service = await started();
          const imported = await spawnCli(['import', synthea, '--format', 'synthea', '--url', service.url], {
            cwd: temporaryFolder(),
            env: { CHARTLEDGER_API_KEY: String(service.key) },
          });
          expect(imported.code).toBe(0);
          const { moved, visits } = await expectAnswers(service);
          process.stdout.write(`Of ${visits} visits, ${moved / 2} are counted in another quarter.\n`);
        },
        LONG_MS,
      );
    },
  );
});
