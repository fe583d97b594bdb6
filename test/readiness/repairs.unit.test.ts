import { expect, test } from 'vitest';
import { catalog, catalogEntry, isUsedField } from '../../src/domain/records/catalog.ts';
import { qualityWarnings } from '../../src/domain/records/fold.ts';
import { referenceOf } from '../../src/domain/records/schema/fields.ts';
import { repairsIn } from '../../src/modules/readiness/rules/facts.ts';
import { appliesAt, findingsOf } from '../../src/modules/readiness/rules/index.ts';
import { repairedFields } from '../../src/modules/readiness/rules/repairs.ts';
import { noSettings, type RuleSettings } from '../../src/modules/readiness/rules/rule.ts';
import { billable, type Claim, claimWith, type Fields, factsOf } from '../support/readiness.ts';
import { NOW } from '../support/ruleExamples.ts';

const insured = (fields: Fields) => ({
  primary_insurance: { ...billable.patient.primary_insurance, ...fields },
});

test.each<[keyof Claim, Fields, field: string, value: string]>([
  ['patient', { state: 'ne' }, 'state', 'NE'],
  ['patient', { state: ' Nebraska' }, 'state', 'NE'],
  ['patient', { country: 'usa' }, 'country', 'US'],
  ['patient', { country: 'U.S.A.' }, 'country', 'US'],
  ['patient', { zip_code: '681021234' }, 'zip_code', '68102-1234'],
  ['patient', { zip_code: '68102 1234' }, 'zip_code', '68102-1234'],
  ['patient', { country: 'CA', state: 'ON', zip_code: 'k1a0b1' }, 'zip_code', 'K1A 0B1'],
  ['patient', { last_name: ' Lopez  Garcia' }, 'last_name', 'Lopez Garcia'],
  ['patient', { last_name: 'O’Neil' }, 'last_name', "O'Neil"],
  ['patient', insured({ policy_number: '1eg4-te5-mk73' }), 'primary_insurance.policy_number', '1EG4TE5MK73'],
  ['patient', insured({ policy_number: 'W123456789 ' }), 'primary_insurance.policy_number', 'W123456789'],
  ['patient', insured({ subscriber_state: 'ne' }), 'primary_insurance.subscriber_state', 'NE'],
  ['provider', { taxonomy_code: '207q00000x' }, 'taxonomy_code', '207Q00000X'],
  ['provider', { tax_id: '987654321' }, 'tax_id', '98-7654321'],
  ['facility', { tax_id: '12 3456789' }, 'tax_id', '12-3456789'],
  ['facility', { clia_number: '28d1234567' }, 'clia_number', '28D1234567'],
  ['payer', { payer_type: 'self pay' }, 'payer_type', 'Self-Pay'],
  ['payer', { payer_type: 'TRICARE' }, 'payer_type', 'Tricare'],
  ['payer', { payer_type: "Worker's Comp" }, 'payer_type', 'Workers Compensation'],
  ['payer', { payer_code: ' 60054' }, 'payer_code', '60054'],
])('%s %j is repaired, and no finding', (kind, fields, field, value) => {
  const facts = factsOf(claimWith({ [kind]: fields }));
  const [name = '', inner] = field.split('.');
  const from = inner === undefined ? fields[name] : (fields[name] as Fields)[inner];
  const record = expect.objectContaining({ kind });
  expect(repairsIn(facts)).toEqual([{ record, field, from, value }]);
  const found = findingsOf(facts, noSettings).filter((finding) => appliesAt(finding, NOW));
  expect(found.map(({ rule }) => rule.code)).toEqual([]);
});

test.each<[keyof Claim, Fields]>([
  ['patient', { state: 'XX', zip_code: '6810', country: 'Narnia', last_name: ' ' }],
  ['patient', { last_name: 'de la Cruz', address_line_1: '12 ELM STREET' }],
  ['patient', insured({ policy_number: 'w-123 456', subscriber_id: 'abc' })],
  ['facility', { tax_id: '12-345678', clia_number: '28D123456' }],
  ['payer', { payer_type: 'HMO', name: 'ELM health' }],
  ['encounter', { status: ' Finished' }],
])('%s %j leaves doubts, or is as a claim carries it: it stays as it was sent', (kind, fields) => {
  const sent = { id: 'i', ...fields };
  expect(repairedFields(kind, sent)).toEqual({ fields: sent });
});

test('what was sent is not changed by a repair', () => {
  const sent = { id: 'p', state: 'ne', ...insured({ policy_number: ' W1 ' }) };
  const before = structuredClone(sent);
  expect(repairedFields('patient', sent).fields).toMatchObject({ state: 'NE' });
  expect(sent).toEqual(before);
});

/** A value of which the write of a record warns, by the names of fields. */
const doubtful: Record<string, string> = {
  ...{ first_name: ' ', last_name: ' ', name: ' ', state: 'XX', zip_code: '6810', country: 'Narnia' },
  ...{ date_of_birth: '1899-12-31', date_of_service: '2031-01-01', npi: '0000000006' },
  ...{ taxonomy_code: '207Q', tax_id: '12-345678', clia_number: '28E1234567' },
  ...{ policy_number: '123-45-6780', subscriber_id: '123456780', termination_date: '2020-01-01' },
  ...{ subscriber_first_name: ' ', subscriber_last_name: ' ', subscriber_date_of_birth: '1899-12-31' },
  ...{ subscriber_state: 'XX', subscriber_zip_code: '6810' },
};

/** The fields that are checked in a write, and that a claim uses; ids that name other records are in none. */
const checked = catalog.flatMap(({ kind, checks, nested, schema }) => [
  ...Object.keys(checks)
    .filter((field) => isUsedField(kind, field) && !referenceOf(schema.shape[field] as never))
    .filter((field) => field !== 'voided_at')
    .map((field) => [kind, field] as const),
  ...nested.flatMap(({ field, object }) =>
    Object.keys(object.checks)
      .filter((inner) => !referenceOf(object.schema.shape[inner] as never))
      .map((inner) => [kind, `${field}.${inner}`] as const),
  ),
]);

test.each(checked)('what a write of a %s warns of in %s is a finding', (kind, field) => {
  const [name = '', inner] = field.split('.');
  const value = doubtful[inner ?? name];
  const insurance = { ...billable.patient.primary_insurance, subscriber_relationship: 'spouse' };
  const fields = inner === undefined ? { [name]: value } : { [name]: { ...insurance, [inner]: value } };
  const sent = { id: 'i', ...fields };
  const warned = qualityWarnings(catalogEntry(kind), sent, sent).map((warning) => warning.field);
  expect(warned).toContain(field);
  const settings: RuleSettings = {
    ...noSettings,
    billingEntities: { default: kind === 'provider' ? 'provider' : 'facility', byFacility: new Map() },
  };
  const found = findingsOf(factsOf(claimWith({ [kind]: fields })), settings)
    .filter((finding) => appliesAt(finding, NOW))
    .map((finding) => `${finding.record.kind}.${finding.field}`);
  expect(found).toContain(`${kind}.${field}`);
});
