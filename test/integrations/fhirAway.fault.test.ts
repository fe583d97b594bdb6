import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestResponse } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import {
  bundle,
  fhirEncounter,
  fhirPatient,
  issuesIn,
  referTo,
  sendFhir,
  statusesIn,
} from '../support/fhir.ts';
import { withOwnServers } from '../support/servers.ts';
import { appendedBy, readAll, startTestService, type TestService } from '../support/service.ts';

const PATIENTS = 200;
const LONG_MS = 120_000;

withOwnServers('FHIR while the event log is away', (servers) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await servers.start());
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await servers.remove();
  });

  const upserted = (lines: string[]) => lines.filter((line) => line.endsWith('Upserted')).toSorted();
  const eventOf = (kind: string, type: string) => (one: { id?: unknown }) =>
    `clinic.${kind}-${one.id}: ${type}Upserted`;
  const sendUntil = (send: () => Promise<TestResponse>, statuses: number[]) =>
    eventually(async () => {
      const { status, body } = await send();
      expect(status).toBe(200);
      expect([...new Set(statusesIn(body))].toSorted()).toEqual(statuses);
      return body;
    }, LONG_MS);

  test(
    'a transaction is 503 as an OperationOutcome, and the same Bundle completes it',
    async () => {
      const patients = Array.from({ length: PATIENTS }, () => fhirPatient());
      const encounters = patients.map((one) => fhirEncounter(referTo(one)));
      const message = bundle('transaction', ...encounters, ...patients);
      const send = () => sendFhir(service, '/fhir', message);
      const lines = await appendedBy(service, async () => {
        await servers.eventLog.kill();
        const { status, headers, body } = await send();
        expect({ status, issues: issuesIn(body) }).toEqual({ status: 503, issues: ['error transient'] });
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
        await servers.eventLog.start();
        const isBack = async () =>
          expect((await service.get('/integration/patients/nobody')).status).toBe(404);
        await eventually(isBack, LONG_MS);
        // Killed again somewhere on its way: what was written is not told as done, nor written twice.
        let cut: Promise<TestResponse> | undefined;
        await eventually(async () => {
          // Until the service has found the log again, it may refuse the whole.
          cut ??= send().finally(() => {
            cut = undefined;
          });
          const events = await readAll(service.eventLog);
          expect(events.filter(({ type }) => type === 'PatientUpserted').length).toBeGreaterThan(0);
        }, LONG_MS);
        await servers.eventLog.kill();
        const answer = await (cut ?? send());
        expect([200, 503]).toContain(answer.status);
        await servers.eventLog.start();
        if (answer.status === 200) expect(statusesIn(answer.body)).toEqual(Array(2 * PATIENTS).fill(201));
        await eventually(async () => expect((await send()).status).toBe(200), LONG_MS);
        await sendUntil(send, [200]);
      });
      expect(upserted(lines)).toEqual(
        [
          ...patients.map(eventOf('patient', 'Patient')),
          ...encounters.map(eventOf('encounter', 'Encounter')),
        ].toSorted(),
      );
    },
    LONG_MS * 2,
  );

  test(
    'of a batch that is cut off each entry is told as written or as 503, and what is told as written is there',
    async () => {
      const patients = Array.from({ length: PATIENTS }, () => fhirPatient());
      const encounters = patients.map((one) => fhirEncounter(referTo(one)));
      const resources = [...encounters, ...patients];
      const send = () => sendFhir(service, '/fhir', bundle('batch', ...resources));
      const lines = await appendedBy(service, async () => {
        const cut = send();
        const first = eventually(async () => {
          const events = await readAll(service.eventLog);
          expect(events.some(({ data }) => data.id === patients[0]?.id)).toBe(true);
        }, LONG_MS);
        first.catch(() => undefined);
        await Promise.race([first, cut]);
        await servers.eventLog.kill();
        const { status, body } = await cut;
        expect(status).toBe(200);
        const statuses = statusesIn(body);
        expect(statuses.filter((one) => one !== 201 && one !== 503)).toEqual([]);
        await servers.eventLog.start();
        const events = await eventually(() => readAll(service.eventLog), LONG_MS);
        const durable = new Set(events.map(({ data }) => data.id));
        const told = resources.filter((_, index) => statuses[index] === 201);
        expect(told.filter(({ id }) => !durable.has(id))).toEqual([]);
        await sendUntil(send, [200]);
      });
      expect(upserted(lines)).toEqual(
        [
          ...patients.map(eventOf('patient', 'Patient')),
          ...encounters.map(eventOf('encounter', 'Encounter')),
        ].toSorted(),
      );
    },
    LONG_MS * 2,
  );
});
