import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import {
  FHIR_JSON,
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPayer,
  freshId,
  issuesIn,
  putFhir,
  recordIn,
  sendFhir,
} from '../support/fhir.ts';
import { phi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, sharedService, type TestService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const recordOf = (plural: string, id: unknown) => recordIn(service, plural, id);

  test('says what it takes, to whoever asks', async () => {
    const { status, headers, body } = await service.as(undefined).get('/fhir/metadata');
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: `${FHIR_JSON}; charset=utf-8`,
    });
    expect(body).toMatchObject({
      resourceType: 'CapabilityStatement',
      fhirVersion: '4.0.1',
      kind: 'instance',
    });
    const [rest] = body.rest;
    expect(rest.resource.map(({ type }: { type: string }) => type)).toContain('PractitionerRole');
    expect(rest.documentation).toContain('completes it');
  });

  test('a patient is created, updated, and not written again for the same', async () => {
    const [first_name, last_name] = [phi('Ada'), phi('Lovelace')];
    const patient = fhirPatient({
      identifier: [{ system: 'http://hl7.org/fhir/sid/us-ssn', value: '999-12-3456' }],
      telecom: [
        { system: 'phone', value: '555-0100', use: 'home' },
        { system: 'phone', value: '555-0199', use: 'old' },
        { system: 'phone', value: '555-0111', use: 'mobile', rank: 2 },
        { system: 'email', value: 'ada@example.com' },
      ],
      name: [
        { use: 'maiden', family: 'Byron', given: ['Augusta'] },
        { use: 'official', family: 'Before', given: ['Ada'], period: { end: '2001' } },
        { use: 'official', family: last_name, given: [first_name, 'King'] },
      ],
      address: [
        { use: 'old', line: ['1 Past St'], city: 'Gone', state: 'NY' },
        {
          use: 'home',
          line: ['12 Elm St', 'Apt 4'],
          city: 'Boston',
          state: 'Massachusetts',
          postalCode: '02110',
          country: 'USA',
        },
      ],
    });
    const created = await changesBy(service, async () => {
      const { status, headers, body } = await putFhir(service, patient);
      expect(status).toBe(201);
      expect(headers).toMatchObject({
        location: `/fhir/Patient/${patient.id}/_history/1`,
        etag: 'W/"1"',
      });
      expect(body.resourceType).toBe('OperationOutcome');
    });
    expect(created.map(({ type, data }) => [type, data])).toEqual([
      [
        'PatientUpserted',
        {
          ...{ id: patient.id, first_name, last_name },
          ...{ date_of_birth: '1980-02-29', gender: 'female', ssn_last4: '3456' },
          ...{ phone: '555-0111', email: 'ada@example.com' },
          ...{ address_line_1: '12 Elm St', address_line_2: 'Apt 4', city: 'Boston', state: 'MA' },
          ...{ zip_code: '02110', country: 'US' },
        },
      ],
    ]);
    const nothing = await changesBy(service, async () => {
      const { status, headers } = await putFhir(service, patient);
      expect({ status, etag: headers.etag }).toEqual({ status: 200, etag: 'W/"1"' });
    });
    expect(nothing).toEqual([]);
    const stale = await appendedBy(service, async () => {
      const changed = { ...patient, gender: 'other' };
      expect((await putFhir(service, changed, { 'if-match': 'W/"7"' })).status).toBe(412);
      expect((await putFhir(service, changed, { 'if-match': 'seven' })).status).toBe(400);
    });
    expect(stale.filter((line) => !line.startsWith('access: '))).toEqual([]);
    expect(
      (await putFhir(service, { ...patient, gender: 'other' }, { 'if-match': 'W/"1"' })).headers.etag,
    ).toBe('W/"2"');
  });

  test('of several that replace the same version at once one does, and the others are told', async () => {
    const patient = fhirPatient();
    await putFhir(service, patient);
    const appended = await appendedBy(service, async () => {
      const answers = await Promise.all(
        ['1', '2', '3', '4', '5', '6'].map((number) => {
          const telecom = [{ system: 'phone', value: `555-010${number}` }];
          return putFhir(service, { ...patient, telecom }, { 'if-match': 'W/"1"' });
        }),
      );
      const statuses = answers.map(({ status }) => status).toSorted();
      expect(statuses).toEqual([200, ...Array(5).fill(412)]);
    });
    expect(appended.filter((line) => !line.startsWith('access: '))).toEqual([
      `clinic.patient-${patient.id}: PatientUpserted`,
    ]);
  });

  test('what is refused says which element, and why; nothing is written', async () => {
    const patient = fhirPatient();
    const { id: _id, ...nameless } = patient;
    const refusals: [string, unknown, number, string[]][] = [
      ['/fhir/Patient', { ...patient, birthDate: undefined }, 400, ['error required Patient.birthDate']],
      ['/fhir/Patient', { ...patient, birthDate: '1980-02' }, 400, ['error required Patient.birthDate']],
      ['/fhir/Patient', { ...patient, birthDate: '1980-02-30' }, 400, ['error invalid Patient.birthDate']],
      [
        '/fhir/Patient',
        { ...patient, name: [{ given: [7] }] },
        400,
        ['error invalid Patient.name[0].given[0]'],
      ],
      ['/fhir/Patient', { ...patient, gender: 'F' }, 400, ['error value Patient.gender']],
      ['/fhir/Patient', nameless, 400, ['error required Patient.id']],
      ['/fhir/Patient', { ...patient, resourceType: 'Group' }, 400, ['error invalid Resource.resourceType']],
      ['/fhir/Patient', [], 400, ['error invalid Resource.resourceType']],
      ['/fhir/Observation', { resourceType: 'Observation', id: 'o' }, 404, ['error not-found']],
      [
        '/fhir/Encounter',
        fhirEncounter({ reference: 'Patient/nobody' }),
        400,
        ['error not-found Encounter.subject'],
      ],
      ['/fhir/Encounter', fhirEncounter({ reference: 'Group/1' }), 400, ['error invalid Encounter.subject']],
      ['/fhir/Encounter', fhirEncounter({ display: 'Ada' }), 400, ['error not-found Encounter.subject']],
      ['/fhir', { ...patient }, 400, ['error invalid Bundle.resourceType']],
      ['/fhir', { resourceType: 'Bundle', type: 'document' }, 400, ['error not-supported Bundle.type']],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [path, resource, status, issues] of refusals) {
        const answer = await sendFhir(service, path, resource);
        expect({ status: answer.status, issues: issuesIn(answer.body) }).toEqual({ status, issues });
        expect(answer.headers['content-type']).toBe(`${FHIR_JSON}; charset=utf-8`);
        expect(answer.text).not.toContain('Lovelace');
      }
      const other = { ...patient, id: 'another' };
      const sent = await sendFhir(service, `/fhir/Patient/${patient.id}`, other, {}, 'PUT');
      expect(issuesIn(sent.body)).toEqual(['error invalid Patient.id']);
      const xml = await sendFhir(service, '/fhir/Patient', patient, {
        'content-type': 'application/fhir+xml',
      });
      expect({ status: xml.status, issues: issuesIn(xml.body) }).toEqual({
        status: 415,
        issues: ['error not-supported'],
      });
      const broken = await service.send('/fhir', {
        method: 'POST',
        headers: { 'content-type': FHIR_JSON },
        body: '{',
      });
      expect({ status: broken.status, issues: issuesIn(broken.body) }).toEqual({
        status: 400,
        issues: ['error structure'],
      });
      const misspelled = await sendFhir(service, '/fhir/Patient?_format=json&dry=1', patient);
      expect([misspelled.status, misspelled.body.issue]).toEqual([
        400,
        ['_format', 'dry'].map((name) => ({
          ...{ severity: 'error', code: 'invalid' },
          diagnostics: `${name} is not a known query parameter; this path takes none`,
        })),
      ]);
      const keyless = await sendFhir(service.as(undefined), '/fhir/Patient', patient);
      expect({ status: keyless.status, issues: issuesIn(keyless.body) }).toEqual({
        status: 401,
        issues: ['error login'],
      });
      expect((await service.send('/fhir/Patient', { method: 'DELETE' })).status).toBe(405);
    });
    expect(appended.filter((line) => !line.startsWith('access: '))).toEqual([]);
  });

  test('a key for some kinds alone sends those', async () => {
    const as = service.as((await service.createKey('clinic', ['write:patient'])).key);
    const [patient, payer] = [fhirPatient(), fhirPayer()];
    const appended = await appendedBy(service, async () => {
      expect((await sendFhir(as, '/fhir/Organization', payer)).status).toBe(403);
      expect((await sendFhir(as, '/fhir/Patient', patient)).status).toBe(201);
    });
    expect(appended.filter((line) => !line.startsWith('access: '))).toEqual([
      `clinic.patient-${patient.id}: PatientUpserted`,
    ]);
  });

  test('an encounter that did not take place is void, and counts again when it did', async () => {
    const patient = fhirPatient();
    const encounter = fhirEncounter({ reference: `Patient/${patient.id}` });
    await putFhir(service, patient);
    const told = [];
    for (const status of ['planned', 'entered-in-error', 'finished']) {
      expect((await putFhir(service, { ...encounter, status })).status).toBe(
        status === 'planned' ? 201 : 200,
      );
      const { is_completed, voided_at, void_reason } = await recordOf('encounters', encounter.id);
      told.push([is_completed, voided_at, void_reason]);
    }
    expect(told).toEqual([
      [false, undefined, undefined],
      [false, '2026-03-14T09:30:00Z', 'Encounter.status is entered-in-error'],
      [true, undefined, undefined],
    ]);
  });

  test('what is remarked of a record is told in sentences', async () => {
    const patient = fhirPatient({ telecom: [{ system: 'email', value: 'nobody' }] });
    const told = [await putFhir(service, patient)];
    told.push(await putFhir(service, fhirEncounter({ reference: `Patient/${patient.id}` })));
    expect(told.flatMap(({ body }) => body.issue.map(({ diagnostics }: JsonObject) => diagnostics))).toEqual([
      'email does not look like an email address.',
      'provider_id: A claim needs the billing provider. This field is empty.',
      'facility_id: A claim needs the place of service. This field is empty.',
    ]);
  });

  test('a coverage finds its rank among those that the patient has, and leaves it when it is cancelled', async () => {
    const patient = fhirPatient();
    const [first, second] = [fhirPayer(), fhirPayer({ name: 'Oak Mutual' })];
    for (const one of [patient, first, second]) expect((await putFhir(service, one)).status).toBe(201);
    const beneficiary = { reference: `Patient/${patient.id}` };
    const later = fhirCoverage(
      beneficiary,
      { reference: `Organization/${second.id}` },
      {
        ...{ order: 9, subscriberId: 'S-2', relationship: { coding: [{ code: 'spouse' }] } },
        identifier: [{ type: { coding: [{ code: 'MB' }] }, value: 'M-2' }],
        class: [{ type: { coding: [{ code: 'group' }] }, value: 'G-2' }],
        period: { start: '2020', end: '2099-11' },
      },
    );
    const before = fhirCoverage(
      beneficiary,
      { reference: `https://emr.example/fhir/Organization/${first.id}` },
      { order: 4 },
    );
    const appended = await appendedBy(service, async () => {
      for (const one of [later, before]) expect((await putFhir(service, one)).status).toBe(200);
    });
    expect(appended).toEqual(Array(2).fill(`clinic.patient-${patient.id}: PatientUpserted`));
    const insured = await recordOf('patients', patient.id);
    expect(insured).toMatchObject({ gender: 'female', date_of_birth: '1980-02-29' });
    expect(insured.primary_insurance).toEqual({
      ...{ payer_id: second.id, policy_number: 'M-2', group_number: 'G-2', subscriber_id: 'S-2' },
      ...{ effective_date: '2020-01-01', termination_date: '2099-11-30', subscriber_relationship: 'spouse' },
    });
    expect(insured.secondary_insurance).toEqual({ payer_id: first.id });
    expect((await putFhir(service, { ...later, status: 'cancelled' })).status).toBe(200);
    const left = await recordOf('patients', patient.id);
    expect([left.primary_insurance, left.secondary_insurance]).toEqual([{ payer_id: first.id }, undefined]);

    const nobodys = fhirCoverage({ reference: `Patient/${freshId('nobody')}` }, { display: 'Elm Health' });
    const refused = await appendedBy(service, async () => {
      const { status, body } = await putFhir(service, nobodys);
      expect({ status, issues: issuesIn(body) }).toEqual({
        status: 400,
        issues: ['error not-found Coverage.beneficiary'],
      });
    });
    expect(refused.filter((line) => !line.startsWith('access: '))).toEqual([]);
  });
});
