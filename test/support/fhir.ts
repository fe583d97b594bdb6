import fc from 'fast-check';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { Interpreter } from '../../src/modules/integrations/fhir/interpreter.ts';
import type { FhirRecords } from '../../src/modules/integrations/fhir/references.ts';
import { originsOf } from '../../src/modules/integrations/fhir/send.ts';
import { flatFields } from '../../src/modules/integrations/fields.ts';
import type { Mapping } from '../../src/modules/integrations/mapping.ts';
import type { Origin, Origins } from '../../src/modules/integrations/operations.ts';
import type { Client, TestResponse } from './client.ts';
import { eventually } from './eventually.ts';
import { phi } from './output.ts';
import { documentForm, documentsPath, samples } from './samples.ts';
import { appendedBy, type TestService } from './service.ts';

export const FHIR_JSON = 'application/fhir+json';
const NPI = 'http://hl7.org/fhir/sid/us-npi';

/** Sends a resource, or a Bundle, as EMRs do. */
export function sendFhir(
  service: Pick<TestService, 'send'>,
  path: string,
  resource: unknown,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<TestResponse> {
  const body = JSON.stringify(resource);
  return service.send(path, { method, headers: { 'content-type': FHIR_JSON, ...headers }, body });
}

export const putFhir = (service: TestService, resource: JsonObject, headers: Record<string, string> = {}) =>
  sendFhir(service, `/fhir/${resource.resourceType}/${resource.id}`, resource, headers, 'PUT');

/** The record of an id, as it is read. */
export async function recordIn(service: TestService, plural: string, id: unknown) {
  return (await service.get(`/integration/${plural}/${encodeURIComponent(String(id))}`)).body.record;
}

/** The events that `work` had appended, as `appendedBy` tells them, but for accesses. */
export async function writtenBy(service: TestService, work: () => Promise<unknown>): Promise<string[]> {
  return (await appendedBy(service, work)).filter((line) => !line.startsWith('access: '));
}

/** How `writtenBy` names the stream of a record. */
export const inStream = (kind: string, id: unknown) => `clinic.${kind}-${encodeURIComponent(String(id))}`;

/** A Bundle that creates or replaces these by their ids, in this order. */
export function bundle(type: 'batch' | 'transaction', ...resources: JsonObject[]): JsonObject {
  const entry = resources.map((resource) => ({
    fullUrl: `urn:uuid:${resource.id}`,
    resource,
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
  }));
  return { resourceType: 'Bundle', type, entry };
}

let made = 0;
/** An id that nothing else has. */
export function freshId(name: string): string {
  return `${name}-${process.pid}-${made++}`;
}

export const referTo = (resource: JsonObject) => ({ reference: `urn:uuid:${resource.id}` });

export function fhirPatient(fields: JsonObject = {}): JsonObject {
  return {
    resourceType: 'Patient',
    id: freshId('fhir-patient'),
    name: [{ use: 'official', family: phi('Lovelace'), given: [phi('Ada'), 'M.'] }],
    gender: 'female',
    birthDate: '1980-02-29',
    ...fields,
  };
}

export function fhirPractitioner(fields: JsonObject = {}): JsonObject {
  return {
    resourceType: 'Practitioner',
    id: freshId('fhir-practitioner'),
    name: [{ family: 'Osler', given: ['William'] }],
    ...fields,
  };
}

export const npiOf = (value: string) => ({ system: NPI, value });

export function fhirEncounter(subject: JsonObject, fields: JsonObject = {}): JsonObject {
  return {
    resourceType: 'Encounter',
    id: freshId('fhir-encounter'),
    status: 'finished',
    class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'AMB' },
    subject,
    period: { start: '2026-03-14T09:30:00Z' },
    ...fields,
  };
}

export function fhirCoverage(
  beneficiary: JsonObject,
  payor: JsonObject,
  fields: JsonObject = {},
): JsonObject {
  return {
    resourceType: 'Coverage',
    id: freshId('fhir-coverage'),
    status: 'active',
    beneficiary,
    payor: [payor],
    ...fields,
  };
}

export function fhirPayer(fields: JsonObject = {}): JsonObject {
  return {
    resourceType: 'Organization',
    id: freshId('fhir-payer'),
    type: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/organization-type', code: 'pay' }] }],
    name: 'Elm Health',
    ...fields,
  };
}

/** The issues of an OperationOutcome: severity, code and where. */
export function issuesIn(
  outcome: { issue?: { severity: string; code: string; expression?: string[] }[] } = {},
): string[] {
  return (outcome.issue ?? []).map(({ severity, code, expression = [] }) =>
    `${severity} ${code} ${expression.join()}`.trim(),
  );
}

/** The statuses of the entries of an answered Bundle. */
export function statusesIn(answer: { entry: { response: { status: string } }[] }): number[] {
  return answer.entry.map(({ response }) => Number.parseInt(response.status, 10));
}

const MUTATED_PDF = Buffer.from('%PDF-1.7\n1 0 obj\n').toString('base64');
const codedAs = (code: string, system?: string) => ({ coding: [{ ...(system && { system }), code }] });

/** One valid resource of each type that is taken, referring to each other in all ways. */
export function validResources(): JsonObject[] {
  const patient = fhirPatient({
    identifier: [{ system: 'urn:mrn', value: 'M-1', type: codedAs('MR') }],
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
    specialty: [codedAs('207Q00000X', 'http://nucc.org/provider-taxonomy')],
  };
  const encounter = fhirEncounter(referTo(patient), {
    contained: [{ ...fhirPractitioner({ identifier: [npiOf('1999999992')] }), id: 'inside' }],
    participant: [
      { type: [codedAs('PPRF')], individual: { reference: '#inside' } },
      { type: [codedAs('ATND')], individual: { reference: 'Practitioner?identifier=us-npi%7C1' } },
    ],
    location: [{ location: { reference: `Location/${place.id}` } }],
    serviceProvider: { reference: 'https://emr.example/fhir/Organization/1' },
    period: { start: '2026-03-14T09:30:00Z', end: '2026-03-14T10:00:00.5+02:00' },
  });
  const coverage = fhirCoverage(referTo(patient), referTo(payer), {
    ...{ order: 1, subscriberId: 'S-1', relationship: codedAs('child'), subscriber: { reference: '#sub' } },
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
    type: codedAs('18842-5', 'http://loinc.org'),
    content: [{ attachment: { contentType: 'application/pdf', data: MUTATED_PDF, title: 'Discharge' } }],
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
    `data:application/pdf;base64,${MUTATED_PDF}`,
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
interface Edit {
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

const AT = Date.UTC(2026, 2, 14, 12);
export const PDF = Buffer.from('%PDF-1.7\n');
export const coded = (code: string, system?: string) => ({ coding: [{ code, ...(system && { system }) }] });

/** The records of a workspace that has one patient and one provider. */
const records: FhirRecords = {
  async current(kind, id) {
    const fields = { id, first_name: 'Ada', last_name: 'King', date_of_birth: '1980-02-29' };
    return id === 'known' ? { version: 3, fields: { ...fields, kind } } : undefined;
  },
  async havingNumber(_kind, _field, value) {
    return value === '1234567893' ? ['known'] : value === '1000000004' ? ['one', 'two'] : [];
  },
};

/** What a message comes to: the fields of its operations, by kind, and the issues of its entries. */
export async function told(...resources: JsonObject[]) {
  return toldBy({}, ...resources);
}

/** The same of a source with a mapping of its own. */
export async function toldBy(mapping: Mapping, ...resources: JsonObject[]) {
  const entries = resources.map(({ ifAbsent, ...resource }) => ({
    ...{ at: '', resource, fullUrl: `urn:uuid:${resource.id}` },
    ...(ifAbsent === true && { ifAbsent }),
  }));
  const context = { at: AT, timeZone: 'UTC', idSystems: { Patient: 'urn:mrn' }, mapping };
  const { entries: read, operations } = await new Interpreter(records, context).interpret(entries);
  const issue = read.flatMap(({ issues }) =>
    issues.map(({ severity, code, expression }) => ({ severity, code, expression: [expression] })),
  );
  return { operations, issues: issuesIn({ issue }) };
}

/** Where what a Bundle of these resources says comes from: the origins of the first record of a kind, or all of them. */
export async function originsBy(mapping: Mapping, ...resources: JsonObject[]) {
  const entries = resources.map((resource, index) => ({
    ...{ at: `Bundle.entry[${index}].resource`, resource, fullUrl: `urn:uuid:${resource.id}` },
  }));
  const context = { at: AT, timeZone: 'UTC', idSystems: { Patient: 'urn:mrn' }, mapping };
  const interpreted = await new Interpreter(records, context).interpret(entries);
  const origins = originsOf(interpreted, context);
  function find(kind: string): Origins;
  function find(): { field: string; origin: Origin | undefined }[];
  function find(kind?: string) {
    if (kind !== undefined) {
      const operation = interpreted.operations.find((one) => one.type === 'record' && one.kind === kind);
      return operation && origins.get(operation);
    }
    return interpreted.operations.flatMap((one) => {
      const told = one.type === 'record' ? flatFields(one.fields) : [['category'], ['file']];
      return told.map(([field]) => ({ field: String(field), origin: origins.get(one)?.[String(field)] }));
    });
  }
  return find;
}

/** The fields of the record that a message writes last. */
export async function fieldsOf(...resources: JsonObject[]): Promise<JsonObject> {
  const { operations } = await told(...resources);
  const last = operations.at(-1);
  return last?.type === 'record' ? last.fields : {};
}

export const known = { identifier: { system: 'urn:mrn', value: 'known' } };
export const payer = { display: 'Elm Health' };
export const document = (attachment: object, fields: JsonObject = {}): JsonObject => ({
  ...{ resourceType: 'DocumentReference', id: 'd', status: 'current' },
  content: [{ attachment: { contentType: 'application/pdf', data: PDF.toString('base64'), ...attachment } }],
  context: { encounter: [{ reference: 'Encounter/1' }] },
  ...fields,
});
export const role = (fields: JsonObject = {}): JsonObject => ({
  ...{ resourceType: 'PractitionerRole', id: 'r', practitioner: { reference: 'Practitioner/known' } },
  specialty: [coded('207Q00000X', 'http://nucc.org/provider-taxonomy')],
  ...fields,
});
export const benefit = (inside: JsonObject): JsonObject => ({
  ...{ resourceType: 'ExplanationOfBenefit', id: 'e', patient: known },
  contained: [{ resourceType: 'Coverage', status: 'active', payor: [payer], ...inside }],
  insurance: [{ coverage: { reference: '#c' } }],
});
export const place = (fields: JsonObject): JsonObject => ({ resourceType: 'Location', id: 'l', ...fields });

/** A projector that was just started lags behind on a busy machine. */
const SOON_MS = 120_000;

/** A patient that was sent with all that goes with one. */
export interface SentPatient {
  patientId: string;
  encounterId: string;
  documentId: string;
  /** What was sent, and must be found nowhere once it is erased. */
  values: string[];
}

/**
 * Sends a patient with an encounter that has a document and was billed, and the patient once more in a message of an EMR, the number of
 * the patient says whether in FHIR or in HL7 v2. The sources of both have to be configured.
 */
export async function sendWhole(client: Client, n: number): Promise<SentPatient> {
  const patient = { ...samples.patient(), address: phi('Street') };
  const encounter = { id: phi('encounter'), patient_id: patient.id };
  const [filename, claim_id, family] = [phi('scan'), phi('claim'), phi('Family')];
  const form = documentForm({
    filename: `${filename}.pdf`,
    content: Buffer.from(`%PDF-1.7 ${filename} %%EOF`),
  });
  for (const send of [
    () => client.post('/integration/patients', patient),
    () => sendMessage(client, n, patient.id, family),
    () => client.post('/integration/encounters', encounter),
    () => client.upload(documentsPath(encounter.id), form),
  ])
    expect(await whenAvailable(send)).toMatchObject({ status: 200 });
  // It needs read models that have come so far.
  await eventually(async () => {
    const path = `/integration/encounters/${encounter.id}/billed`;
    expect((await client.post(path, { claim_id })).status).toBe(200);
  }, SOON_MS);
  return {
    patientId: patient.id,
    encounterId: encounter.id,
    documentId: form.get('document_id') as string,
    values: [patient.first_name, patient.last_name, patient.address, filename, claim_id, family],
  };
}

/** Sends again while a store is away or a read model lags, as senders do. */
export function whenAvailable(send: () => Promise<TestResponse>): Promise<TestResponse> {
  return eventually(async () => {
    const answer = await send();
    expect(answer.status).not.toBe(503);
    return answer;
  }, SOON_MS);
}

function sendMessage(client: Client, n: number, id: string, family: string): Promise<TestResponse> {
  if (n % 2 === 0) {
    const name = [{ family, given: ['Ada'] }];
    const resource = { resourceType: 'Patient', id, name, birthDate: '1984-02-29' };
    return sendFhir(client, `/fhir/Patient/${id}`, resource, {}, 'PUT');
  }
  const segments = [
    'MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^A28^ADT_A05|MSG00001|P|2.5.1',
    'EVN|A28|20260314093015-0500',
    `PID|1||${id}^^^ELMST^MR||${family}^Maria||19840229|F`,
    'PV1|1|N',
  ];
  const headers = { 'content-type': 'application/hl7-v2' };
  return client.send('/hl7/v2', { method: 'POST', headers, body: segments.join('\r') });
}
