import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { minimal, pathOf, paths, type Referred, samples, upsertReferred } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, refusalsBy, sharedService, type TestService } from '../support/service.ts';

const MERGE_PATCH = 'application/merge-patch+json';

onEmbeddedEngines(() => {
  const folder = temporaryFolder();
  let service: TestService;
  let referred: Referred;
  beforeAll(async () => {
    service = await sharedService();
    referred = await upsertReferred(service);
  });
  afterAll(() => service.stop());

  async function storedPatient(more: object = {}) {
    const patient = { ...samples.patient(), ...more };
    expect((await service.post(paths.patient, patient)).status).toBe(200);
    return { patient, path: pathOf('patient', patient.id) };
  }

  test('changes what is sent, clears what is null, and keeps everything else', async () => {
    const { patient, path } = await storedPatient({ phone: '4025550100', city: phi('Omaha') });
    const events = await changesBy(service, async () => {
      const { status, headers, body } = await service.patch(path, { phone: null, last_name: 'Diaz', age: 1 });
      expect([status, headers.etag]).toEqual([200, '"2"']);
      expect(body).toEqual({
        success: true,
        message: 'Patient updated',
        version: 2,
        outcome: 'updated',
        warnings: [{ field: 'age', message: 'is not a known field and was not stored' }],
      });
    });
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['PatientUpserted', { id: patient.id, last_name: 'Diaz', phone: null }],
    ]);
    const { phone, ...kept } = { ...patient, last_name: 'Diaz', country: 'US' } as Record<string, unknown>;
    expect((await service.get(path)).body.record).toEqual(kept);
    const { body: history } = await service.get(`${path}/history`);
    const patched = history.items.find(({ version }: { version: number }) => version === 2);
    expect(patched.changes.map(({ field }: { field: string }) => field).toSorted()).toEqual([
      'last_name',
      'phone',
    ]);
  });

  test.each(['payer', 'patient', 'provider', 'facility', 'encounter'] as const)(
    'a %s takes a patch without its required fields, and one that changes nothing says so',
    async (kind) => {
      const sent = minimal(kind, referred);
      await service.post(paths[kind], sent);
      const path = pathOf(kind, sent.id);
      const events = await changesBy(service, async () => {
        expect((await service.patch(path, { id: sent.id })).body).toMatchObject({
          outcome: 'unchanged',
          version: 2,
        });
        const skipped = await service.patch(`${path}?unchanged=skip`, sent);
        expect(skipped.body).toMatchObject({ outcome: 'unchanged', version: 2 });
      });
      expect(events.map(({ data }) => data)).toEqual([{ id: sent.id }]);
      expect((await service.get(path)).body.record).toMatchObject(sent);
    },
  );

  test('an insurance is merged field by field, and stored whole', async () => {
    const insurance = { payer_id: referred.payer, policy_number: phi('policy'), group_number: phi('group') };
    const { patient, path } = await storedPatient({ primary_insurance: insurance });
    const policy_number = phi('policy');
    const events = await changesBy(service, async () => {
      const { body } = await service.patch(`${path}?dry_run=true`, { primary_insurance: { policy_number } });
      expect(body.changed_fields).toEqual(['primary_insurance.policy_number']);
      const patch = { primary_insurance: { policy_number, group_number: null } };
      expect((await service.patch(path, patch)).body).toMatchObject({ outcome: 'updated', warnings: [] });
      const { status, body: refusal } = await service.patch(path, { secondary_insurance: { policy_number } });
      expect([status, refusal.details]).toEqual([
        400,
        [{ field: 'secondary_insurance.payer_id', message: 'is required' }],
      ]);
    });
    expect(events.map(({ data }) => data)).toEqual([
      { id: patient.id, primary_insurance: { payer_id: referred.payer, policy_number, group_number: null } },
    ]);
    const { body } = await service.get(path);
    expect(body.record.primary_insurance).toEqual({ payer_id: referred.payer, policy_number });
    expect((await service.patch(path, { primary_insurance: null })).body.outcome).toBe('updated');
    expect((await service.get(path)).body.record).not.toHaveProperty('primary_insurance');
  });

  test('patches of different fields at once all count', async () => {
    const { path } = await storedPatient({ primary_insurance: { payer_id: referred.payer } });
    const fields = ['policy_number', 'group_number', 'subscriber_id', 'subscriber_city'];
    const appended = await appendedBy(service, () =>
      Promise.all(fields.map((field) => service.patch(path, { primary_insurance: { [field]: field } }))),
    );
    expect(appended).toHaveLength(fields.length);
    const { body } = await service.get(path);
    expect(body.version).toBe(1 + fields.length);
    expect(body.record.primary_insurance).toEqual({
      payer_id: referred.payer,
      ...Object.fromEntries(fields.map((field) => [field, field])),
    });
  });

  test('what is not there, or was erased, is not found', async () => {
    const { patient, path } = await storedPatient();
    const erased = await runCli(
      [
        'records',
        'erase',
        'patient',
        patient.id,
        '--reason',
        'Test',
        '--workspace',
        service.workspaceId('clinic'),
      ],
      { env: { ...storesOf(service.config), DATA_DIR: folder } },
    );
    expect(erased.code).toBe(0);
    const appended = await appendedBy(service, async () => {
      const refusals = await refusalsBy(service, async () => {
        for (const one of [path, pathOf('patient', phi('nobody')), pathOf('payer', patient.id)]) {
          const { status, body } = await service.patch(one, { city: 'Omaha' }, { 'if-match': '*' });
          expect([status, body.code]).toEqual([404, 'not_found']);
        }
      });
      expect(refusals[0]).toMatchObject({ kind: 'patient', record_id: patient.id, method: 'PATCH' });
    });
    expect(appended).toEqual([]);
  });

  test('an encounter stays its patient’s, and one can be moved to another that exists', async () => {
    const encounter = samples.encounter(referred.patient);
    await service.post(paths.encounter, encounter);
    const path = pathOf('encounter', encounter.id);
    const missing = phi('nobody');
    const appended = await appendedBy(service, async () => {
      expect((await service.patch(path, { is_completed: true })).status).toBe(200);
      const { status, body } = await service.patch(path, { facility_id: missing, patient_id: missing });
      expect([status, body.code]).toEqual([400, 'reference_not_found']);
      expect(body.details.map(({ field }: { field: string }) => field).toSorted()).toEqual([
        'facility_id',
        'patient_id',
      ]);
      expect((await service.patch(path, { facility_id: referred.facility })).status).toBe(200);
    });
    expect(appended).toHaveLength(2);
    const { body } = await service.get(path);
    expect(body.record).toEqual({ ...encounter, is_completed: true, facility_id: referred.facility });
    const erasing = await runCli(
      [
        'records',
        'erase',
        'patient',
        referred.patient,
        '--reason',
        'Test',
        '--workspace',
        service.workspaceId('clinic'),
      ],
      { env: { ...storesOf(service.config), DATA_DIR: folder } },
    );
    // It is found by its patient as before.
    expect(erasing.stderr).toMatch(/encounter/);
  });

  test.each<[string, unknown, string, string]>([
    [
      'a required field that is cleared',
      { first_name: null },
      'first_name',
      'is required and cannot be cleared with null',
    ],
    ['another id', { id: 'another' }, 'id', 'must match the id in the path'],
    ['no id', { id: null }, 'id', 'must match the id in the path'],
    ['another type', { phone: 1 }, 'phone', 'must be a string'],
    ['a value that is not allowed', { gender: 'x' }, 'gender', 'must be one of male, female, other'],
    ['an insurance of another type', { primary_insurance: 'x' }, 'primary_insurance', 'must be an object'],
    ['a list', [], '', 'The body must be an object'],
    ['nothing', null, '', 'The body must be an object'],
  ])('%s is refused, and nothing is stored', async (_what, sent, field, message) => {
    const { path } = await storedPatient();
    const appended = await appendedBy(service, async () => {
      const { status, body } = await service.patch(path, sent);
      expect([status, body.code]).toEqual([400, 'validation_failed']);
      expect(body.details).toEqual([{ field, message }]);
    });
    expect(appended).toEqual([]);
  });

  test('If-Match and dry runs work as with an upsert', async () => {
    const { path } = await storedPatient();
    const appended = await appendedBy(service, async () => {
      const { status, body } = await service.patch(path, { city: 'Omaha' }, { 'if-match': '"2"' });
      expect([status, body.version]).toEqual([412, 1]);
      const dry = await service.patch(`${path}?dry_run=true`, { city: 'Omaha' }, { 'if-match': '"1"' });
      expect(dry.body).toMatchObject({
        outcome: 'updated',
        version: 2,
        dry_run: true,
        changed_fields: ['city'],
      });
      expect((await service.patch(path, { city: 'Omaha' }, { 'if-match': '"1"' })).body.version).toBe(2);
    });
    expect(appended).toHaveLength(1);
  });

  test('the same Idempotency-Key again is given the first answer', async () => {
    const { path } = await storedPatient();
    const headers = { 'idempotency-key': phi('key') };
    const appended = await appendedBy(service, async () => {
      const first = await service.patch(path, { city: 'Omaha' }, headers);
      expect((await service.patch(path, { city: 'Lincoln' })).body.version).toBe(3);
      const again = await service.patch(path, { city: 'Omaha' }, headers);
      expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true']);
      expect((await service.patch(path, { city: 'Boston' }, headers)).status).toBe(422);
    });
    expect(appended).toHaveLength(2);
  });

  test.each(['application/json', 'application/json; charset=us-ascii', MERGE_PATCH])(
    'a body of the type "%s" is a merge patch',
    async (type) => {
      const { path } = await storedPatient();
      const appended = await appendedBy(service, async () => {
        const { status } = await service.patch(path, { city: null, state: 'NE' }, { 'content-type': type });
        expect(status).toBe(200);
      });
      expect(appended).toHaveLength(1);
      const { record } = (await service.get(path)).body;
      expect([record.city, record.state]).toEqual([undefined, 'NE']);
    },
  );

  test.each(['application/json-patch+json', 'application/json; charset=latin1', 'text/plain', ''])(
    'a body of the type "%s" is refused, with those that are taken',
    async (type) => {
      const { path } = await storedPatient();
      const appended = await appendedBy(service, async () => {
        const { status, headers, body } = await service.patch(
          path,
          { city: 'Omaha' },
          { 'content-type': type },
        );
        expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
        expect(headers['accept-patch']).toBe(`${MERGE_PATCH}, application/json`);
      });
      expect(appended).toEqual([]);
    },
  );

  test('a key that may only read cannot patch', async () => {
    const { path } = await storedPatient();
    const { key } = await service.createKey('clinic', ['read']);
    const appended = await appendedBy(service, async () => {
      expect((await service.as(key).patch(path, { city: 'Omaha' })).status).toBe(403);
    });
    expect(appended).toEqual([]);
  });
});
