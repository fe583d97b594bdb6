import { afterAll, beforeAll, expect, test } from 'vitest';
import { phi } from '../support/output.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, refusalsBy, sharedService, type TestService } from '../support/service.ts';

const dry = (path: string) => `${path}?dry_run=true`;

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  async function stored(path: string, record: { id: string }): Promise<void> {
    expect((await service.post(path, record)).status).toBe(200);
  }

  test('tells of a new record what would be created, and the record is not there', async () => {
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      const { status, headers, body } = await service.post(dry(paths.payer), { ...payer, npi: '1' });
      expect(status).toBe(200);
      expect(headers.etag).toBe('"1"');
      expect(body).toEqual({
        success: true,
        message: 'Payer would be created',
        version: 1,
        outcome: 'created',
        warnings: [{ field: 'npi', message: 'is not a known field and was not stored' }],
        dry_run: true,
        changed_fields: ['id', 'name'],
      });
      expect((await service.get(pathOf('payer', payer.id))).status).toBe(404);
    });
    expect(appended).toEqual([]);
  });

  test('tells which fields would change, of an insurance each, and the record stays as it is', async () => {
    const payer = samples.payer();
    const patient = {
      ...samples.patient(),
      phone: '4025550100',
      primary_insurance: { payer_id: payer.id, policy_number: phi('policy'), group_number: phi('group') },
    };
    await stored(paths.payer, payer);
    await stored(paths.patient, patient);
    const changed = {
      ...patient,
      phone: null,
      city: phi('Omaha'),
      primary_insurance: { payer_id: payer.id, policy_number: phi('policy') },
    };
    const appended = await appendedBy(service, async () => {
      const { body } = await service.post(dry(paths.patient), changed);
      expect(body).toMatchObject({ outcome: 'updated', version: 2, dry_run: true });
      expect(body.changed_fields.toSorted()).toEqual([
        'city',
        'phone',
        'primary_insurance.group_number',
        'primary_insurance.policy_number',
      ]);
      const same = await service.post(dry(paths.patient), patient);
      expect(same.body).toMatchObject({ outcome: 'unchanged', version: 2, changed_fields: [] });
      const skipped = await service.post(`${dry(paths.patient)}&unchanged=skip`, patient);
      expect(skipped.body).toMatchObject({ outcome: 'unchanged', version: 1, changed_fields: [] });
    });
    expect(appended).toEqual([]);
    const { body } = await service.get(pathOf('patient', patient.id));
    expect(body).toMatchObject({ version: 1, record: { ...patient, country: 'US' } });
  });

  test('is refused as the write would be: by validation, references, conditions', async () => {
    const payer = samples.payer();
    await stored(paths.payer, payer);
    const encounter = samples.encounter(phi('nobody'));
    const appended = await appendedBy(service, async () => {
      const refusals = await refusalsBy(service, async () => {
        const invalid = await service.post(dry(paths.payer), { id: payer.id });
        expect([invalid.status, invalid.body.code]).toEqual([400, 'validation_failed']);
        const missing = await service.post(dry(paths.encounter), encounter);
        expect([missing.status, missing.body.code]).toEqual([400, 'reference_not_found']);
        const moved = await service.post(dry(paths.payer), payer, { 'if-match': '"7"' });
        expect([moved.status, moved.body.version]).toEqual([412, 1]);
        const there = await service.post(dry(paths.payer), payer, { 'if-none-match': '*' });
        expect([there.status, there.body.version]).toEqual([412, 1]);
        const absent = await service.post(dry(paths.payer), samples.payer(), { 'if-match': '*' });
        expect([absent.status, absent.body.version]).toEqual([412, undefined]);
        expect((await service.post(dry(paths.payer), payer, { 'if-match': '"1"' })).status).toBe(200);
        expect((await service.post(dry(paths.payer), payer, { 'if-match': '*' })).status).toBe(200);
        const fresh = await service.post(dry(paths.payer), samples.payer(), { 'if-none-match': '*' });
        expect(fresh.body.outcome).toBe('created');
      });
      expect(refusals.map(({ code }) => code)).toEqual([
        'validation_failed',
        'reference_not_found',
        'version_conflict',
        'version_conflict',
        'version_conflict',
      ]);
    });
    expect(appended).toEqual([]);
  });

  test.each(['dry_run=yes', 'dry_run=', 'dry_run=true&dry_run=true', 'unchanged=maybe', 'dryrun=true'])(
    '%s is refused, and stores nothing',
    async (query) => {
      const appended = await appendedBy(service, async () => {
        const { status, body } = await service.post(`${paths.payer}?${query}`, samples.payer());
        expect([status, body.code]).toEqual([400, 'validation_failed']);
      });
      expect(appended).toEqual([]);
    },
  );

  test('dry_run=false writes', async () => {
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      const { body } = await service.post(`${paths.payer}?dry_run=false`, payer);
      expect(body).toEqual({
        success: true,
        message: 'Payer created',
        version: 1,
        outcome: 'created',
        warnings: [],
      });
    });
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  });
});
