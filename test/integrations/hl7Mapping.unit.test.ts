import { expect, test } from 'vitest';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { validate } from '../../src/domain/records/schema/validation.ts';

import { attending, begunEncounter, encounter, expected, facility, patient, stay } from './hl7Expected.ts';
import { hl7Fixture, hl7Fixtures, hl7Source, mapped } from './hl7Messages.ts';

test.each(Object.entries(expected))('%s', (name, said) => {
  expect(mapped(hl7Fixture(name))).toEqual(said);
});

test('segments end as they like', () => {
  const lines = hl7Fixture('adt-a01-admission').toString();
  for (const end of ['\r', '\r\n', '\n\r', '\r\r']) {
    expect(mapped(lines.replaceAll('\n', end))).toEqual(expected['adt-a01-admission']);
  }
});

test('a message brings its own delimiters', () => {
  const text = hl7Fixture('adt-a04-other-delimiters').toString();
  expect(mapped(text, { time_zone: 'UTC' })).toEqual({
    refused: 'AE',
    issues: [
      {
        severity: 'error',
        code: '102',
        location: 'PID^1^7',
        text: 'The month and the day are missing. Send the date of birth as YYYYMMDD.',
      },
    ],
  });
  const source = {
    ...hl7Source,
    patient_authority: 'OTHER',
    facility: { id: 'clinic', name: 'Clinic' },
  };
  expect(mapped(text.replace('#1990#', '#19900105#'), source)).toEqual({
    operations: [
      patient({
        ...{
          id: '0816',
          first_name: 'Renée',
          last_name: 'O%Neil*Jones',
          date_of_birth: '1990-01-05',
          gender: 'male',
        },
        ...{ address_line_1: '1 Main St # Rear', address_line_2: '?Unit 2', state: 'ME' },
      }),
      { ...attending, fields: { id: 'D-9', first_name: 'Kofi', last_name: 'Osei' } },
      { ...facility, fields: { id: 'clinic', name: 'Clinic' } },
      {
        ...begunEncounter({
          ...{
            id: 'V-2001',
            patient_id: '0816',
            provider_id: 'D-9',
            facility_id: 'clinic',
            visit_type: 'outpatient',
          },
          ...{ date_of_service: '2026-03-10T08:15:00-05:00', status: 'in-progress', is_completed: false },
          ...{ voided_at: null, void_reason: null },
        }),
        ifUnset: ['facility_id'],
      },
    ],
    issues: [],
  });
});

test.each([
  [
    'siu-s12-booked',
    '2026-04-02T14:30:00-05:00',
    { status: 'planned', is_completed: false, voided_at: null, void_reason: null },
  ],
  ['siu-s13-rescheduled', '2026-04-09T09:00:00-05:00', { status: 'planned', is_completed: false }],
  ['siu-s14-modified', '2026-04-02T14:00:00-05:00', {}],
])('%s is an encounter at %s', (name, date_of_service, state) => {
  expect(mapped(hl7Fixture(name))).toMatchObject({
    operations: [
      { kind: 'patient', ifAbsent: true },
      { kind: 'provider', ifAbsent: true },
      { kind: 'facility', ifAbsent: true },
      encounter({
        ...{ id: 'V-3001', patient_id: '4711', provider_id: '1234567893', facility_id: 'ELMST' },
        ...{ visit_type: 'outpatient', date_of_service, ...state },
      }),
    ],
    issues: [],
  });
});

test('mdm-t02-document is a document of an encounter that may be there', () => {
  const said = mapped(hl7Fixture('mdm-t02-document'));
  expect(said).toMatchObject({
    operations: [
      { kind: 'provider', ifAbsent: true },
      { kind: 'facility', ifAbsent: true },
      { kind: 'encounter', ifAbsent: true, fields: stay },
      {
        ...{ type: 'document', encounterId: 'V-1001', documentId: 'DOC-31', category: 'discharge_summary' },
        ...{ fileName: 'summaries_rivera.pdf', at: 'OBX^2^5' },
      },
    ],
    issues: [{ severity: 'warning', code: '103', location: 'OBX^1^5' }],
  });
  const [document] = ('operations' in said ? said.operations : []).slice(-1);
  expect(document).toHaveProperty('bytes', expect.any(Buffer));
  expect((document as { bytes: Buffer }).bytes.toString()).toMatch(/^%PDF-1\.4[\s\S]+%%EOF\n$/);
});

test('what is taken of the fixtures is as the schemas have it', () => {
  const kinds = new Set<string>();
  for (const name of hl7Fixtures.filter((one) => one !== 'batch')) {
    const said = mapped(hl7Fixture(name));
    for (const operation of 'operations' in said ? said.operations : []) {
      if (operation.type !== 'record') continue;
      kinds.add(operation.kind);
      expect(() => validate(catalogEntry(operation.kind).schema, operation.fields)).not.toThrow();
    }
  }
  expect([...kinds].toSorted()).toEqual(['encounter', 'facility', 'patient', 'payer', 'provider']);
});
