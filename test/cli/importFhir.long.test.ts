import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnCli, temporaryFolder } from '../support/cli.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const fixtures = join(import.meta.dirname, '../fixtures/fhir');
notePhi('Testperson', 'Bulka', 'Bulkine', 'Bulko', 'Bundla', 'Bundlo', 'Bundlina', '1234567893');

/** A copy of a folder of fixtures, of which one file is compressed. */
function copyOf(name: string, compressed?: string): string {
  const folder = temporaryFolder();
  for (const file of readdirSync(join(fixtures, name)))
    copyFileSync(join(fixtures, name, file), join(folder, file));
  if (compressed === undefined) return folder;
  writeFileSync(join(folder, `${compressed}.gz`), gzipSync(readFileSync(join(folder, compressed))));
  rmSync(join(folder, compressed));
  return folder;
}

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  async function importing(folder: string) {
    const cwd = temporaryFolder();
    const args = ['--format', 'fhir', '--url', service.url, '--json', '--reject-file', 'rejected.ndjson'];
    const env = { CHARTLEDGER_API_KEY: service.key as string };
    const { code, stdout, stderr } = await spawnCli(['import', folder, ...args], { cwd, env });
    const left = readdirSync(cwd);
    const lines = left.includes('rejected.ndjson') ? readFileSync(join(cwd, 'rejected.ndjson'), 'utf8') : '';
    const rejected = lines
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    return { code, counts: JSON.parse(stdout), stderr, rejected, left };
  }
  const recordOf = async (plural: string, id: string) =>
    (await service.get(`/integration/${plural}/${encodeURIComponent(id)}`)).body.record;
  const written = async (work: () => Promise<unknown>) =>
    (await appendedBy(service, work)).filter((line) => !line.startsWith('access: '));

  test('Bundles of search results, collections, histories and messages go in as what they contain', async () => {
    const folder = temporaryFolder();
    const person = (id: string, family: string) => ({
      ...{ resourceType: 'Patient', id, birthDate: '1984-02-29' },
      name: [{ family, given: ['Bea'] }],
    });
    const bundles = {
      searchset: [{ resource: person('contents-1', 'Bundla'), search: { mode: 'match' } }],
      collection: [{ resource: person('contents-2', 'Bundla') }],
      history: [
        { request: { method: 'DELETE', url: 'Patient/contents-4' } },
        { resource: person('contents-3', 'Bundlina'), request: { method: 'PUT', url: 'Patient/contents-3' } },
        { resource: person('contents-3', 'Bundlo'), request: { method: 'POST', url: 'Patient' } },
        { resource: person('contents-4', 'Bundlo'), request: { method: 'POST', url: 'Patient' } },
      ],
      message: [
        { resource: { resourceType: 'MessageHeader' } },
        { resource: person('contents-5', 'Bundla') },
      ],
    };
    for (const [type, entry] of Object.entries(bundles)) {
      writeFileSync(join(folder, `${type}.json`), JSON.stringify({ resourceType: 'Bundle', type, entry }));
    }
    const events = await written(async () => {
      const { code, counts } = await importing(folder);
      expect([code, counts]).toMatchObject([0, { accepted: 4, rejected: 0 }]);
    });
    expect(events.toSorted()).toEqual(
      ['1', '2', '3', '5'].map((id) => `clinic.patient-contents-${id}: PatientUpserted`),
    );
    expect(await recordOf('patients', 'contents-3')).toMatchObject({ last_name: 'Bundlina' });
  });

  test('Bulk Data goes in in the order of its types, with what is wrong listed by file and line, and changes nothing the next time', async () => {
    const folder = copyOf('bulk', 'Encounter.ndjson');
    const once = (count: number) => ({ accepted: count, rejected: 0 });
    const by_kind = {
      ...{ Organization: once(2), Location: once(1), Practitioner: once(1), PractitionerRole: once(1) },
      ...{ Patient: { accepted: 2, rejected: 1 }, Coverage: once(1), ExplanationOfBenefit: once(1) },
      ...{ Encounter: once(2), DocumentReference: once(1) },
    };
    const events = await written(async () => {
      const result = await importing(folder);
      expect(result.counts).toMatchObject({ accepted: 12, rejected: 2, created: 12, by_kind });
      expect(result.code).toBe(1);
      expect(result.stderr).toContain('Passed over, as no records are made of them: 2 Observation.\n');
      expect(result.rejected).toMatchObject([
        { kind: null, source: 'Patient.ndjson:4', id: null, status: null },
        { kind: 'Patient', source: 'Patient.ndjson:3', id: 'bulk-3', status: 400 },
      ]);
      expect(result.rejected[1].details).toMatchObject([{ field: 'Patient.birthDate' }]);
      expect(result.left).toEqual(['rejected.ndjson']);
    });
    expect(events.toSorted()).toEqual(
      [
        ...['facility-bulk-hospital: Facility', 'facility-bulk-ward: Facility', 'payer-bulk-payer: Payer'],
        ...['payer-Oak%20Mutual: Payer', 'provider-bulk-doctor: Provider', 'patient-bulk-1: Patient'],
        ...[
          'patient-bulk-2: Patient',
          'encounter-bulk-visit-1: Encounter',
          'encounter-bulk-visit-2: Encounter',
        ],
      ]
        .map((line) => `clinic.${line}Upserted`)
        .concat('clinic.document-bulk-visit-1%2Fbulk-document: DocumentUploaded')
        .toSorted(),
    );
    expect(await recordOf('patients', 'bulk-1')).toMatchObject({
      primary_insurance: { payer_id: 'bulk-payer', policy_number: 'M-1' },
    });
    expect(await recordOf('patients', 'bulk-2')).toMatchObject({
      primary_insurance: { payer_id: 'Oak Mutual' },
    });
    expect(await recordOf('providers', 'bulk-doctor')).toMatchObject({ taxonomy_code: '207Q00000X' });
    expect(await recordOf('encounters', 'bulk-visit-2')).toMatchObject({
      ...{ patient_id: 'bulk-2', provider_id: 'bulk-doctor', facility_id: 'bulk-ward' },
    });
    const again = await written(async () => {
      const { counts } = await importing(folder);
      expect(counts).toMatchObject({ accepted: 12, rejected: 2, created: 0, updated: 0 });
    });
    expect(again).toEqual([]);
  });

  test('Bundles go in one by one, hospitals first, and one that is refused stops no other', async () => {
    const events = await written(async () => {
      const result = await importing(copyOf('bundles'));
      expect(result.counts).toMatchObject({ by_kind: { Bundle: { accepted: 2, rejected: 1 } } });
      expect(result.stderr).toContain('1 Parameters');
      expect(result.rejected).toMatchObject([
        { kind: 'Bundle', source: 'b-refused.json', id: 'b-refused', status: 400 },
      ]);
      expect(result.rejected[0].details).toMatchObject([{ field: 'Bundle.entry[0].resource.birthDate' }]);
    });
    expect(events).toEqual([
      'clinic.facility-bundled-hospital: FacilityUpserted',
      'clinic.patient-bundled-1: PatientUpserted',
      'clinic.encounter-bundled-visit: EncounterUpserted',
    ]);
    expect(await recordOf('encounters', 'bundled-visit')).toMatchObject({ facility_id: 'bundled-hospital' });
  });

  test('a folder without FHIR is one line and exit code 1', async () => {
    const folder = temporaryFolder();
    const events = await written(async () => {
      const env = { CHARTLEDGER_API_KEY: service.key as string };
      const args = ['import', folder, '--format', 'fhir', '--url', service.url];
      expect(await spawnCli(args, { cwd: folder, env })).toMatchObject({
        ...{ code: 1, stdout: '', stderr: expect.stringMatching(/contains no \*\.ndjson.*\n$/) },
      });
    });
    expect(events).toEqual([]);
  });
});
