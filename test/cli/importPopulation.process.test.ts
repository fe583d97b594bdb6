import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { notePhi } from '../support/output.ts';
import { inStores } from '../support/readiness.ts';
import { changesBy, listAll, startTestService, type TestService } from '../support/service.ts';

/**
 * The same three people as CSV, as Bundles and as Bulk Data: texts by path, from Synthea 3.3.0 of Maven Central (main class `App`), with
 * `-p 3 -s 7 -cs 7 -r 20261101 Connecticut`, the exports csv, fhir, hospital.fhir and practitioner.fhir, transaction_bundle,
 * years_of_history 3; of a second run, with bulk_data, the folder fhir.
 */
const population = 'test/fixtures/synthea/population.json.br';
const SYSTEM = 'https://github.com/synthetichealth/synthea';
const PROJECTED_MS = 60_000;

type Fields = Record<string, unknown>;
type Records = Map<string, Fields>;
type Kind = 'payers' | 'patients' | 'providers' | 'facilities' | 'encounters';
const kinds: Kind[] = ['payers', 'patients', 'providers', 'facilities', 'encounters'];

const exported = temporaryFolder();
let service: TestService;
beforeAll(async () => {
  const texts: Record<string, string> = JSON.parse(brotliDecompressSync(readFileSync(population)).toString());
  for (const format of ['csv', 'bundles', 'bulk']) mkdirSync(join(exported, format));
  for (const [path, text] of Object.entries(texts)) writeFileSync(join(exported, path), text);
  service = await startTestService();
  for (const { Id = '', SSN = '', FIRST = '', LAST = '' } of rowsOf('patients'))
    notePhi(Id, SSN, FIRST, LAST);
});
afterAll(() => service.stop());

function rowsOf(file: string): Record<string, string>[] {
  return parse(readFileSync(join(exported, 'csv', `${file}.csv`)), { columns: true, bom: true });
}

/** Imports what was exported in a form into a workspace of its own; gives its records by kind and id, each of them from one event. */
async function imported(form: string, format: 'synthea' | 'fhir') {
  const { key, workspace } = await service.createKey(form);
  if (format === 'fhir') {
    const systems = ['Patient', 'Organization', 'Location', 'Encounter'];
    const options = systems.flatMap((type) => ['--id-system', `${type}=${SYSTEM}`]);
    await inStores(
      service,
      'sources',
      'set',
      'synthea',
      '--workspace',
      workspace,
      '--format',
      'fhir',
      ...options,
    );
  }
  const cwd = temporaryFolder();
  const folder = join(exported, form);
  const args = ['import', folder, '--format', format, '--url', service.url, '--reject-file', 'rejected'];
  const events = await changesBy(service, async () => {
    await spawnCli(args, { cwd, env: { CHARTLEDGER_API_KEY: key } });
  });
  const rejects = readdirSync(cwd).includes('rejected') ? readFileSync(join(cwd, 'rejected'), 'utf8') : '';
  const all = await Promise.all(
    kinds.map(async (kind) => {
      const items = await listAll(service.as(key), kind, PROJECTED_MS);
      return [kind, new Map(items.map(({ id, record }): [string, Fields] => [id, record]))] as const;
    }),
  );
  const records = Object.fromEntries(all) as Record<Kind, Records>;
  expect(events.length).toBe(kinds.reduce((sum, kind) => sum + records[kind].size, 0));
  return {
    records,
    rejected: rejects
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line)),
  };
}

/** A text as the CSV has it: its commas are blanks. */
const inCsv = (text: unknown) => String(text).replaceAll(',', ' ');
const withoutCommas = (record: Fields = {}): Fields =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, typeof value === 'string' ? inCsv(value) : value]),
  );
const sorted = (values: Iterable<unknown>) => [...values].toSorted();
/** The mapping of the CSV sets the hyphen of ZIP+4, which FHIR has as it was sent. */
const asSent = (zipCode: unknown) => String(zipCode).replace('-', '');

/** By Synthea's classes, the visit types that FHIR gives where the CSV gives others. */
const otherVisitTypes = new Map<string | undefined, string | undefined>([
  // FHIR has no class of wellness: it is ambulatory.
  ['wellness', 'outpatient'],
  // Both are home health in FHIR, to which no visit type corresponds.
  ['home', undefined],
  ['hospice', undefined],
]);

/** A Location without a name is called by its description. */
const HOME = "Patient's Home";

/** All differences between FHIR and CSV but for commas, each with its reason: what FHIR says of a record of the CSV. What is not named is the same. */
const byFhir = {
  patients: (record: Fields, lastPayer: string | undefined): Fields => ({
    ...record,
    // The CSV has no phone numbers of people.
    phone: expect.stringMatching(/^555-/),
    // Coverage is only inside ExplanationOfBenefit, of which the last one counts: a payer by its name, and no more.
    primary_insurance: { payer_id: lastPayer },
    secondary_insurance: undefined,
  }),
  providers: (record: Fields): Fields => ({
    ...record,
    // The CSV has neither NPI, taxonomy nor e-mail.
    npi: expect.stringMatching(/^\d{10}$/),
    taxonomy_code: expect.stringMatching(/^\w{10}$/),
    email: expect.stringContaining('@'),
    // It is the name of the taxonomy; the CSV has a shorter one, in capitals.
    specialty: expect.any(String),
    zip_code: asSent(record.zip_code),
  }),
  // An Organization is as in the CSV; each has a Location of its name and address beside it.
  facilities: (record: Fields, { id }: Fields): Fields => ({
    ...record,
    ...{ id, zip_code: asSent(record.zip_code) },
  }),
  encounters: (record: Fields, ofClass: string | undefined): Fields => ({
    ...record,
    // FHIR names the Location, the CSV the Organization to which it belongs.
    facility_id: expect.any(String),
    // The same moment, with an offset.
    date_of_service: expect.stringMatching(/[+-]\d\d:\d\d$/),
    visit_type: otherVisitTypes.has(ofClass) ? otherVisitTypes.get(ofClass) : record.visit_type,
  }),
  // Those that covered somebody, by their names alone: all else of them is in the CSV.
  payers: (name: string): Fields => ({ id: name, name, country: 'US' }),
};

function expectDifferences(csv: Record<Kind, Records>, fhir: Record<Kind, Records>): void {
  const payerNames = new Map(rowsOf('payers').map(({ Id, NAME = '' }) => [Id, NAME]));
  const visits = rowsOf('encounters').toSorted((a, b) => ((a.START ?? '') < (b.START ?? '') ? -1 : 1));
  for (const kind of ['patients', 'providers', 'encounters'] as const) {
    expect(sorted(fhir[kind].keys())).toEqual(sorted(csv[kind].keys()));
  }
  for (const [id, record] of csv.patients) {
    const last = visits.findLast(({ PATIENT }) => PATIENT === id);
    expect(withoutCommas(fhir.patients.get(id))).toEqual(
      byFhir.patients(record, payerNames.get(last?.PAYER)),
    );
  }
  for (const [id, record] of csv.providers) {
    expect(withoutCommas(fhir.providers.get(id))).toEqual(byFhir.providers(record));
  }
  const nameOf = ({ facilities }: typeof csv, id: unknown) => inCsv(facilities.get(String(id))?.name);
  for (const { Id = '', ENCOUNTERCLASS } of visits) {
    const [record, other] = [csv, fhir].map(({ encounters }) => encounters.get(Id) as Fields) as [
      Fields,
      Fields,
    ];
    expect(other).toEqual(byFhir.encounters(record, ENCOUNTERCLASS));
    expect(Date.parse(String(other.date_of_service))).toBe(Date.parse(String(record.date_of_service)));
    // FHIR names a Location that stands for the homes of all patients.
    const atHome =
      ['home', 'virtual'].includes(String(ENCOUNTERCLASS)) && nameOf(fhir, other.facility_id) === HOME;
    if (!atHome)
      expect([ENCOUNTERCLASS, nameOf(fhir, other.facility_id)]).toEqual([
        ENCOUNTERCLASS,
        nameOf(csv, record.facility_id),
      ]);
  }
  const byName = new Map([...csv.facilities.values()].map((record) => [record.name, record]));
  const places = [...fhir.facilities.values()].filter(({ name }) => name !== HOME);
  expect([fhir.facilities.size, places.length]).toEqual([places.length + 1, 2 * csv.facilities.size]);
  for (const record of places) {
    const told = withoutCommas(record);
    expect(told).toEqual(byFhir.facilities(byName.get(told.name) as Fields, record));
  }
  for (const id of csv.facilities.keys()) expect(fhir.facilities.has(id)).toBe(true);
  for (const [id, record] of fhir.payers) {
    expect(record).toEqual(byFhir.payers(id));
    expect([...payerNames.values()]).toContain(id);
  }
}

test('the same people become the same records as Bundles and as Bulk Data, and as CSV but for what is listed', async () => {
  const csv = await imported('csv', 'synthea');
  const bundles = await imported('bundles', 'fhir');
  const lines = await imported('bulk', 'fhir');
  for (const { rejected } of [csv, bundles, lines]) expect(rejected).toEqual([]);
  expect(lines.records).toEqual(bundles.records);
  expectDifferences(csv.records, lines.records);
});
