import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { MappedSource, readMapping } from '../../src/cli/commands/import/mappedSource.ts';
import { isUspsState, stateCode } from '../../src/domain/records/schema/states.ts';

import { temporaryFolder } from '../support/cli.ts';
import type { SpecKind } from '../support/samples.ts';

/** A folder of Synthea's CSVs, read by one of the mappings that come with the product. */
async function syntheaSource(folder: string, mapping = 'synthea.json'): Promise<MappedSource> {
  return MappedSource.open(folder, await readMapping(resolve('assets/mappings', mapping)));
}

/** The records, of one kind, that rows given by columns become. */
async function mapped(kind: SpecKind, files: Record<string, Record<string, string>[]>) {
  const folder = temporaryFolder();
  for (const [name, rows] of Object.entries(files)) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const lines = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? ''))];
    writeFileSync(join(folder, name), `${lines.map((cells) => cells.join(',')).join('\n')}\n`);
  }
  return (await recordsOf(await syntheaSource(folder), kind)).map(({ record }) => record);
}

test('of a social security number only the last four digits leave the mapping', async () => {
  for (const SSN of ['999-49-3983', '999493983', ' 999 49 3983 ']) {
    expect(await mapped('patient', { 'patients.csv': [{ Id: '1', SSN }] })).toEqual([
      { id: '1', ssn_last4: '3983' },
    ]);
  }
  expect(await mapped('patient', { 'patients.csv': [{ Id: '1', SSN: '39' }] })).toEqual([{ id: '1' }]);
});

test('insurances come from the payer transition', async () => {
  const patient = { Id: '1', FIRST: 'Ann', LAST: 'Lee', BIRTHDATE: '2017-11-15', GENDER: 'F' };
  const transition = {
    PATIENT: '1',
    MEMBERID: 'm-1',
    START_DATE: '2020-01-01T00:00:00Z',
    END_DATE: '',
    PAYER: 'p-1',
    SECONDARY_PAYER: 'p-2',
    PLAN_OWNERSHIP: 'Guardian',
    OWNER_NAME: 'Mary Jo Lee',
  };
  const insured = async (more: Partial<typeof transition>) => {
    const files = { 'patients.csv': [patient], 'payer_transitions.csv': [{ ...transition, ...more }] };
    return (await mapped('patient', files))[0];
  };
  const primary = { payer_id: 'p-1', policy_number: 'm-1', effective_date: '2020-01-01T00:00:00Z' };
  expect(await insured({})).toEqual({
    id: '1',
    first_name: 'Ann',
    last_name: 'Lee',
    date_of_birth: '2017-11-15',
    gender: 'female',
    primary_insurance: {
      ...primary,
      subscriber_relationship: 'child',
      subscriber_first_name: 'Mary Jo',
      subscriber_last_name: 'Lee',
    },
    secondary_insurance: { payer_id: 'p-2', effective_date: '2020-01-01T00:00:00Z' },
  });
  const relations = { Self: 'self', Spouse: 'spouse', Guardian: 'child', Employer: 'other' };
  for (const [PLAN_OWNERSHIP, relation] of Object.entries(relations)) {
    expect((await insured({ PLAN_OWNERSHIP }))?.primary_insurance).toMatchObject({
      subscriber_relationship: relation,
    });
  }
  const own = await insured({ PLAN_OWNERSHIP: 'Self' });
  expect(own?.primary_insurance).toEqual({ ...primary, subscriber_relationship: 'self' });
  expect((await insured({ PLAN_OWNERSHIP: '' }))?.primary_insurance).toEqual(primary);
  expect(await insured({ PAYER: '' })).not.toHaveProperty('primary_insurance');
});

test('every encounter class has a visit type of the interface; an unknown one has none, with a warning', async () => {
  const classes = {
    wellness: 'office_visit',
    ambulatory: 'outpatient',
    outpatient: 'outpatient',
    urgentcare: 'outpatient',
    home: 'outpatient',
    virtual: 'telehealth',
    emergency: 'emergency',
    inpatient: 'inpatient',
    hospice: 'inpatient',
    snf: 'inpatient',
  };
  const rows = Object.keys(classes).map((ENCOUNTERCLASS) => ({
    Id: 'e',
    PATIENT: 'p',
    STOP: '2020-01-01T00:00:00Z',
    ENCOUNTERCLASS,
  }));
  expect(await mapped('encounter', { 'encounters.csv': rows })).toEqual(
    Object.values(classes).map((visit_type) => ({
      id: 'e',
      patient_id: 'p',
      visit_type,
      status: 'finished',
      is_completed: true,
    })),
  );
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'encounters.csv'), 'Id,PATIENT,STOP,ENCOUNTERCLASS\ne,p,,lunar\n');
  const [lunar] = await recordsOf(await syntheaSource(folder), 'encounter');
  expect(lunar).toEqual({
    place: 'encounters.csv:2',
    record: { id: 'e', patient_id: 'p', status: 'in-progress', is_completed: false },
    warnings: [{ field: 'visit_type', message: 'is omitted: the mapping has no value for this text' }],
  });
});

test('payers and providers', async () => {
  const types = [
    ['Medicare', 'GOVERNMENT', 'Medicare'],
    ['Medicaid', 'GOVERNMENT', 'Medicaid'],
    ['Dual Eligible', 'GOVERNMENT', 'Government'],
    ['Humana', 'PRIVATE', 'Private'],
    ['NO_INSURANCE', 'NO_INSURANCE', 'Self-Pay'],
  ] as const;
  for (const [NAME, OWNERSHIP, payer_type] of types) {
    const row = { Id: '1', NAME, OWNERSHIP, PHONE: '' };
    expect(await mapped('payer', { 'payers.csv': [row] })).toEqual([{ id: '1', name: NAME, payer_type }]);
  }
  const row = { Id: '1', NAME: 'Mary Jo  Lee', ZIP: '693391143', STATE: 'NE' };
  expect(await mapped('provider', { 'providers.csv': [row] })).toEqual([
    { id: '1', first_name: 'Mary Jo', last_name: 'Lee', state: 'NE', zip_code: '69339-1143' },
  ]);
});

test('states by name become codes; what is not known stays for the service to judge', () => {
  for (const name of ['Nebraska', 'new york', ' Puerto Rico ', 'District of Columbia']) {
    expect(isUspsState(stateCode(name) as string)).toBe(true);
  }
  const others = ['NE', 'Ontario', '', 'constructor', '__proto__'];
  expect(others.map(stateCode)).toEqual(others);
});

async function recordsOf(source: MappedSource, kind: SpecKind) {
  const found = [];
  for await (const { source: place, record, warnings } of source.records(kind)) {
    found.push({ place, record, ...(warnings?.length && { warnings }) });
  }
  return found;
}

test('CSV with a byte order mark, CRLF and quoted line ends is read; the latest transition counts', async () => {
  const folder = temporaryFolder();
  const bom = '\uFEFF';
  writeFileSync(
    join(folder, 'patients.csv'),
    `${bom}Id,FIRST,LAST,BIRTHDATE\r\n1,"An,n",Lee,2001-02-03\r\n\r\n2,Bo,"L\nee",2001-02-04\r\n`,
  );
  const transitions = [
    'PATIENT,START_DATE,PAYER',
    '1,2020-01-01T00:00:00Z,p-2020',
    '1,2021-01-01T00:00:00Z,p-2021',
    '1,2019-01-01T00:00:00Z,p-2019',
  ];
  writeFileSync(join(folder, 'payer_transitions.csv'), transitions.join('\r\n'));
  const source = await syntheaSource(folder);
  expect(source.missingFiles).toEqual(['payers.csv', 'providers.csv', 'organizations.csv', 'encounters.csv']);
  const counted = await source.survey(() => undefined, new AbortController().signal);
  expect(counted).toEqual(new Map([['patient', 2]]));
  expect(await recordsOf(source, 'patient')).toEqual([
    {
      place: 'patients.csv:2',
      record: {
        id: '1',
        first_name: 'An,n',
        last_name: 'Lee',
        date_of_birth: '2001-02-03',
        primary_insurance: { payer_id: 'p-2021', effective_date: '2021-01-01T00:00:00Z' },
      },
    },
    {
      place: 'patients.csv:4',
      record: { id: '2', first_name: 'Bo', last_name: 'L\nee', date_of_birth: '2001-02-04' },
    },
  ]);
  expect(await recordsOf(source, 'encounter')).toEqual([]);
});

test('transitions of the generation before Synthea 3.1 say the same, in any order of rows', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'patients.csv'), 'Id,FIRST\n1,Ann\n');
  const rows = ['1,m-1,2021,2022,p-2021,p-2,Spouse,Bo Lee', '1,m-1,2009,2020,p-2009,,Self,Ann Lee'];
  for (const order of [rows, rows.toReversed()]) {
    const header = 'PATIENT,MEMBERID,START_YEAR,END_YEAR,PAYER,SECONDARY_PAYER,OWNERSHIP,OWNERNAME';
    writeFileSync(join(folder, 'payer_transitions.csv'), [header, ...order].join('\n'));
    const source = await syntheaSource(folder, 'synthea-before-3.1.json');
    const coverage = { effective_date: '2021-01-01', termination_date: '2022-12-31' };
    const [patient] = await recordsOf(source, 'patient');
    expect(patient?.record).toEqual({
      id: '1',
      first_name: 'Ann',
      primary_insurance: {
        payer_id: 'p-2021',
        policy_number: 'm-1',
        ...coverage,
        subscriber_relationship: 'spouse',
        subscriber_first_name: 'Bo',
        subscriber_last_name: 'Lee',
      },
      secondary_insurance: { payer_id: 'p-2', ...coverage },
    });
  }
});

test('expected columns that are absent are named, file by file', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'payers.csv'), 'Id,NAME,OWNERSHIP,ADDRESS,CITY,STATE_HEADQUARTERED,ZIP,PHONE\n');
  writeFileSync(join(folder, 'patients.csv'), 'Id,FIRST,LAST,BIRTHDATE,ADDRESS,STATE,ZIP\n');
  writeFileSync(join(folder, 'payer_transitions.csv'), 'PATIENT,START_YEAR,END_YEAR,PAYER,OWNERSHIP\n');
  const source = await syntheaSource(folder, 'synthea-before-3.1.json');
  expect(await source.missingColumns()).toEqual([
    { file: 'patients.csv', columns: ['GENDER', 'SSN', 'CITY'] },
    { file: 'payer_transitions.csv', columns: ['MEMBERID', 'OWNERNAME', 'SECONDARY_PAYER'] },
  ]);
});

test('a row that cannot be read costs itself alone', async () => {
  const folder = temporaryFolder();
  const lines = [
    'Id,NAME',
    '1,One',
    '2',
    '3,"Three" and more',
    '4,"Four',
    '5,Five',
    '6,Caf\xe9',
    '7,"Se""ven"',
    '8,"Eight',
    ...Array.from({ length: 150 }, (_, index) => `${index + 10},Name`),
    '200,"Two hundred',
  ];
  writeFileSync(join(folder, 'payers.csv'), Buffer.from(lines.join('\n'), 'latin1'));
  const source = await syntheaSource(folder);
  const unreadable: { source: string; error: string }[] = [];
  const counted = await source.survey((entry) => unreadable.push(entry), new AbortController().signal);
  expect(unreadable).toEqual([
    { source: 'payers.csv:3', error: 'The row has 1 cells, but the header has 2.' },
    { source: 'payers.csv:4', error: expect.stringContaining('not well-formed CSV') },
    { source: 'payers.csv:5', error: expect.stringContaining('not well-formed CSV') },
    { source: 'payers.csv:7', error: expect.stringContaining('not UTF-8') },
    { source: 'payers.csv:9', error: expect.stringContaining('a quote is not closed') },
    { source: 'payers.csv:160', error: expect.stringContaining('a quote is not closed') },
  ]);
  const read = await recordsOf(source, 'payer');
  expect(read.slice(0, 4).map(({ record }) => record.id)).toEqual(['1', '5', '7', '10']);
  expect(read[2]?.record.name).toBe('Se"ven');
  expect(read).toHaveLength(153);
  expect(counted).toEqual(new Map([['payer', 153]]));
});

test('ZIP codes whose leading zeros were dropped get them back, with a warning', async () => {
  const folder = temporaryFolder();
  const zips = ['6510', '06510', '501', '65101234', '665101234', '', 'K1A'];
  writeFileSync(
    join(folder, 'organizations.csv'),
    ['Id,NAME,ZIP', ...zips.map((zip, index) => `${index},n,${zip}`)].join('\n'),
  );
  const source = await syntheaSource(folder);
  const records = [];
  for await (const { record, warnings } of source.records('facility')) {
    records.push([record.zip_code, warnings?.map(({ field }) => field)]);
  }
  expect(records).toEqual([
    ['06510', ['zip_code']],
    ['06510', []],
    ['00501', ['zip_code']],
    ['06510-1234', ['zip_code']],
    ['66510-1234', []],
    [undefined, []],
    ['K1A', []],
  ]);
});
