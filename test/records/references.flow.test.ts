import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { phi } from '../support/output.ts';
import { paths, type Referred, samples, upsertReferred } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'];

onSharedService((start) => {
  let service: TestService;
  let referred: Referred;
  beforeAll(async () => {
    service = await start();
    referred = await upsertReferred(service);
  });
  afterAll(() => service.stop());

  /** Sends a record that is to be refused for these missing references: field, kind as the error names it, id. */
  async function expectMissing(
    path: string,
    record: object,
    missing: [string, string, string][],
  ): Promise<void> {
    const appended = await appendedBy(service, async () => {
      const { status, body } = await service.post(path, record);
      const named = new Set(missing.map(([, title, id]) => `${title} '${id}' does not exist`));
      expect({ status, body }).toEqual({
        status: 400,
        body: {
          error: [...named].join('; '),
          code: 'reference_not_found',
          details: missing.map(([field, title, id]) => ({
            field,
            message: `refers to a ${title.toLowerCase()} that does not exist`,
            kind: title === 'Rendering provider' ? 'provider' : title.toLowerCase(),
            id,
            code: 'reference_not_found',
          })),
          requestId: expect.any(String),
        },
      });
    });
    expect(appended).toEqual([]);
  }

  test.each(ranks)('a missing payer of %s is named', async (rank) => {
    const payer_id = phi('nowhere');
    const record = { ...samples.patient(), [rank]: { payer_id } };
    await expectMissing(paths.patient, record, [[`${rank}.payer_id`, 'Payer', payer_id]]);
  });

  test('all missing payers of a patient are named in one error, those that exist are not', async () => {
    const [first, third] = [phi('nowhere'), phi('nowhere')];
    const record = {
      ...samples.patient(),
      primary_insurance: { payer_id: first },
      secondary_insurance: { payer_id: referred.payer },
      tertiary_insurance: { payer_id: third },
    };
    await expectMissing(paths.patient, record, [
      ['primary_insurance.payer_id', 'Payer', first],
      ['tertiary_insurance.payer_id', 'Payer', third],
    ]);
  });

  test.each([
    ['patient_id', 'Patient'],
    ['provider_id', 'Provider'],
    ['rendering_provider_id', 'Rendering provider'],
    ['facility_id', 'Facility'],
  ])('a missing %s of an encounter is named', async (field, title) => {
    const id = phi('nowhere');
    const record = { ...samples.encounter(referred.patient), [field]: id };
    await expectMissing(paths.encounter, record, [[field, title, id]]);
  });

  test('all missing records of an encounter are named in one error', async () => {
    const ids = {
      patient: phi('nowhere'),
      provider: phi('nowhere'),
      rendering: phi('nowhere'),
      facility: phi('nowhere'),
    };
    const record = {
      ...samples.encounter(ids.patient),
      provider_id: ids.provider,
      rendering_provider_id: ids.rendering,
      facility_id: ids.facility,
    };
    await expectMissing(paths.encounter, record, [
      ['patient_id', 'Patient', ids.patient],
      ['provider_id', 'Provider', ids.provider],
      ['rendering_provider_id', 'Rendering provider', ids.rendering],
      ['facility_id', 'Facility', ids.facility],
    ]);
  });

  test('one id that is missing twice is named for both', async () => {
    const id = phi('nowhere');
    const record = { ...samples.encounter(referred.patient), provider_id: id, rendering_provider_id: id };
    await expectMissing(paths.encounter, record, [
      ['provider_id', 'Provider', id],
      ['rendering_provider_id', 'Rendering provider', id],
    ]);
  });

  test('a record of another kind with the same id does not count', async () => {
    const record = { ...samples.encounter(referred.patient), facility_id: referred.provider };
    await expectMissing(paths.encounter, record, [['facility_id', 'Facility', referred.provider]]);
  });

  test('a record of another workspace does not count, nor is it seen', async () => {
    const other = service.as((await service.createKey('other')).key);
    const payer = samples.payer();
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    expect((await other.post(paths.payer, payer)).status).toBe(200);
    expect((await other.post(paths.patient, patient)).status).toBe(200);
    await expectMissing(paths.patient, patient, [['primary_insurance.payer_id', 'Payer', payer.id]]);
    await expectMissing(paths.encounter, samples.encounter(patient.id), [
      ['patient_id', 'Patient', patient.id],
    ]);

    const mine = { ...payer, name: phi('Mine') };
    const appended = await appendedBy(service, () => service.post(paths.payer, mine));
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
    const theirs = await other.get(`${paths.payer}/${payer.id}`);
    expect(theirs.body).toMatchObject({ version: 1, record: { name: payer.name } });
  });

  test('null refers to nothing', async () => {
    const record = { ...samples.encounter(referred.patient), provider_id: null, facility_id: null };
    const appended = await appendedBy(service, async () => {
      expect((await service.post(paths.encounter, record)).status).toBe(200);
    });
    expect(appended).toHaveLength(1);
  });

  /** A payer, its patient and that one's encounter, each sent when the one before was acknowledged. */
  async function sendChain(): Promise<number[]> {
    const payer = samples.payer();
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const encounter = samples.encounter(patient.id);
    const statuses: number[] = [];
    for (const [path, record] of [
      [paths.payer, payer],
      [paths.patient, patient],
      [paths.encounter, encounter],
    ] as const) {
      statuses.push((await service.post(path, record)).status);
    }
    return statuses;
  }

  test('60 chains of payer, patient and encounter sent at once are all accepted', async () => {
    const appended = await appendedBy(service, async () => {
      const chains = await Promise.all(Array.from({ length: 60 }, sendChain));
      expect(chains.flat().filter((status) => status !== 200)).toEqual([]);
    });
    expect(appended).toHaveLength(180);
  });

  test('what the log holds exists, also when the read models were deleted and the service starts anew', async () => {
    if (service.config.readModelUrl.startsWith('sqlite:')) {
      const file = service.config.readModelUrl.slice('sqlite:'.length);
      for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true });
    }
    expect(await sendChain()).toEqual([200, 200, 200]);
    await service.restart();
    const encounter = { ...samples.encounter(referred.patient), facility_id: referred.facility };
    expect((await service.post(paths.encounter, encounter)).status).toBe(200);
    const patient = { ...samples.patient(), secondary_insurance: { payer_id: referred.payer } };
    expect((await service.post(paths.patient, patient)).status).toBe(200);
  });
});
