import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runInWorkspace, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { billedPath, freshClaim, sendClaim } from '../support/readiness.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, logLines, type TestService } from '../support/service.ts';
import { filesIn, tableIn } from '../support/warehouse.ts';

const LONG_MS = 60_000;

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const sink = (folder: string, ...options: string[]) =>
    runInWorkspace(service, 'sink', 'parquet', folder, ...options);
  async function write(folder: string, ...options: string[]): Promise<string> {
    const { code, stdout, stderr } = await sink(folder, ...options);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  }
  const post = async (path: string, record: object) =>
    expect((await service.post(path, record)).status).toBe(200);

  test(
    'runs in between leave the same bytes as one at the end: every record and version, and nothing of what was erased',
    async () => {
      const folder = temporaryFolder();
      const claim = freshClaim({ encounter: { status: phi('seen') } });
      const { payer, patient, encounter } = claim;
      await sendClaim(service, claim);
      await write(folder);

      await post('/integration/patients', { ...patient, city: phi('Omaha'), secondary_insurance: null });
      const place = documentsPath(String(encounter.id));
      const [scan, note] = [phi('scan'), phi('note')];
      for (const document_id of [scan, scan, note])
        expect((await service.upload(place, documentForm({ document_id }))).status).toBe(200);
      expect((await service.delete(documentsPath(String(encounter.id), note))).status).toBe(200);
      const leaver = { ...samples.patient(), city: phi('Gone'), phone: phi('402') };
      const visit = { ...samples.encounter(leaver.id), status: phi('gone') };
      await post('/integration/patients', leaver);
      await post('/integration/encounters', visit);
      const claimId = phi('claim');
      await post(billedPath(claim), { claim_id: claimId });
      await post(`${billedPath(claim)}/${claimId}/outcome`, {
        source: '835',
        outcome: 'denied',
        adjustments: [{ group: 'CO', code: '16' }],
      });
      await write(folder);
      expect(await tableIn(folder, 'patients')).toContainEqual(expect.objectContaining({ id: leaver.id }));

      const erased = await runInWorkspace(
        service,
        'records',
        'erase',
        'patient',
        leaver.id,
        '--reason',
        'asked',
        '--with-encounters',
      );
      expect(erased.code).toBe(0);
      // A second life of the same id.
      const returned = { ...samples.patient(), id: leaver.id };
      await post('/integration/patients', returned);
      const { body } = await service.get(`/integration/patients/${patient.id}`);
      const fresh = temporaryFolder();
      await eventually(async () => {
        await write(folder);
        await write(fresh);
        expect(await write(folder)).toBe('Nothing has changed.\n');
      });
      expect(filesIn(folder)).toEqual(filesIn(fresh));

      const patients = await tableIn(folder, 'patients');
      const { primary_insurance, ...flat } = body.record;
      const insurance = Object.entries(primary_insurance).map(([name, value]) => [
        `primary_insurance_${name}`,
        value,
      ]);
      expect(patients.find(({ id }) => id === patient.id)).toEqual({
        ...flat,
        ...Object.fromEntries(insurance),
        version: 2,
        created_at: new Date(body.created_at),
        updated_at: new Date(body.updated_at),
      });
      expect(patients.map(({ id }) => id)).toEqual([patient.id, leaver.id].sort());
      expect(patients.find(({ id }) => id === leaver.id)).toMatchObject({ ...returned, version: 3 });
      const versions = await tableIn(folder, 'patient_versions');
      expect(versions.map(({ id, version, type, city }) => [id, version, type, city])).toEqual([
        [patient.id, 1, 'chartledger.patient.upserted.v1', patient.city],
        [patient.id, 2, 'chartledger.patient.upserted.v1', flat.city],
        [leaver.id, 2, 'chartledger.patient.erased.v1', undefined],
        [leaver.id, 3, 'chartledger.patient.upserted.v1', undefined],
      ]);
      expect(versions[1]).toMatchObject({
        changed: expect.stringContaining('city'),
        principal_type: 'api_key',
      });
      expect(await tableIn(folder, 'documents')).toMatchObject([
        { encounter_id: encounter.id, document_id: scan, version: 2, category: 'lab_results' },
      ]);
      expect(
        (await tableIn(folder, 'document_versions')).map(({ document_id, version }) => [
          document_id,
          version,
        ]),
      ).toEqual([
        [scan, 1],
        [scan, 2],
        [note, 1],
        [note, 2],
      ]);
      const readiness = await tableIn(folder, 'readiness');
      expect(readiness.find(({ outcome }) => outcome === 'denied')).toMatchObject({
        ...{ type: 'chartledger.encounter.claim_outcome_reported.v1', encounter_id: encounter.id },
        adjustments: '[{"code":"16","group":"CO"}]',
      });
      expect((await tableIn(folder, 'access')).map(({ action }) => action)).toContain('record.read');
      expect((await tableIn(folder, 'payers')).map(({ name }) => name)).toEqual([payer.name]);

      const tables = [
        'patients',
        'encounters',
        'patient_versions',
        'encounter_versions',
        'readiness',
        'documents',
      ];
      const everything = JSON.stringify(
        await Promise.all(tables.map((table) => tableIn(folder, table))),
        (_, value) => (typeof value === 'bigint' ? Number(value) : value),
      );
      for (const value of [leaver.city, leaver.phone, visit.status]) expect(everything).not.toContain(value);
    },
    LONG_MS,
  );

  test('each commit is in the audit trail before it is written, and a run without changes appends nothing', async () => {
    const folder = temporaryFolder();
    const options = ['--recipient', 'Billing analytics', '--purpose', 'operations'];
    const appended = await appendedBy(service, () => write(folder, ...options));
    expect(appended).toEqual([]);
    await post('/integration/payers', samples.payer());
    const accesses = await accessesBy(service, () =>
      eventually(async () => {
        await write(folder, ...options);
        expect(await write(folder, ...options)).toBe('Nothing has changed.\n');
      }),
    );
    expect(accesses.filter(({ action }) => action === 'export')[0]).toMatchObject({
      query: { format: 'parquet', view: 'full' },
      shown: { ranges: [{ from: expect.any(Number), to: expect.any(Number) }] },
      disclosed_to: { recipient: 'Billing analytics', purpose: 'operations' },
    });
  });

  test('the de-identified tables have hashes for ids, years for dates, and no accesses', async () => {
    const folder = temporaryFolder();
    const patient = { ...samples.patient(), city: phi('Lincoln'), gender: 'female' };
    const encounter = { ...samples.encounter(patient.id), date_of_service: '2026-03-14' };
    await post('/integration/patients', patient);
    await post('/integration/encounters', encounter);
    await write(folder, '--deidentified');
    const encounters = await tableIn(folder, 'encounters');
    const [{ patient_id: hash } = {}] = encounters.filter(
      (one) => one.date_of_service === '2026' && one.visit_type === undefined,
    );
    expect((await tableIn(folder, 'patients')).find(({ id }) => id === hash)).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      version: 1,
      created_at: new Date(`${new Date().getUTCFullYear()}-01-01`),
      updated_at: new Date(`${new Date().getUTCFullYear()}-01-01`),
      deidentification: 'safe_harbor',
      date_of_birth: '1984',
      gender: 'female',
      country: 'US',
    });
    const versions = await tableIn(folder, 'patient_versions');
    expect(versions.at(-1)).not.toHaveProperty('principal_id');
    expect(await tableIn(folder, 'access')).toEqual([]);
    const text = JSON.stringify([versions, encounters], (_, value) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
    for (const value of [patient.id, patient.city, encounter.id, '2026-03-14'])
      expect(text).not.toContain(value);
  });

  test('those of a limited data set have hashes for ids, and whole dates and times', async () => {
    const folder = temporaryFolder();
    const patient = { ...samples.patient(), city: 'Lincoln', zip_code: '68501-1234' };
    await post('/integration/patients', patient);
    await write(folder, '--view', 'limited');
    const found = (await tableIn(folder, 'patients')).find((one) => one.zip_code === '68501');
    expect(found).toMatchObject({ city: 'Lincoln', date_of_birth: patient.date_of_birth });
    expect(found?.id).toMatch(/^[\w-]{22}$/);
    expect(found?.created_at).not.toEqual(new Date(`${new Date().getUTCFullYear()}-01-01`));
    expect(found).not.toHaveProperty('last_name');
    expect(await tableIn(folder, 'access')).toEqual([]);
  });

  test('the role keeps the warehouses of its settings up to date, and goes on after what cannot be written', async () => {
    const [folder, research] = [temporaryFolder(), temporaryFolder()];
    const other = temporaryFolder();
    writeFileSync(join(other, 'notes.txt'), 'mine');
    const clinic = service.workspaceId('clinic');
    const role = await service.another({
      ROLES: 'warehouse',
      WAREHOUSES: `${clinic}=${folder}, ${clinic}/deidentified=${research}, ${clinic}=${other}`,
      WAREHOUSES_EVERY_SECONDS: '1',
    });
    try {
      const payer = samples.payer();
      await post('/integration/payers', payer);
      const idsIn = async (place: string) => (await tableIn(place, 'payers')).map(({ id }) => id);
      await eventually(async () => expect(await idsIn(folder)).toContain(payer.id));
      await eventually(async () => expect(await idsIn(research)).toHaveLength((await idsIn(folder)).length));
      const later = samples.payer();
      await post('/integration/payers', later);
      await eventually(async () => expect(await idsIn(folder)).toContain(later.id));
      expect(await idsIn(research)).not.toContain(payer.id);
    } finally {
      await role.stop();
    }
    expect(logLines('a warehouse cannot be written')).toContainEqual(
      expect.objectContaining({ workspace: clinic, problem: expect.stringContaining('is not empty') }),
    );
    // Whoever continues need not wait for it.
    await write(folder);
  });

  test('what was made from something else, or is something else, is not continued', async () => {
    const folder = temporaryFolder();
    await write(folder);
    const before = filesIn(folder);
    expect(await sink(folder, '--deidentified')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The warehouse is of another view'),
    });
    const other = temporaryFolder();
    writeFileSync(join(other, 'notes.txt'), 'mine');
    expect(await sink(other)).toMatchObject({ code: 1, stderr: expect.stringContaining('is not empty') });
    expect(filesIn(folder)).toEqual(before);
    expect(filesIn(other)).toEqual(new Map());
  });
});
