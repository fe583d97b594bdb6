import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MappedSource, readMapping } from '../../src/cli/commands/import/mappedSource.ts';

import { temporaryFolder } from '../support/cli.ts';

function mappingFile(content: unknown): string {
  const path = join(temporaryFolder(), 'ours.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const payerFields = { id: 'ID', name: 'NAME' };
const ofPayers = (fields: object) => ({ files: { 'payers.csv': { kind: 'payer', fields } } });
const ofEncounters = (fields: object) => ({
  files: { 'visits.csv': { kind: 'encounter', fields: { id: 'ID', patient_id: 'PATIENT', ...fields } } },
});

test.each([
  ['{', /is not JSON\.$/],
  [{ files: { 'a.csv': { kind: 'claim', fields: {} } } }, /files\.a\.csv\.kind: Invalid option/],
  [{ files: { 'a.csv': { kind: 'payer' } } }, /files\.a\.csv: "kind" and "fields" must be used together\.$/],
  [{ files: {}, colums: {} }, /Unrecognized key: "colums"/],
  [
    ofPayers({ ...payerFields, nam: 'NAME' }),
    /files\.payers\.csv\.fields\.nam: Payer has no such field; its fields are id, name,/,
  ],
  [ofPayers({ id: 'ID' }), /files\.payers\.csv\.fields: Payer needs name\.$/],
  [
    ofPayers({ ...payerFields, zip_code: { column: 'ZIP', as: 'zip' } }),
    /fields\.zip_code: as: Invalid option/,
  ],
  [ofPayers({ ...payerFields, city: { columns: 'CITY' } }), /fields\.city: column: Invalid input/],
  [
    ofPayers({ ...payerFields, city: { column: 'CITY', values: ['a'] } }),
    /fields\.city: values: Invalid input/,
  ],
  [
    ofEncounters({ visit_type: { column: 'TYPE', values: { a: 'visit' } } }),
    /fields\.visit_type: "visit" is not a valid value of the field/,
  ],
  [
    ofEncounters({ visit_type: { column: 'TYPE', values: {}, otherwise: 'none' } }),
    /"none" is not a valid value of the field/,
  ],
  [ofEncounters({ status: [{ value: 7 }] }), /fields\.status\[0\]: 7 is not a valid value of the field/],
  [
    ofEncounters({ is_completed: 'DONE' }),
    /fields\.is_completed: the field is true or false; specify with "values"/,
  ],
  [ofEncounters({ status: { fields: {} } }), /fields\.status: the field is not an object/],
])('what is wrong with a mapping is told by its place: %#', async (content, message) => {
  await expect(readMapping(mappingFile(content))).rejects.toThrow(message as RegExp);
});

test('a nested object is mapped by its fields, and needs those that it must have', async () => {
  const patient = (insurance: unknown) => ({
    files: {
      'p.csv': {
        kind: 'patient',
        fields: {
          id: 'ID',
          first_name: 'F',
          last_name: 'L',
          date_of_birth: 'D',
          primary_insurance: insurance,
        },
      },
    },
  });
  await expect(readMapping(mappingFile(patient('PAYER')))).rejects.toThrow(
    /is an object; specify its "fields"/,
  );
  await expect(readMapping(mappingFile(patient({ fields: { group_number: 'G' } })))).rejects.toThrow(
    /primary_insurance\.fields: Insurance needs payer_id/,
  );
});

test('a join names a file of the mapping', async () => {
  const joins = { cover: { file: 'cover.csv', column: 'ID', equals: 'ID' } };
  const content = { files: { 'payers.csv': { kind: 'payer', joins, fields: payerFields } } };
  await expect(readMapping(mappingFile(content))).rejects.toThrow(
    /joins\.cover: "files" has no file cover\.csv/,
  );
});

test('constants, value maps, conditions and alternatives make a record; a single file may have any name', async () => {
  const mapping = await readMapping(
    mappingFile(
      ofEncounters({
        status: { value: 'imported' },
        visit_type: [
          { column: 'TYPE', values: { Office: 'office_visit' } },
          { value: 'telehealth', when: { REMOTE: ['y', 'Y'] } },
        ],
        is_completed: { column: 'DONE', values: { yes: true, no: false } },
        date_of_service: { column: 'DAY', when: { DONE: { not: 'no' } } },
      }),
    ),
  );
  const path = join(temporaryFolder(), 'export-2026.csv');
  const rows = ['v1,p1, OFFICE ,,yes,2026-01-02', 'v2,p1,phone,y,no,2026-01-02', 'v3,p1,phone,,perhaps,'];
  writeFileSync(path, ['ID,PATIENT,TYPE,REMOTE,DONE,DAY', ...rows].join('\n'));
  const source = await MappedSource.open(path, mapping);
  expect(await source.missingColumns()).toEqual([]);
  const made = [];
  for await (const { record, warnings } of source.records('encounter')) made.push([record, warnings]);
  const told = (field: string) => ({ field, message: 'is omitted: the mapping has no value for this text' });
  const common = { patient_id: 'p1', status: 'imported' };
  expect(made).toEqual([
    [
      { id: 'v1', ...common, visit_type: 'office_visit', is_completed: true, date_of_service: '2026-01-02' },
      [],
    ],
    [{ id: 'v2', ...common, visit_type: 'telehealth', is_completed: false }, []],
    [{ id: 'v3', ...common }, [told('visit_type'), told('is_completed')]],
  ]);
});

test('a row without the cell by which it joins has no part of a row that lacks it, too', async () => {
  const joins = { cover: { file: 'cover.csv', column: 'MEMBER', equals: 'NO' } };
  const fields = { id: 'ID', name: 'NAME', payer_code: 'cover.CODE' };
  const mapping = await readMapping(
    mappingFile({ files: { 'cover.csv': {}, 'payers.csv': { kind: 'payer', joins, fields } } }),
  );
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'cover.csv'), 'MEMBER,CODE\n,NOBODYS\n7,AETNA\n');
  writeFileSync(join(folder, 'payers.csv'), 'ID,NAME,NO\na,Aetna,7\nb,Other,\n');
  const source = await MappedSource.open(folder, mapping);
  const made = [];
  for await (const { record } of source.records('payer')) made.push(record);
  expect(made).toEqual([
    { id: 'a', name: 'Aetna', payer_code: 'AETNA' },
    { id: 'b', name: 'Other' },
  ]);
});
