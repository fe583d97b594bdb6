import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import {
  coded,
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPayer,
  fhirPractitioner,
  fieldsOf,
  known,
  npiOf,
  payer,
  place,
  referTo,
  role,
  told,
} from '../support/fhir.ts';

const taken: [string, JsonObject[], JsonObject][] = [
  [
    'a whole name comes before one that is a text',
    [
      fhirPatient({
        name: [
          { use: 'official', text: 'A B' },
          { use: 'usual', family: 'B', given: ['A'] },
        ],
      }),
    ],
    { first_name: 'A', last_name: 'B' },
  ],
  [
    'of given names one that has only extensions is none',
    [fhirPatient({ name: [{ family: 'Lopez', given: [null, 'BABY BOY'] }] })],
    { first_name: 'BABY BOY' },
  ],
  [
    'an identifier with blanks is the same',
    [fhirPatient({ identifier: [{ system: 'urn:mrn', value: ' M-1 ' }] })],
    { id: 'M-1' },
  ],
  [
    'an old identifier is no id where there is another',
    [fhirPatient({ identifier: ['old', 'usual'].map((use) => ({ use, system: 'urn:mrn', value: use })) })],
    { id: 'usual' },
  ],
  [
    'an identifier without a value is none',
    [fhirPatient({ id: 'p', identifier: [{ system: 'urn:mrn', value: '' }] })],
    { id: 'p' },
  ],
  [
    'an NPI has no blanks',
    [fhirPractitioner({ identifier: [npiOf('1234 567893 ')] })],
    { npi: '1234567893' },
  ],
  [
    'a place without a name is called by its description',
    [place({ mode: 'kind', description: "Patient's Home" })],
    { name: "Patient's Home" },
  ],
  [
    'an organization without a name is called by its alias, whatever it is part of',
    [{ resourceType: 'Organization', id: 'o', alias: ['Elm'], partOf: { reference: 'Organization/1' } }],
    { name: 'Elm' },
  ],
  [
    'a code of a prototype is no state',
    [place({ name: 'Elm', address: { state: 'constructor' } })],
    { state: 'constructor' },
  ],
  [
    'an identifier of the id system tells more than an address',
    [fhirEncounter({ reference: 'Patient/77', ...known })],
    { patient_id: 'known' },
  ],
  ['DSTU2 has a text as class', [fhirEncounter(known, { class: 'inpatient' })], { visit_type: 'inpatient' }],
  ['R5 has a list as class', [fhirEncounter(known, { class: [coded('EMER')] })], { visit_type: 'emergency' }],
  [
    'a participant who is nobody is passed over',
    [fhirEncounter(known, { participant: [{}, { individual: { reference: 'Practitioner/known' } }] })],
    { provider_id: 'known' },
  ],
  [
    'a practitioner inside is found by NPI',
    [
      fhirEncounter(known, {
        contained: [{ ...fhirPractitioner({ identifier: [npiOf('123 456 7893')] }), id: 'in' }],
        participant: [{ individual: { reference: '#in' } }],
      }),
    ],
    { provider_id: 'known' },
  ],
  [
    'a practitioner inside is else known by NPI',
    [
      fhirEncounter(known, {
        contained: [{ ...fhirPractitioner({ identifier: [npiOf('1999999992')] }), id: 'in' }],
        participant: [{ individual: { reference: '#in' } }],
      }),
    ],
    { provider_id: '1999999992' },
  ],
  [
    'what was cancelled without a time is void since it was changed',
    [
      fhirEncounter(known, {
        ...{ status: 'cancelled', period: undefined, meta: { lastUpdated: '2026-01-02T03:04:05.678Z' } },
      }),
    ],
    { voided_at: '2026-01-02T03:04:05.678Z' },
  ],
  ['a role tells of its provider', [role()], { id: 'known', taxonomy_code: '207Q00000X' }],
];
test.each(taken)('%s', async (_title, resources, fields) => {
  expect(await fieldsOf(...resources)).toMatchObject(fields);
});

const relationships: [string, JsonObject, string][] = [
  ['self', coded('self'), 'self'],
  ['a common-law spouse', coded('common'), 'spouse'],
  ['a parent', coded('parent'), 'other'],
  ['injured', coded('injured'), 'other'],
  ['HL7 v2 table 0063', coded('SPO', 'http://terminology.hl7.org/CodeSystem/v2-0063'), 'spouse'],
  ['HL7 v2 table 0344', coded('01', 'http://terminology.hl7.org/CodeSystem/v2-0344'), 'self'],
  ['a number of another system', coded('01', 'urn:x12'), 'other'],
  ['the second coding', { coding: [{ code: '7' }, { code: 'child' }] }, 'child'],
  ['a text', { text: 'Spouse' }, 'spouse'],
  ['the name of a prototype', coded('constructor'), 'other'],
];
test.each(relationships)('a relationship to the subscriber: %s', async (_title, relationship, expected) => {
  const { primary_insurance } = await fieldsOf(fhirCoverage(known, payer, { relationship }));
  expect(primary_insurance).toMatchObject({ subscriber_relationship: expected });
});

const periods: [string, JsonObject][] = [
  ['ends today', { end: '2026-03-14' }],
  ['ends this month', { end: '2026-03' }],
  ['ends later in another zone', { end: '2026-03-14T10:00:00-05:00' }],
];
test.each(periods)('a coverage that %s is in force', async (_title, period) => {
  const other = fhirCoverage(known, { display: 'Oak Mutual' }, { order: 2 });
  const fields = await fieldsOf(fhirCoverage(known, payer, { period, order: 1 }), other);
  expect(fields.primary_insurance).toMatchObject({ payer_id: 'Elm Health' });
});

test('what is said of a record that is made only where it is absent is kept where it is there', async () => {
  const patient = { ...fhirPatient({ id: 'known' }), ifAbsent: true };
  const { operations } = await told(patient, fhirCoverage(known, payer));
  expect(operations.at(-1)).toMatchObject({
    ...{ kind: 'patient', version: 3 },
    fields: { id: 'known', primary_insurance: { payer_id: 'Elm Health' } },
  });
});

test('an organization of the message is the payer of its coverage', async () => {
  const own = fhirPayer({ alias: ['Elm'] });
  const fields = await fieldsOf(own, fhirCoverage(known, referTo(own)));
  expect(fields.primary_insurance).toEqual({ payer_id: own.id });
});
