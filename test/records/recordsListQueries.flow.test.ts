import { afterAll, beforeAll, expect, test } from 'vitest';
import { paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, refusalsBy, sharedService, type TestService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  test.each([
    ['sort=updated_at', 'sort'],
    ['sort=-created_at', 'sort'],
    ['consistency=weak', 'consistency'],
    ['sort=-updated_at&sort=-updated_at', 'sort'],
    ['updated_since=', 'updated_since'],
    ['updated_since=yesterday', 'updated_since'],
    ['updated_since=2026-02-30', 'updated_since'],
    ['updated_since=1&updated_since=2', 'updated_since'],
    ['patient_id=', 'patient_id'],
    [`patient_id=${'x'.repeat(256)}`, 'patient_id'],
    ['patient_id=a%00b', 'patient_id'],
    ['patient_id=a&patient_id=b', 'patient_id'],
    ['is_completed=yes', 'is_completed'],
    ['is_completed=1', 'is_completed'],
    ['date_of_service_from=14.3.2026', 'date_of_service_from'],
    ['date_of_service_to=2026-13-01', 'date_of_service_to'],
    ['date_of_service=2026-03-14', 'date_of_service'],
    ['rendering_provider_id=a', 'rendering_provider_id'],
  ])('%s is refused with 400', async (query, field) => {
    const appended = await appendedBy(service, async () => {
      const refusals = await refusalsBy(service, async () => {
        const { status, body } = await service.get(`${paths.encounter}?${query}`);
        expect([status, body.code, body.details[0].field]).toEqual([400, 'validation_failed', field]);
      });
      expect(refusals).toMatchObject([{ kind: 'encounter', code: 'validation_failed' }]);
    });
    expect(appended).toEqual([]);
  });

  test('kinds without a filter refuse it', async () => {
    const { status, body } = await service.get(`${paths.payer}?patient_id=a`);
    expect([status, body.details[0].message]).toEqual([
      400,
      'is not a known query parameter; this path takes limit, page_token, as_of, sort, updated_since, consistency',
    ]);
  });

  test('a list that is content with what is there names its position, from which the rest follows', async () => {
    const patient = samples.patient();
    await service.post(paths.patient, patient);
    const appended = await appendedBy(service, async () => {
      const now = await service.get(`${paths.patient}?consistency=eventual&limit=1000`);
      expect(now.status).toBe(200);
      const position = now.headers['chartledger-position'];
      const rest = await service.get(`${paths.patient}?updated_since=${position}&limit=1000`);
      const both = [...now.body.items, ...rest.body.items].map(({ id }: { id: string }) => id);
      expect(both).toContain(patient.id);
    });
    expect(appended).toEqual([]);
  });

  test('updated_since behind the end of the log is told where the log ends', async () => {
    const head = await service.eventLog.head();
    const appended = await appendedBy(service, async () => {
      const { status, body } = await service.get(`${paths.encounter}?updated_since=9007199254740991`);
      expect([status, body.code]).toEqual([410, 'position_gone']);
      expect(Number(body.last_position)).toBeGreaterThanOrEqual(head);
    });
    expect(appended).toEqual([]);
  });

  test('a date long ago lies before every later moment', async () => {
    const client = service.as((await service.createKey('long_ago')).key);
    const patient = samples.patient();
    expect((await client.post(paths.patient, patient)).status).toBe(200);
    const [unset, typo, usual] = [
      { ...samples.encounter(patient.id), date_of_service: '0001-01-01T00:00:00' },
      { ...samples.encounter(patient.id), date_of_service: '0026-03-14T09:30:00Z' },
      { ...samples.encounter(patient.id), date_of_service: '1930-03-14T09:30:00Z' },
    ] as const;
    for (const encounter of [unset, typo, usual]) {
      expect((await client.post(paths.encounter, encounter)).status).toBe(200);
    }
    const listed = async (bound: string) => {
      const { body } = await client.get(`${paths.encounter}?date_of_service_${bound}=1900-01-01T00:00:00Z`);
      return body.items.map(({ id }: { id: string }) => id);
    };
    expect(await listed('from')).toEqual([usual.id]);
    expect(await listed('to')).toEqual([unset.id, typo.id]);
  });
});
