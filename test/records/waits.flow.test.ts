import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, refusalsBy, type TestService } from '../support/service.ts';

const waiting = (path: string, seconds: number) => `${path}?wait=${seconds}`;

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('an upsert waits for what it refers to, and is stored behind it', async () => {
    const patient = samples.patient();
    const encounter = samples.encounter(patient.id);
    const appended = await appendedBy(service, async () => {
      const answer = service.post(waiting(paths.encounter, 10), encounter);
      // It is under way: what refers to nobody at all is answered meanwhile.
      expect((await service.post(paths.encounter, encounter)).status).toBe(400);
      expect((await service.post(paths.patient, patient)).status).toBe(200);
      expect((await answer).body).toMatchObject({ outcome: 'created', version: 1 });
    });
    expect(appended).toEqual([
      `clinic.patient-${patient.id}: PatientUpserted`,
      `clinic.encounter-${encounter.id}: EncounterUpserted`,
    ]);
  });

  test('also for what another instance writes, and for several', async () => {
    const other = await service.another({ ROLES: 'api' });
    const [patient, facility] = [samples.patient(), samples.facility()];
    const encounter = { ...samples.encounter(patient.id), facility_id: facility.id };
    const appended = await appendedBy(service, async () => {
      const answer = service.post(waiting(paths.encounter, 10), encounter);
      await other.post(paths.patient, patient);
      await other.post(paths.facility, facility);
      expect((await answer).status).toBe(200);
    });
    expect(appended).toHaveLength(3);
    await other.stop();
  });

  test('a patch waits, too', async () => {
    const [patient, provider] = [samples.patient(), samples.provider()];
    const encounter = samples.encounter(patient.id);
    await service.post(paths.patient, patient);
    await service.post(paths.encounter, encounter);
    const path = pathOf('encounter', encounter.id);
    const appended = await appendedBy(service, async () => {
      const answer = service.patch(waiting(path, 10), { provider_id: provider.id });
      await service.post(paths.provider, provider);
      expect((await answer).body).toMatchObject({ outcome: 'updated', version: 2 });
    });
    expect(appended).toHaveLength(2);
  });

  test('what does not arrive is refused as ever', async () => {
    const encounter = samples.encounter(phi('nobody'));
    const appended = await appendedBy(service, async () => {
      const refusals = await refusalsBy(service, async () => {
        const { status, body } = await service.post(waiting(paths.encounter, 1), encounter);
        expect([status, body.code]).toEqual([400, 'reference_not_found']);
      });
      expect(refusals).toHaveLength(1);
    });
    expect(appended).toEqual([]);
  });

  test.each(['-1', '11', '1.5', 'long', ''])('wait=%s is refused', async (wait) => {
    const appended = await appendedBy(service, async () => {
      const { status, body } = await service.post(`${paths.payer}?wait=${wait}`, samples.payer());
      expect([status, body.code, body.details[0].field]).toEqual([400, 'validation_failed', 'wait']);
    });
    expect(appended).toEqual([]);
  });

  test('a service that stops asks who waits to come back: what is awaited may be sent to another one', async () => {
    const other = await service.another({ ROLES: 'api' });
    const encounter = samples.encounter(phi('patient'));
    const appended = await appendedBy(service, async () => {
      const answer = other.post(waiting(paths.encounter, 10), encounter);
      // It is under way: what does not wait is answered meanwhile.
      expect((await other.post(paths.encounter, encounter)).status).toBe(400);
      await other.stop();
      expect(await answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    });
    expect(appended).toEqual([]);
  });

  test('a client that goes away ends its wait, and nothing is stored for it', async () => {
    const encounter = samples.encounter(phi('nobody'));
    const appended = await appendedBy(service, async () => {
      const outgoing = request(`${service.url}${waiting(paths.encounter, 10)}`, {
        method: 'POST',
        headers: { 'x-api-key': service.key, 'content-type': 'application/json' },
      });
      outgoing.on('error', () => undefined);
      outgoing.end(JSON.stringify(encounter));
      await once(outgoing, 'finish');
      const before = await service.eventLog.head();
      outgoing.destroy();
      // The refusal that nobody hears is in the audit trail at once, and not when the time is over.
      await eventually(async () => expect(await service.eventLog.head()).toBeGreaterThan(before), 5_000);
    });
    expect(appended).toEqual([]);
  });

  test('only so many wait at once; others are asked to come back, and what need not wait is answered', async () => {
    const patient = samples.patient();
    const encounters = Array.from({ length: 101 }, () => samples.encounter(patient.id));
    const appended = await appendedBy(service, async () => {
      const answers = encounters.map((one) => service.post(waiting(paths.encounter, 10), one));
      const refused = await Promise.any(
        answers.map(async (answer) => {
          const { status, body, headers } = await answer;
          expect([status, body.code, headers['retry-after']]).toEqual([503, 'overloaded', '2']);
          return status;
        }),
      );
      expect(refused).toBe(503);
      expect((await service.post(waiting(paths.patient, 10), patient)).status).toBe(200);
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    });
    expect(appended).toHaveLength(101);
  });
});
