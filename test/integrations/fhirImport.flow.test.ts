import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { linesOf } from '../support/client.ts';
import {
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPayer,
  fhirPractitioner,
  freshId,
  issuesIn,
  npiOf,
  writtenBy,
} from '../support/fhir.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';
import { sharedService } from '../support/service.ts';

const named = ({ resourceType, id }: JsonObject) => ({ reference: `${resourceType}/${id}` });

interface ToldLine {
  line: number;
  status: number;
  outcome: Parameters<typeof issuesIn>[0];
}

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    service.send('/fhir/$import', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/fhir+ndjson', ...headers },
    });

  /** What an import that was taken answers: the lines it tells of, shortened, and the summary. */
  async function importing(body: string | Buffer, headers?: Record<string, string>) {
    const { status, text } = await post(body, headers);
    expect(status).toBe(200);
    const answered = text.trimEnd().split('\n');
    const { summary } = JSON.parse(answered.pop() as string);
    const told = answered.map((line) => {
      const { line: number, status, outcome } = JSON.parse(line) as ToldLine;
      return [number, status, ...issuesIn(outcome)];
    });
    return { told, summary };
  }

  const recordOf = async (plural: string, id: unknown) =>
    (await service.get(`/integration/${plural}/${id}`)).body;
  const written = (work: () => Promise<unknown>) => writtenBy(service, work);

  test('lines lead to each other in any order, and those that are wrong are told by their numbers and stop no other', async () => {
    const patient = fhirPatient();
    const practitioner = fhirPractitioner({ identifier: [npiOf('1999999984')] });
    const payer = fhirPayer();
    const doctor = {
      individual: { reference: 'Practitioner?identifier=http://hl7.org/fhir/sid/us-npi|1999999984' },
    };
    const encounter = fhirEncounter(named(patient), { status: 'in-progress', participant: [doctor] });
    const coverage = fhirCoverage(named(patient), named(payer), { subscriberId: 'S-1' });
    const lost = fhirEncounter({ reference: `Patient/${freshId('nobody')}` });
    const lines = linesOf([
      ...[encounter, coverage, '{"resourceType": "Patient", ', '', fhirPatient({ birthDate: '1980-02-31' })],
      ...[{ resourceType: 'Observation', id: 'seen', status: 'final' }, lost, practitioner, payer, patient],
    ]);
    const events = await written(async () => {
      expect(await importing(lines)).toEqual({
        told: [
          [3, 400, 'error structure Resource'],
          [5, 400, 'error invalid Patient.birthDate'],
          [6, 200, 'warning not-supported Resource'],
          [7, 400, 'error not-found Encounter.subject'],
        ],
        summary: { lines: 9, created: 5, updated: 0, unchanged: 0, left_out: 1, refused: 3 },
      });
    });
    expect(events.toSorted()).toEqual(
      [
        `clinic.payer-${payer.id}: PayerUpserted`,
        `clinic.provider-${practitioner.id}: ProviderUpserted`,
        `clinic.patient-${patient.id}: PatientUpserted`,
        `clinic.encounter-${encounter.id}: EncounterUpserted`,
      ].toSorted(),
    );
    expect((await recordOf('encounters', encounter.id)).record).toMatchObject({
      ...{ patient_id: patient.id, provider_id: practitioner.id },
    });
    const insurance = { payer_id: payer.id, policy_number: 'S-1' };
    expect((await recordOf('patients', patient.id)).record.primary_insurance).toMatchObject(insurance);
    expect(
      await written(() => importing(linesOf([encounter, coverage, practitioner, payer, patient]))),
    ).toEqual([]);
  });

  test('an insurance that comes after its patient is added to the record that there is', async () => {
    const [patient, payer] = [fhirPatient(), fhirPayer()];
    await importing(gzipSync(linesOf([payer, patient])), { 'content-encoding': 'gzip' });
    const coverage = fhirCoverage(named(patient), named(payer));
    const events = await written(async () => {
      const { summary } = await importing(linesOf([coverage]), { 'content-type': 'application/ndjson' });
      expect(summary).toMatchObject({ lines: 1, updated: 1 });
    });
    expect(events).toEqual([`clinic.patient-${patient.id}: PatientUpserted`]);
    const { record, version } = await recordOf('patients', patient.id);
    expect({ version, birth: record.date_of_birth, payer: record.primary_insurance.payer_id }).toEqual({
      ...{ version: 2, birth: '1980-02-29', payer: payer.id },
    });
  });

  test('lines of one id become versions in their order', async () => {
    const patient = fhirPatient();
    const genders = ['male', 'female', 'other', 'female', 'male'];
    const lines = linesOf(genders.map((gender) => ({ ...patient, gender })));
    const events = await written(async () => {
      const { summary } = await importing(lines, { 'content-type': 'application/x-ndjson' });
      expect(summary).toMatchObject({ lines: 5, created: 1, updated: 4, refused: 0 });
    });
    expect(events).toEqual(genders.map(() => `clinic.patient-${patient.id}: PatientUpserted`));
    const { version, record } = await recordOf('patients', patient.id);
    expect([version, record.gender]).toEqual([5, 'male']);
  });

  test('a line of too many values is refused unread, whatever its bytes, and stops no other', async () => {
    const patient = fhirPatient();
    const nasty = `{"resourceType":"Patient","id":"${freshId('nasty')}","x":[${'{},'.repeat(50_000)}{}]}`;
    const deep = `{"resourceType":"Patient","id":"${freshId('nasty')}","x":${'['.repeat(100)}${']'.repeat(100)}}`;
    const events = await written(async () => {
      const body = gzipSync(`${nasty}\n${JSON.stringify(patient)}\n${deep}\n`);
      const { told, summary } = await importing(body, { 'content-encoding': 'gzip' });
      expect(told).toEqual([
        [1, 413, 'error too-long Resource'],
        [3, 413, 'error too-long Resource'],
      ]);
      expect(summary).toMatchObject({ lines: 3, created: 1, refused: 2 });
    });
    expect(events).toEqual([`clinic.patient-${patient.id}: PatientUpserted`]);
  });

  test('a Bundle of too many values is refused unread', async () => {
    const events = await written(async () => {
      for (const x of ['['.repeat(1_000_000), `[${'{},'.repeat(250_000)}{}]`]) {
        const body = gzipSync(`{"resourceType":"Bundle","type":"batch","x":${x}}`);
        const headers = { 'content-type': 'application/fhir+json', 'content-encoding': 'gzip' };
        const answer = await service.send('/fhir', { method: 'POST', body, headers });
        expect([answer.status, ...issuesIn(answer.body)]).toEqual([413, 'error too-long']);
      }
    });
    expect(events).toEqual([]);
  });

  test('what a key may not write is refused unread', async () => {
    const { key } = await service.createKey('clinic', ['write:payer']);
    const limited = service.as(key);
    const payer = fhirPayer();
    const events = await written(async () => {
      const body = `{"resourceType":"Patient","name":no JSON}\n${JSON.stringify(payer)}`;
      const headers = { 'content-type': 'application/fhir+ndjson' };
      const { text } = await limited.send('/fhir/$import', { method: 'POST', body, headers });
      const [told, { summary }] = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect([told.line, told.status]).toEqual([1, 403]);
      expect(summary).toMatchObject({ lines: 2, created: 1, refused: 1 });
      const one = { method: 'POST', body: 'no JSON', headers: { 'content-type': 'application/fhir+json' } };
      expect((await limited.send('/fhir/Patient', one)).status).toBe(403);
    });
    expect(events).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  });

  test('what is no Bulk Data is refused as a whole, and writes nothing', async () => {
    const lines = linesOf([fhirPatient()]);
    const events = await written(async () => {
      const xml = await post(lines, { 'content-type': 'application/fhir+xml' });
      expect([xml.status, ...issuesIn(xml.body)]).toEqual([415, 'error not-supported']);
      const broken = await post('not gzip', { 'content-encoding': 'gzip' });
      expect([broken.status, ...issuesIn(broken.body)]).toEqual([400, 'error structure']);
    });
    expect(events).toEqual([]);
    const { body } = await service.get('/fhir/metadata');
    expect(body.rest[0].operation).toMatchObject([{ name: 'import' }]);
  });
});
