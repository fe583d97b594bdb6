import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { sourcedFields } from '../../src/modules/integrations/fields.ts';
import { parseMessage } from '../../src/modules/integrations/hl7/parser.ts';
import { mapMessage } from '../../src/modules/integrations/hl7/triggerEvents.ts';
import { fhirRules, hl7Rules, type MappingRule, ruleOf } from '../../src/modules/integrations/mapping.ts';
import { recordOf } from '../../src/modules/integrations/operations.ts';

import {
  benefit,
  coded,
  document,
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPayer,
  fhirPractitioner,
  known,
  npiOf,
  originsBy,
  payer,
  place,
  referTo,
  role,
} from '../support/fhir.ts';

import { hl7Fixture, hl7Fixtures, hl7Message, hl7Source, originsOf, pid } from './hl7Messages.ts';

const placesOf = (origins: Record<string, { at?: string }>) =>
  Object.fromEntries(Object.entries(origins).map(([field, { at }]) => [field, at]));

test('of a message of HL7 v2 each field tells its segment, repetition and component', () => {
  expect(placesOf(originsOf(hl7Fixture('adt-a01-admission'), 'patient'))).toMatchObject({
    ...{ first_name: 'PID^1^5^2^2', last_name: 'PID^1^5^2^1', date_of_birth: 'PID^1^7^1^1' },
    ...{ gender: 'PID^1^8^1^1', 'primary_insurance.payer_id': 'IN1^2^3^1^1' },
    ...{ 'primary_insurance.subscriber_city': 'IN1^2^19^1^3' },
  });
  const names = hl7Message('ADT^A28', [['PID', { ...pid[1], 5: 'Maiden^Ana^^^^^M~Rivera^Beatriz^^^^^L' }]]);
  expect(placesOf(originsOf(names, 'patient'))).toMatchObject({ last_name: 'PID^1^5^2^1' });
});

test('a setting of the source is told where it decided', () => {
  const visit: [string, Record<number, string>] = ['PV1', { 2: 'OBV', 19: 'V-1', 50: 'A-1' }];
  const source = {
    ...{ ...hl7Source, facility: { id: 'main', name: 'Main' } },
    mapping: { visit_types: { OBV: 'observation' }, visit_id: 'PV1-50' },
  } as const;
  const text = hl7Message('ADT^A01', [pid, visit]);
  expect(originsOf(text, 'encounter', source)).toMatchObject({
    id: { at: 'PV1^1^50^1^1', setting: 'mapping.visit_id' },
    patient_id: { at: 'PID^1^3^1^1', setting: 'patient_authority' },
    visit_type: { at: 'PV1^1^2^1^1', setting: 'mapping.visit_types' },
    facility_id: { setting: 'facility' },
    status: { at: 'MSH^1^9^1^2' },
  });
  expect(originsOf(text, 'encounter', source).status).not.toHaveProperty('setting');
});

test.each(hl7Fixtures)('every field of %s has a place and a rule', (name) => {
  const said = mapMessage(parseMessage(hl7Fixture(name)), hl7Source);
  for (const one of 'operations' in said ? said.operations : []) {
    const told =
      one.type === 'document' ? Object.keys(one.origins ?? {}) : sourcedFields(one).map(([field]) => field);
    for (const field of told) {
      expect([field, one.origins?.[field]]).toEqual([
        field,
        expect.objectContaining({ at: expect.any(String) }),
      ]);
      const [outer = '', inner] = field.split('.');
      const kind = one.type === 'document' ? 'document' : recordOf(one).kind;
      const rule = inner ? ruleOf(hl7Rules, 'insurance', inner) : ruleOf(hl7Rules, kind, outer);
      expect([kind, field, rule?.name]).toEqual([kind, field, expect.any(String)]);
    }
  }
});

test('of resources each field tells its element, by which entry and rule it came', async () => {
  const patient = fhirPatient({
    name: [
      { use: 'nickname', family: 'Ana', given: ['A'] },
      { use: 'official', family: 'Lopez', given: ['Maria', 'Ana'] },
    ],
    identifier: [
      { system: 'urn:other', value: 'x' },
      { system: 'urn:mrn', value: 'm-1' },
    ],
  });
  const insurer = fhirPayer();
  const encounter = fhirEncounter(referTo(patient), { class: { code: 'OBV' } });
  const origins = await originsBy(
    { visit_types: { OBV: 'observation' } },
    ...[
      patient,
      insurer,
      encounter,
      fhirCoverage(referTo(patient), referTo(insurer), { subscriberId: 'S-1' }),
    ],
  );
  expect(origins('patient')).toMatchObject({
    id: { at: 'Bundle.entry[0].resource.identifier[1].value', setting: 'id_systems.Patient', rule: 'id' },
    last_name: { at: 'Bundle.entry[0].resource.name[1].family', rule: 'person.name' },
    first_name: { at: 'Bundle.entry[0].resource.name[1].given[0]', rule: 'person.name' },
    'primary_insurance.payer_id': { at: 'Bundle.entry[3].resource.payor[0]', rule: 'coverage' },
    'primary_insurance.subscriber_id': { at: 'Bundle.entry[3].resource.subscriberId', rule: 'coverage' },
  });
  expect(origins('encounter')).toMatchObject({
    patient_id: { at: 'Bundle.entry[2].resource.subject', rule: 'encounter.patient' },
    visit_type: {
      at: 'Bundle.entry[2].resource.class',
      setting: 'mapping.visit_types',
      rule: 'encounter.class',
    },
    date_of_service: { at: 'Bundle.entry[2].resource.period.start', rule: 'encounter.time' },
  });
});

const resources: [string, JsonObject[], had?: string[]][] = [
  ['practitioner', [fhirPractitioner({ identifier: [npiOf('1234567893')] })]],
  ['place', [place({ description: 'Home', address: { line: ['1 Elm'], city: 'Omaha' } })]],
  [
    'alias',
    [{ resourceType: 'Organization', id: 'o', alias: ['Elm'], telecom: [{ system: 'phone', value: '1' }] }],
  ],
  ['document', [document({ title: 'a' })]],
  ['role', [role()], ['first_name', 'last_name', 'id']],
  [
    'coverage inside',
    [benefit({ id: 'c', beneficiary: known, payor: [payer] })],
    ['first_name', 'last_name', 'date_of_birth', 'id'],
  ],
  ['void', [fhirEncounter(known, { status: 'cancelled', type: [coded('1')] })]],
];
test.each(resources)(
  'every field of a %s has an element and a rule, but for those that the record had',
  async (_, sent, had = []) => {
    const origins = await originsBy({}, ...sent);
    const all = origins();
    expect(all.length).toBeGreaterThan(0);
    for (const { field, origin } of all.filter(({ field: name }) => !had.includes(name))) {
      expect([field, origin]).toEqual([field, { at: expect.any(String), rule: expect.any(String) }]);
    }
  },
);

test.each([
  ['docs/guides/hl7.md', hl7Rules],
  ['docs/guides/fhir.md', fhirRules],
] as [string, readonly MappingRule[]][])('%s has the rules as they are', (path, rules) => {
  const guide = readFileSync(path, 'utf8');
  const section = guide.slice(guide.indexOf('## Where fields come from'));
  const rows = [...section.matchAll(/^\| (`[\w.]+`) +\| (.+?) +\| (.+?) +\|$/gm)];
  expect(rows.map(([, ...cells]) => cells)).toEqual(
    rules.map(({ name, sets, from }) => [`\`${name}\``, sets, from]),
  );
});
