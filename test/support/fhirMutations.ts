import fc from 'fast-check';
import type { JsonObject } from '../../src/domain/events/event.ts';
import {
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPayer,
  fhirPractitioner,
  freshId,
  npiOf,
  referTo,
} from './fhir.ts';

const PDF = Buffer.from('%PDF-1.7\n1 0 obj\n').toString('base64');
const coded = (code: string, system?: string) => ({ coding: [{ ...(system && { system }), code }] });

/** One valid resource of each type that is taken, referring to each other in all ways. */
export function validResources(): JsonObject[] {
  const patient = fhirPatient({
    identifier: [{ system: 'urn:mrn', value: 'M-1', type: coded('MR') }],
    telecom: [{ system: 'phone', value: '555-0100', use: 'home', rank: 1, period: { start: '2020' } }],
    address: [
      { use: 'home', line: ['1 Elm St'], state: 'Texas', country: 'USA', period: { end: '2030-01' } },
    ],
  });
  const payer = fhirPayer({ address: [{ city: 'Omaha' }] });
  const practitioner = fhirPractitioner({ identifier: [npiOf('1234567893')] });
  const place: JsonObject = { resourceType: 'Location', id: freshId('place'), name: 'Elm St' };
  const duty = {
    ...{ resourceType: 'PractitionerRole', id: freshId('duty'), practitioner: referTo(practitioner) },
    specialty: [coded('207Q00000X', 'http://nucc.org/provider-taxonomy')],
  };
  const encounter = fhirEncounter(referTo(patient), {
    contained: [{ ...fhirPractitioner({ identifier: [npiOf('1999999992')] }), id: 'inside' }],
    participant: [
      { type: [coded('PPRF')], individual: { reference: '#inside' } },
      { type: [coded('ATND')], individual: { reference: 'Practitioner?identifier=us-npi%7C1' } },
    ],
    location: [{ location: { reference: `Location/${place.id}` } }],
    serviceProvider: { reference: 'https://emr.example/fhir/Organization/1' },
    period: { start: '2026-03-14T09:30:00Z', end: '2026-03-14T10:00:00.5+02:00' },
  });
  const coverage = fhirCoverage(referTo(patient), referTo(payer), {
    ...{ order: 1, subscriberId: 'S-1', relationship: coded('child'), subscriber: { reference: '#sub' } },
    ...{ contained: [{ resourceType: 'RelatedPerson', id: 'sub', name: [{ family: 'King' }] }] },
    period: { start: '2020-01', end: '2099' },
  });
  const benefit = {
    ...{ resourceType: 'ExplanationOfBenefit', id: freshId('eob'), status: 'active', created: '2025-05-01' },
    patient: referTo(patient),
    contained: [{ resourceType: 'Coverage', id: 'c', status: 'active', payor: [{ display: 'Oak' }] }],
    insurance: [{ focal: true, coverage: { reference: '#c' } }],
  };
  const document = {
    ...{ resourceType: 'DocumentReference', id: freshId('doc'), status: 'current' },
    type: coded('18842-5', 'http://loinc.org'),
    content: [{ attachment: { contentType: 'application/pdf', data: PDF, title: 'Discharge' } }],
    context: { encounter: [referTo(encounter)] },
  };
  const others = { resourceType: 'Observation', id: freshId('observation') };
  return [patient, payer, practitioner, place, duty, encounter, coverage, benefit, document, others];
}

const texts = [
  ...['', ' ', '__proto__', 'constructor', 'toString', 'hasOwnProperty', '\u0000\u001b', '\ud800', '😀', '%'],
  ...[
    '2026-13-45',
    '0000',
    '0001-01',
    '9999-12-31T23:59:60+14:00',
    '2026-02-30',
    '-1',
    'soon',
    '2026-03-14T',
  ],
  ...[
    '#',
    '#c',
    '#inside',
    'Patient/',
    'Patient/1',
    'urn:uuid:',
    'Patient?identifier=%E0%A4%A',
    '//',
    'RelatedPerson/1',
  ],
  ...[
    'http://x//Patient/1/_history/',
    'Organization?identifier=|',
    'urn:oid:',
    'http://hl7.org/fhir/sid/us-npi',
  ],
  ...[
    'data:application/pdf;base64',
    'data:,;base64,',
    `data:application/pdf;base64,${PDF}`,
    'Patient',
    'Coverage',
  ],
  ...['x'.repeat(300), 'é'.repeat(5000), 'Practitioner', 'PractitionerRole', 'Organization', 'old', 'draft'],
  ...['cancelled', 'entered-in-error', 'pay', 'SEL', 'active', 'ATND', 'urn:mrn', 'Ontario', 'W/"1"'],
];
const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
const values: unknown[] = [
  ...texts,
  ...[null, 0, -1, 1e308, 0.5, true, false, [], {}, [[]], [null], [{}], nested(300), Array(1500).fill(1)],
  JSON.parse('{"__proto__": {"reference": "Patient/1"}, "constructor": 1, "toString": null}'),
  { reference: '#sub' },
  { display: 'Self Pay' },
  { identifier: npiOf('1 234 567 893') },
  { coding: [{ code: 'constructor', system: 'http://loinc.org' }] },
];

/** A change somewhere in JSON: by these steps down, in this way, with this value. */
export interface Edit {
  steps: number[];
  way: 'set' | 'delete' | 'add' | 'copy' | 'twice';
  value: unknown;
}

/** Changes of any element; an element is reached by steps that count its siblings. */
export const edits: fc.Arbitrary<Edit[]> = fc.array(
  fc.record({
    steps: fc.array(fc.nat(40), { minLength: 2, maxLength: 9 }),
    way: fc.constantFrom<Edit['way']>('set', 'set', 'set', 'delete', 'add', 'copy', 'twice'),
    value: fc.constantFrom(...values),
  }),
  { minLength: 1, maxLength: 6 },
);

/** A copy of JSON with these changes. */
export function edited<Json>(json: Json, changes: readonly Edit[]): Json {
  const root = structuredClone(json);
  let last: unknown = root;
  for (const { steps, way, value } of changes) {
    let holder = root as JsonObject;
    let name = '';
    for (const step of steps) {
      const names = Object.keys(holder);
      if (names.length === 0) break;
      name = names[step % names.length] as string;
      const inside = holder[name];
      if (typeof inside !== 'object' || inside === null || step % 7 === 0) break;
      holder = inside as JsonObject;
    }
    const before = Object.hasOwn(holder, name) ? holder[name] : undefined;
    if (way === 'delete') delete holder[name];
    else if (way === 'add') put(holder, texts[(steps[0] as number) % 6] || 'id', value);
    else if (way === 'twice') put(holder, name, [before, before]);
    else put(holder, name, way === 'copy' ? last : value);
    last = before;
  }
  return root;
}

/** Sets a property as JSON does: `__proto__` is one as any other. */
function put(holder: object, name: string, value: unknown): void {
  const options = { writable: true, enumerable: true, configurable: true };
  Object.defineProperty(holder, name, { value: structuredClone(value), ...options });
}
