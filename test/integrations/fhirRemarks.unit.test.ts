import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import {
  benefit,
  coded,
  document,
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPractitioner,
  known,
  npiOf,
  PDF,
  payer,
  role,
  told,
} from '../support/fhir.ts';

const nobody = { identifier: { system: 'urn:mrn', value: '2' } };

const left: [string, JsonObject[], string[], number][] = [
  [
    'a gender that is not known',
    [fhirPatient({ gender: 'unknown' })],
    ['warning informational Patient.gender'],
    1,
  ],
  [
    'a patient who is not active',
    [fhirPatient({ active: false })],
    ['warning informational Patient.active'],
    1,
  ],
  [
    'a patient who has died',
    [fhirPatient({ deceasedDateTime: '2026' })],
    ['warning informational Patient.deceased'],
    1,
  ],
  [
    'a patient who is replaced, nobody knows by whom',
    [fhirPatient({ link: [{ type: 'replaced-by', other: { display: 'Ada' } }] })],
    ['warning informational Patient.link'],
    1,
  ],
  [
    'a state of another country',
    [fhirPatient({ address: [{ state: 'Ontario', country: 'CA' }] })],
    ['warning not-supported Patient.address.state'],
    1,
  ],
  [
    'a name that is a text',
    [fhirPatient({ name: [{ text: 'Maria Lopez' }] })],
    ['error required Patient.name'],
    0,
  ],
  [
    'a month that there is none of',
    [fhirCoverage(known, payer, { period: { end: '2026-13' } })],
    ['error invalid Coverage.period.end'],
    0,
  ],
  [
    'a draft',
    [fhirCoverage(known, payer, { status: 'draft' })],
    ['warning informational Coverage.status'],
    0,
  ],
  [
    'self-pay by its type',
    [
      fhirCoverage(known, payer, {
        type: coded('pay', 'http://terminology.hl7.org/CodeSystem/coverage-selfpay'),
      }),
    ],
    ['warning informational Coverage.type'],
    0,
  ],
  [
    'a patient who pays',
    [fhirCoverage(known, { reference: 'Patient/known' })],
    ['warning informational Coverage.payor'],
    0,
  ],
  [
    'a relative who pays',
    [fhirCoverage(known, { reference: '#r' }, { contained: [{ resourceType: 'RelatedPerson', id: 'r' }] })],
    ['warning informational Coverage.payor'],
    0,
  ],
  [
    'each coverage of nobody',
    [fhirCoverage(nobody, payer), fhirCoverage(nobody, payer)],
    Array(2).fill('error not-found Coverage.beneficiary'),
    1,
  ],
  [
    'an address that could be that of another patient, as ids are of an identifier',
    [fhirEncounter({ reference: 'Patient/known' })],
    ['error not-found Encounter.subject'],
    0,
  ],
  [
    'the same with an identifier of another system',
    [fhirEncounter({ reference: 'Patient/known', identifier: { system: 'urn:ssn', value: 'known' } })],
    ['error not-found Encounter.subject'],
    0,
  ],
  [
    'several subjects',
    [fhirEncounter([known, known] as unknown as JsonObject)],
    ['error invalid Encounter.subject'],
    0,
  ],
  [
    'a class without visit type',
    [fhirEncounter(known, { class: { code: 'constructor' } })],
    ['warning not-supported Encounter.class'],
    1,
  ],
  [
    'participants of other parts',
    [fhirEncounter(known, { participant: [{ type: [coded('REF')], individual: { display: 'A' } }] })],
    ['warning informational Encounter.participant'],
    1,
  ],
  [
    'a place that is a text',
    [fhirEncounter(known, { location: [{ location: { display: 'ER' } }], hospitalization: {} })],
    ['warning informational Encounter.location.location'],
    1,
  ],
  [
    'a practitioner inside with the NPI of two',
    [
      fhirEncounter(known, {
        contained: [{ ...fhirPractitioner({ identifier: [npiOf('1000000004')] }), id: 'in' }],
        participant: [{ individual: { reference: '#in' } }],
      }),
    ],
    ['error not-found Encounter.participant.individual'],
    0,
  ],
  [
    'nothing of a benefit whose coverage inside has an id that is no text',
    [benefit({ id: { toString: null } })],
    [],
    0,
  ],
  [
    'a coverage inside that is none',
    [benefit({ id: 'c', status: 'soon' })],
    ['warning invalid ExplanationOfBenefit.contained'],
    0,
  ],
  [
    'a role that has ended',
    [role({ period: { end: '2020' } })],
    ['warning informational PractitionerRole.active'],
    0,
  ],
  [
    'a role of nobody',
    [role({ practitioner: undefined })],
    ['warning informational PractitionerRole.practitioner'],
    0,
  ],
  [
    'a role without taxonomy',
    [role({ specialty: [coded('394')] })],
    ['warning informational PractitionerRole.specialty'],
    0,
  ],
  [
    'a document of another size',
    [document({ size: 7 })],
    ['error value DocumentReference.content.attachment.size'],
    0,
  ],
  [
    'a document with another hash',
    [document({ hash: createHash('sha1').update('other').digest('base64') })],
    ['error value DocumentReference.content.attachment.hash'],
    0,
  ],
  [
    'a hash that is none',
    [document({ hash: 'QUJD', size: PDF.length })],
    ['warning value DocumentReference.content.attachment.hash'],
    1,
  ],
  [
    'encounters beyond the first, and what is replaced',
    [
      document(
        { hash: createHash('sha1').update(PDF).digest('base64') },
        {
          context: { encounter: [{ reference: 'Encounter/1' }, { reference: 'Encounter/2' }] },
          relatesTo: [{ code: 'replaces', target: { reference: 'DocumentReference/0' } }],
        },
      ),
    ],
    [
      'warning informational DocumentReference.context.encounter',
      'warning informational DocumentReference.relatesTo',
    ],
    1,
  ],
  ['a category of a prototype', [document({}, { type: coded('constructor', 'http://loinc.org') })], [], 1],
  [
    'a condition of a coverage',
    [{ ...fhirCoverage(known, payer), ifAbsent: true }],
    ['error not-supported Coverage'],
    0,
  ],
];
test.each(left)('it is told: %s', async (_title, resources, issues, written) => {
  const { operations, issues: actual } = await told(...resources);
  expect({ issues: actual, written: operations.length }).toEqual({ issues, written });
});
