import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { runCli, storesOf } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import {
  bundle,
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPayer,
  fhirPractitioner,
  freshId,
  inStream,
  issuesIn,
  npiOf,
  recordIn,
  referTo,
  sendFhir,
  statusesIn,
  writtenBy,
} from '../support/fhir.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { sharedService, type TestService } from '../support/service.ts';

const role = (code: string) => [{ coding: [{ code }] }];

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.stop());

const recordOf = (plural: string, id: unknown) => recordIn(service, plural, id);
const written = (work: () => Promise<unknown>) => writtenBy(service, work);
const claim = () => {
  const patient = fhirPatient();
  const subscriber = {
    resourceType: 'RelatedPerson',
    id: 'sub',
    name: [{ family: 'King', given: ['Bea'] }],
  };
  const payer = { ...fhirPayer({ name: 'Oak Mutual' }), id: 'inside' };
  const practitioner = fhirPractitioner({ identifier: [npiOf('1234567893')] });
  const place: JsonObject = {
    resourceType: 'Location',
    id: freshId('place'),
    name: 'Elm St',
    address: { state: 'Texas' },
  };
  const encounter = fhirEncounter(referTo(patient), {
    class: { code: 'EMER' },
    participant: [
      {
        type: role('PPRF'),
        individual: { reference: 'Practitioner?identifier=http://hl7.org/fhir/sid/us-npi|1234567893' },
      },
      { type: role('ATND'), individual: referTo(practitioner) },
    ],
    location: [{ location: { reference: `Location/${place.id}` } }],
  });
  const taxonomy = [
    { coding: [{ system: 'http://nucc.org/provider-taxonomy', code: '207Q00000X', display: 'Family' }] },
  ];
  const duty = {
    resourceType: 'PractitionerRole',
    id: freshId('duty'),
    practitioner: referTo(practitioner),
    specialty: taxonomy,
  };
  const child = { relationship: { coding: [{ code: 'child' }] }, subscriber: { reference: '#sub' } };
  const coverage = fhirCoverage(
    referTo(patient),
    { reference: '#inside' },
    {
      ...{ contained: [subscriber, payer], order: 3, subscriberId: 'S-1', ...child },
    },
  );
  const observation = { resourceType: 'Observation', id: freshId('observation'), status: 'final' };
  return { patient, practitioner, place, encounter, duty, coverage, observation };
};

test('a Bundle that requests nothing is a batch of its resources, where the source may send it', async () => {
  const { key, workspace, id } = await service.createKey('contents');
  const client = service.as(key);
  const patient = fhirPatient();
  const [older, newer] = ['planned', 'finished'].map((status) => ({
    ...fhirEncounter({ reference: `Patient/${patient.id}` }, { status }),
    id: 'visit-1',
  }));
  const gone = { request: { method: 'DELETE', url: 'Encounter/visit-2' }, response: { status: '204' } };
  const versions = [newer, older, { ...older, id: 'visit-2' }, patient].map((resource) => ({
    resource,
    request: { method: 'PUT', url: `Any/${resource?.id}` },
  }));
  const found = { resourceType: 'OperationOutcome', issue: [] };
  const contents = {
    searchset: [
      ...[newer, patient].map((resource) => ({ resource, search: { mode: 'match' } })),
      { resource: found, search: { mode: 'outcome' } },
    ],
    collection: [{ resource: newer }, { resource: patient }, { fullUrl: 'urn:x' }],
    history: [gone, ...versions],
    message: [{ resource: { resourceType: 'MessageHeader' } }, { resource: newer }, { resource: patient }],
  };
  const sent = (type: string, entry: object[]) => ({ resourceType: 'Bundle', type, entry });
  const appended = await written(async () => {
    for (const [type, entry] of Object.entries(contents)) {
      const { status, body } = await sendFhir(client, '/fhir', sent(type, entry));
      expect([type, status, issuesIn(body)]).toEqual([type, 400, ['error not-supported Bundle.type']]);
    }
  });
  expect(appended).toEqual([]);
  const set = [
    'sources',
    'set',
    'emr',
    '--workspace',
    workspace,
    '--format',
    'fhir',
    '--key',
    id,
    '--bundles',
    'any',
  ];
  expect(await runCli(set, { env: storesOf(service.config) })).toMatchObject({ code: 0 });
  const expected: Record<string, number[]> = {
    searchset: [201, 201, 200],
    collection: [200, 200, 200],
    history: [200, 200, 200, 200, 200],
    message: [200, 200, 200],
  };
  for (const [type, entry] of Object.entries(contents)) {
    const lines = await written(async () => {
      await eventually(async () => {
        const { body } = await sendFhir(client, '/fhir', sent(type, entry));
        expect([type, body.type, statusesIn(body)]).toEqual([type, 'batch-response', expected[type]]);
      });
    });
    expect(lines.length).toBe(type === 'searchset' ? 2 : 0);
  }
  const visit = async (one: string) => client.get(`/integration/encounters/${one}`);
  expect((await visit('visit-1')).body.record).toMatchObject({
    status: 'finished',
    patient_id: patient.id,
  });
  expect((await visit('visit-2')).status).toBe(404);
  const documents = await sendFhir(client, '/fhir', sent('document', [{ resource: patient }]));
  expect(documents.status).toBe(400);
});

test('a transaction becomes its records, whatever its order, and nothing when it comes again', async () => {
  const { patient, practitioner, place, encounter, duty, coverage, observation } = claim();
  const sent = bundle('transaction', encounter, coverage, duty, observation, place, practitioner, patient);
  const lines = await written(async () => {
    const { status, body } = await sendFhir(service, '/fhir', sent);
    expect({ status, type: body.type }).toEqual({ status: 200, type: 'transaction-response' });
    expect(statusesIn(body)).toEqual([201, 201, 201, 200, 201, 201, 201]);
    expect(body.entry[0].response).toMatchObject({
      location: `Encounter/${encounter.id}/_history/1`,
      etag: 'W/"1"',
    });
    expect(issuesIn(body.entry[3].response.outcome)).toEqual([
      'warning not-supported Bundle.entry[3].resource',
    ]);
  });
  expect(lines.toSorted()).toEqual(
    [
      `${inStream('payer', 'Oak Mutual')}: PayerUpserted`,
      `${inStream('facility', place.id)}: FacilityUpserted`,
      `${inStream('provider', practitioner.id)}: ProviderUpserted`,
      `${inStream('patient', patient.id)}: PatientUpserted`,
      `${inStream('encounter', encounter.id)}: EncounterUpserted`,
    ].toSorted(),
  );
  expect(await recordOf('encounters', encounter.id)).toEqual({
    ...{ id: encounter.id, patient_id: patient.id, facility_id: place.id },
    ...{ provider_id: practitioner.id, rendering_provider_id: practitioner.id },
    ...{ visit_type: 'emergency', status: 'finished', is_completed: true },
    date_of_service: '2026-03-14T09:30:00Z',
  });
  expect(await recordOf('providers', practitioner.id)).toMatchObject({
    ...{ npi: '1234567893', taxonomy_code: '207Q00000X', specialty: 'Family' },
  });
  expect(await recordOf('facilities', place.id)).toMatchObject({ name: 'Elm St', state: 'TX' });
  expect((await recordOf('patients', patient.id)).primary_insurance).toEqual({
    ...{
      payer_id: 'Oak Mutual',
      policy_number: 'S-1',
      subscriber_id: 'S-1',
      subscriber_relationship: 'child',
    },
    ...{ subscriber_first_name: 'Bea', subscriber_last_name: 'King' },
  });
  const again = await written(async () => {
    expect(statusesIn((await sendFhir(service, '/fhir', sent)).body)).toEqual(Array(7).fill(200));
  });
  expect(again).toEqual([]);
});

test('anything wrong in a transaction refuses all of it', async () => {
  const { patient, practitioner, place, encounter } = claim();
  const wrong: [JsonObject, string][] = [
    [{ ...patient, birthDate: 'soon' }, 'error required Bundle.entry[2].resource.birthDate'],
    [{ ...patient, birthDate: '2026-02-30' }, 'error invalid Bundle.entry[2].resource.birthDate'],
    [{ ...patient, id: 'other' }, 'error invalid Bundle.entry[2].resource.id'],
    [{ resourceType: 'Patient', id: patient.id }, 'error required Bundle.entry[2].resource.name'],
  ];
  const lines = await written(async () => {
    for (const [resource, issue] of wrong) {
      const sent = bundle('transaction', practitioner, place, patient, encounter);
      (sent.entry as { resource: JsonObject }[])[2] = { ...(sent.entry as object[])[2], resource };
      const { status, body } = await sendFhir(service, '/fhir', sent);
      expect(status).toBe(400);
      expect(issuesIn(body)).toContain(issue);
    }
    const elsewhere = fhirEncounter({ reference: 'urn:uuid:6d0fcea7-4f9d-beef-c326-d4a90b059348' });
    const dangling = await sendFhir(service, '/fhir', bundle('transaction', patient, elsewhere));
    expect(issuesIn(dangling.body)).toEqual(['error not-found Bundle.entry[1].resource.subject']);
    const deleting = {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [{ request: { method: 'DELETE', url: 'Patient/1' } }],
    };
    const deleted = await sendFhir(service, '/fhir', deleting);
    expect(issuesIn(deleted.body)).toEqual(['error not-supported Bundle.entry[0].request.method']);
  });
  expect(lines).toEqual([]);
});

test('of a batch each entry has an answer of its own', async () => {
  const [patient, payer] = [fhirPatient(), fhirPayer()];
  const lost = fhirEncounter({ reference: 'Patient/nobody' });
  const own = fhirEncounter(referTo(patient));
  const sent = bundle('batch', own, lost, { ...payer, name: undefined }, patient);
  const lines = await written(async () => {
    const { body } = await sendFhir(service, '/fhir', sent);
    expect(statusesIn(body)).toEqual([201, 400, 400, 201]);
    expect(issuesIn(body.entry[1].response.outcome)).toEqual([
      'error not-found Bundle.entry[1].resource.subject',
    ]);
    expect(issuesIn(body.entry[2].response.outcome)).toEqual([
      'error required Bundle.entry[2].resource.name',
    ]);
  });
  expect(lines).toEqual([
    `${inStream('patient', patient.id)}: PatientUpserted`,
    `${inStream('encounter', own.id)}: EncounterUpserted`,
  ]);
});

test('a record that came otherwise is found by its number, and one of two by none', async () => {
  const npi = '1000000004';
  const provider = { ...samples.provider(), npi };
  expect((await service.post('/integration/providers', provider)).status).toBe(200);
  const patient = fhirPatient();
  const reference = `Practitioner?identifier=${encodeURIComponent(`http://hl7.org/fhir/sid/us-npi|${npi}`)}`;
  const encounter = fhirEncounter(referTo(patient), { participant: [{ individual: { reference } }] });
  const sent = bundle('transaction', patient, encounter);
  await eventually(async () => expect((await sendFhir(service, '/fhir', sent)).status).toBe(200));
  expect((await recordOf('encounters', encounter.id)).provider_id).toBe(provider.id);
  const logical = { type: 'Practitioner', identifier: npiOf('1999999992') };
  const unknown = fhirEncounter(referTo(patient), { participant: [{ individual: logical }] });
  const double = { ...samples.provider(), npi };
  expect((await service.post('/integration/providers', double)).status).toBe(200);
  const lines = await written(async () => {
    for (const one of [unknown, { ...encounter, id: freshId('again') }]) {
      const { status, body } = await sendFhir(service, '/fhir', bundle('transaction', patient, one));
      expect({ status, issues: issuesIn(body) }).toEqual({
        status: 400,
        issues: ['error not-found Bundle.entry[1].resource.participant.individual'],
      });
    }
  });
  expect(lines).toEqual([]);
});

test('the source of a key names the identifiers that are ids', async () => {
  const { key, id } = await service.createKey('clinic', ['read', 'write']);
  const as = service.as(key);
  const system = 'urn:oid:2.16.840.1.113883.19.5';
  const args = ['sources', 'set', 'main', '--workspace', service.workspaceId('clinic'), '--format', 'fhir'];
  const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
  const set = await runCli([...args, '--key', id, '--id-system', `Patient=${system}`], { env });
  expect(set).toMatchObject({ code: 0, stderr: '' });
  const mrn = phi('MRN-1');
  const { id: _id, ...patient } = fhirPatient({
    identifier: [
      { system: 'urn:oid:1.2.3', value: 'another hospital' },
      { system, value: mrn },
    ],
  });
  const encounter = fhirEncounter({ identifier: { system, value: mrn } });
  const lines = await written(async () => {
    await eventually(async () => expect((await sendFhir(as, '/fhir/Patient', patient)).status).toBe(201));
    expect((await sendFhir(as, '/fhir/Encounter', encounter)).status).toBe(201);
  });
  expect(lines).toEqual([
    `${inStream('patient', mrn)}: PatientUpserted`,
    `${inStream('encounter', encounter.id)}: EncounterUpserted`,
  ]);
});

test('a time without an offset is in the time zone of its source', async () => {
  const { key, id } = await service.createKey('clinic', ['read', 'write']);
  const as = service.as(key);
  const args = ['sources', 'set', 'zoned', '--workspace', service.workspaceId('clinic'), '--format', 'fhir'];
  const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
  const set = await runCli([...args, '--key', id, '--time-zone', 'America/Chicago'], { env });
  expect(set).toMatchObject({ code: 0, stderr: '' });
  const [patient, payer] = [fhirPatient(), fhirPayer()];
  const [start, end] = ['2026-01-01T00:00', '2026-07-01T00:00:00'];
  const coverage = fhirCoverage(referTo(patient), referTo(payer), { period: { start, end } });
  const encounter = (begin: string) =>
    fhirEncounter(referTo(patient), { status: 'cancelled', period: { start: begin } });
  const [local, offset, day] = ['2026-03-14T09:30:00', '2026-03-14T09:30:00Z', '2026-03-14'].map(encounter);
  const sent = bundle('transaction', patient, payer, coverage, ...([local, offset, day] as JsonObject[]));
  const read = async (plural: string, { id: recordId }: JsonObject = {}) =>
    (await as.get(`/integration/${plural}/${recordId}`)).body.record;
  await eventually(async () => {
    expect((await sendFhir(as, '/fhir', sent)).status).toBe(200);
    const at = '2026-03-14T09:30:00-05:00';
    expect(await read('encounters', local)).toMatchObject({ date_of_service: at, voided_at: at });
  });
  expect(await read('encounters', offset)).toMatchObject({ date_of_service: '2026-03-14T09:30:00Z' });
  expect(await read('encounters', day)).toMatchObject({ date_of_service: '2026-03-14' });
  expect((await read('patients', patient)).primary_insurance).toMatchObject({
    ...{ effective_date: '2026-01-01T00:00-06:00', termination_date: '2026-07-01T00:00:00-05:00' },
  });
});
