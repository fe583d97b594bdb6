import { describe, expect, test } from 'vitest';
import { catalog, catalogEntry } from '../../src/domain/records/catalog.ts';
import { qualityWarnings } from '../../src/domain/records/fold.ts';
import type { RecordFields } from '../../src/domain/records/schema/kind.ts';

import type { SpecKind } from '../support/samples.ts';

function warned(kind: string, fields: Record<string, unknown>): string[] {
  const sent = { id: 'record-1', ...fields } as RecordFields;
  return qualityWarnings(catalogEntry(kind), sent, sent).map(({ field }) => field);
}

/** Kind, field, values without and values with a warning. */
const table: [SpecKind, string, string[], string[]][] = [
  ['provider', 'npi', ['1234567893', '1245319599'], ['1234567890', '0000000000', '0000000006']],
  ['facility', 'npi', ['1093817462'], ['1093817464']],
  [
    'provider',
    'taxonomy_code',
    ['207Q00000X', '1223G0001X'],
    ['207Q00000', '207q00000x', 'family', '000000000X'],
  ],
  ['facility', 'tax_id', ['12-3456789', '123456789'], ['12345678', '1-23456789', 'EIN']],
  ['facility', 'clia_number', ['28D1234567'], ['28X1234567', '28D123456', '', ' ']],
  [
    'patient',
    'email',
    ['a@b.example', 'a+b@c.d.example'],
    ['a@b', 'a b@c.example', '@c.example', 'a@.example'],
  ],
  ['payer', 'contact_email', ['claims@payer.example'], ['claims']],
  ['patient', 'phone', ['+1 402 555 0100', '(402) 555-0100', '5550100'], ['555', 'call me', '1'.repeat(16)]],
  ['payer', 'contact_phone', ['1-800-555-0199'], ['1-800']],
  ['payer', 'fax', ['1-800-555-0198'], ['none']],
  ['payer', 'website', ['https://payer.example', 'payer.example/claims'], ['not a web address', 'http://']],
  ['patient', 'state', ['NE', 'PR', 'DC', 'AE'], ['ZZ', 'ne']],
  ['facility', 'zip_code', ['68102', '68102-1234', '681021234'], ['6810', '68102-', 'ABCDE']],
  [
    'patient',
    'id',
    ['patient-1', '000-12-3456', '666-12-3456', '900-12-3456', '123-00-4567', '123-45-0000', '1234567890'],
    ['123-45-6789', '123 45 6789', '123456789', '899-99-9999'],
  ],
  ['encounter', 'patient_id', ['123-45 6789'], ['123-45-6789']],
  ['patient', 'first_name', ['Maria', 'María José', ' Ana '], [' ', '\u00a0', '\t ']],
  ['payer', 'name', ['Aetna'], ['  ']],
  ['patient', 'date_of_birth', ['1900-01-01', '1984-02-29T00:00:00+05:00'], ['1899-12-31', '2999-01-01']],
  ['encounter', 'date_of_service', ['2026-03-14T09:30:00Z'], ['0026-03-14', '2999-01-01T00:00:00Z']],
  ['encounter', 'voided_at', ['2026-03-14T09:30:00Z'], ['0026-03-14', '2999-01-01T00:00:00Z']],
  ['provider', 'specialty', ['Family Medicine'], ['']],
  ['payer', 'country', ['US', 'DE'], ['USA', 'us', 'United States']],
];

describe.each(table)('%s.%s', (kind, field, without, withWarning) => {
  test.each(without)('%j has no warning', (value) => {
    expect(warned(kind, { [field]: value })).toEqual([]);
  });
  test.each(withWarning)('%j has a warning', (value) => {
    expect(warned(kind, { [field]: value })).toEqual([field]);
  });
});

test('states and ZIP codes of other countries have no warning', () => {
  expect(warned('patient', { country: 'CA', state: 'ON', zip_code: 'K1A 0B1' })).toEqual([]);
  const insurance = { payer_id: 'payer-1', subscriber_state: 'ON', subscriber_zip_code: 'K1A 0B1' };
  expect(warned('patient', { primary_insurance: { ...insurance, subscriber_country: 'CA' } })).toEqual([]);
  expect(warned('patient', { primary_insurance: insurance })).toEqual([
    'primary_insurance.subscriber_state',
    'primary_insurance.subscriber_zip_code',
  ]);
});

test('a cleared field has no warning', () => {
  expect(warned('patient', { email: null, state: null, zip_code: null })).toEqual([]);
});

test('an insurance that null removes has one, and one that is left out has none', () => {
  expect(warned('patient', { primary_insurance: null, tertiary_insurance: null })).toEqual([
    'primary_insurance',
    'tertiary_insurance',
  ]);
  expect(warned('patient', {})).toEqual([]);
});

test.each([
  ['2026-01-01', '2025-12-31', true],
  ['2026-01-01', '2026-01-01', false],
  ['2026-01-01T00:00:00+05:00', '2026-01-01', false],
  [null, '2025-12-31', false],
])('coverage from %s to %s', (effective_date, termination_date, isDoubtful) => {
  const insurance = { payer_id: 'payer-1', effective_date, termination_date };
  const expected = isDoubtful ? ['secondary_insurance.termination_date'] : [];
  expect(warned('patient', { secondary_insurance: insurance })).toEqual(expected);
});

test('numbers like an SSN are told in insurances, too', () => {
  const insurance = { payer_id: 'payer-1', policy_number: '123-45-6789', subscriber_id: '123456789' };
  expect(warned('patient', { primary_insurance: insurance })).toEqual([
    'primary_insurance.policy_number',
    'primary_insurance.subscriber_id',
  ]);
});

test('a laboratory needs a CLIA number', () => {
  expect(warned('facility', { facility_type: 'laboratory' })).toEqual(['clia_number']);
  expect(warned('facility', { facility_type: 'laboratory', clia_number: '28D1234567' })).toEqual([]);
  expect(warned('facility', { facility_type: 'clinic' })).toEqual([]);
});

test('a reason for which an encounter is void says that it is void', () => {
  expect(warned('encounter', { void_reason: 'Entered twice' })).toEqual(['void_reason']);
  expect(warned('encounter', { void_reason: 'Entered twice', voided_at: null })).toEqual(['void_reason']);
  expect(warned('encounter', { void_reason: 'Entered twice', voided_at: '2026-03-14' })).toEqual([]);
  expect(warned('encounter', { void_reason: null })).toEqual([]);
});

test('no example in the interface description has a warning', () => {
  const examples = catalog.flatMap(({ kind, schema }) =>
    Object.entries(schema.shape).flatMap(([field, type]) => {
      const given = (type.meta()?.examples ?? []) as unknown[];
      return given.map((example) => ({ kind, field, example }));
    }),
  );
  expect(examples.length).toBeGreaterThan(50);
  const bad = examples.filter(({ kind, field, example }) =>
    warned(kind, { [field]: example }).includes(field),
  );
  expect(bad).toEqual([]);
});
