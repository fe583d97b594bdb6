import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
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
  putFhir,
  recordIn,
  referTo,
  sendFhir,
  statusesIn,
  writtenBy,
} from '../support/fhir.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';
import { sharedService } from '../support/service.ts';

const PDF = Buffer.from('%PDF-1.7\n1 0 obj\n').toString('base64');

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const recordOf = (plural: string, id: unknown) => recordIn(service, plural, id);
  const written = (work: () => Promise<unknown>) => writtenBy(service, work);
  test('a conditional create writes nothing where the record is there', async () => {
    const practitioner = fhirPractitioner({ identifier: [npiOf('1234567893')] });
    const request = {
      method: 'POST',
      url: 'Practitioner',
      ifNoneExist: `identifier=${npiOf('').system}|1234567893`,
    };
    const sent = (resource: JsonObject) => ({
      ...{ resourceType: 'Bundle', type: 'batch' },
      entry: [{ fullUrl: `urn:uuid:${resource.id}`, resource, request }],
    });
    const lines = await written(async () => {
      for (const [gender, status] of [
        ['male', 201],
        ['other', 200],
      ] as const) {
        const { body } = await sendFhir(
          service,
          '/fhir',
          sent({ ...practitioner, gender, name: [{ family: gender, given: ['A'] }] }),
        );
        expect(statusesIn(body)).toEqual([status]);
      }
      const foreign = { 'if-none-exist': 'identifier=urn:x|1' };
      const { body } = await sendFhir(service, '/fhir/Practitioner', practitioner, foreign);
      expect(issuesIn(body)).toEqual(['error not-supported Practitioner.identifier']);
    });
    expect(lines).toEqual([`${inStream('provider', practitioner.id)}: ProviderUpserted`]);
    expect((await recordOf('providers', practitioner.id)).last_name).toBe('male');
  });

  test('what only an explanation of benefits says of a coverage counts until somebody sends one', async () => {
    const patient = fhirPatient();
    const inside = (name: string) => ({
      resourceType: 'Coverage',
      id: 'c',
      status: 'active',
      payor: [{ display: name }],
    });
    const benefit = (name: string, created: string) => ({
      ...{ resourceType: 'ExplanationOfBenefit', id: freshId('eob'), status: 'active', created },
      ...{
        patient: referTo(patient),
        contained: [inside(name)],
        insurance: [{ focal: true, coverage: { reference: '#c' } }],
      },
    });
    const [earlier, later] = [
      benefit('Birch Care', '2024-05-01'),
      benefit('Cedar Care', '2025-05-01T10:00:00Z'),
    ];
    expect((await sendFhir(service, '/fhir', bundle('transaction', later, patient, earlier))).status).toBe(
      200,
    );
    expect((await recordOf('patients', patient.id)).primary_insurance).toEqual({ payer_id: 'Cedar Care' });
    const payer = fhirPayer();
    const coverage = fhirCoverage(referTo(patient), referTo(payer), { order: 1 });
    const both = bundle('transaction', patient, payer, coverage, earlier);
    expect((await sendFhir(service, '/fhir', both)).status).toBe(200);
    expect(await recordOf('patients', patient.id)).toMatchObject({
      primary_insurance: { payer_id: payer.id },
      secondary_insurance: { payer_id: 'Cedar Care' },
    });
  });

  test('a PDF becomes a document of its encounter, once; other types are reported', async () => {
    const [patient] = [fhirPatient()];
    const encounter = fhirEncounter(referTo(patient));
    const reference = (attachment: object): JsonObject => ({
      ...{ resourceType: 'DocumentReference', id: freshId('document'), status: 'current' },
      type: { coding: [{ system: 'http://loinc.org', code: '18842-5' }] },
      ...{ content: [{ attachment }], context: { encounter: [referTo(encounter)] } },
    });
    const inline = reference({ contentType: 'application/pdf', data: PDF, title: 'Discharge' });
    const byUrl = reference({ url: `data:application/pdf;base64,${PDF}` });
    const text = reference({ contentType: 'text/plain', data: 'QQ==' });
    const sent = bundle('transaction', inline, byUrl, text, encounter, patient);
    const lines = await written(async () => {
      const { body } = await sendFhir(service, '/fhir', sent);
      expect(statusesIn(body)).toEqual([201, 201, 200, 201, 201]);
      expect(issuesIn(body.entry[2].response.outcome)).toEqual([
        'warning not-supported Bundle.entry[2].resource.content.attachment',
      ]);
    });
    expect(lines.filter((line) => line.endsWith('DocumentUploaded'))).toHaveLength(2);
    const documents = await service.get(`/integration/encounters/${encounter.id}/documents`);
    expect(documents.body.items).toMatchObject([
      { document_id: inline.id, category: 'discharge_summary', filename: 'Discharge.pdf' },
      { document_id: byUrl.id, filename: `${byUrl.id}.pdf` },
    ]);
    expect(await written(() => sendFhir(service, '/fhir', sent))).toEqual([]);
    const forged = reference({ contentType: 'application/pdf', data: 'QUJD' });
    const lost = {
      ...inline,
      id: freshId('lost'),
      context: { encounter: [{ reference: 'Encounter/nowhere' }] },
    };
    const refused = await written(async () => {
      const { body } = await sendFhir(service, '/fhir', bundle('transaction', forged, encounter, patient));
      expect(issuesIn(body)).toEqual(['error invalid Bundle.entry[0].resource.content.attachment']);
      const nowhere = await putFhir(service, lost);
      expect({ status: nowhere.status, issues: issuesIn(nowhere.body) }).toEqual({
        status: 404,
        issues: ['error not-found DocumentReference'],
      });
    });
    expect(refused).toEqual([]);
  });
});
