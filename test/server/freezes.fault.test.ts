import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { TestResponse } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { answeredWrites, withOwnServers } from '../support/servers.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';

const WRITERS = 16;
/** The port promises an answer within three seconds; what takes longer than this hangs. */
const HANGS_MS = 10_000;
const LONG_MS = 90_000;
const PAYERS = '/integration/payers';

withOwnServers('a server that freezes under load', (servers) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await servers.start());
  }, LONG_MS);
  afterEach(() => {
    servers.eventLog.thaw();
    servers.database.thaw();
  });
  afterAll(async () => {
    await service.stop();
    await servers.remove();
  });

  /** The answer; fails when there is none in time, or none that the state of a store explains. */
  async function answered(request: Promise<TestResponse>): Promise<TestResponse> {
    const late = new AbortController();
    const hang = sleep(HANGS_MS, undefined, { signal: late.signal }).then(() => {
      throw new Error(`no answer within ${HANGS_MS} ms`);
    });
    try {
      const answer = await Promise.race([request, hang]);
      expect([200, 503]).toContain(answer.status);
      expect(answer.headers['retry-after']).toBe(answer.status === 503 ? '2' : undefined);
      return answer;
    } finally {
      late.abort();
      hang.catch(() => undefined);
    }
  }

  /** Writers that send one record after the other, until told to stop; each counts its answers by status. */
  function startWriters(write: () => Promise<TestResponse>) {
    let stopping = false;
    const counts = Array.from({ length: WRITERS }, () => ({ 200: 0, 503: 0 }) as Record<number, number>);
    const writers = counts.map(async (count) => {
      while (!stopping) {
        const { status } = await answered(write());
        count[status] = (count[status] ?? 0) + 1;
      }
    });
    const failed = Promise.all(writers).then(() => new Promise<never>(() => undefined));
    const each = (status: number, more: number) => {
      const least = counts.map((count) => (count[status] ?? 0) + more);
      const reached = () =>
        eventually(
          () => expect(counts.filter((count, n) => (count[status] ?? 0) < (least[n] ?? 0))).toEqual([]),
          LONG_MS,
        );
      return Promise.race([reached(), failed]);
    };
    const stop = async () => {
      stopping = true;
      await Promise.all(writers);
      return counts;
    };
    return { each, stop };
  }

  /** Of one request: the client would ask again for a list that lags. */
  const status = async (path: string) => (await answered(service.send(path))).status;

  /** What was acknowledged is on the log, each write once, and listed. */
  async function expectAllWritten() {
    const events = (await readAll(service.eventLog)).filter(({ type }) => type.endsWith('Upserted'));
    const ids = new Set(events.map(({ id }) => id));
    expect(ids.size).toBe(events.length);
    const acknowledged = answeredWrites(service).get(200) ?? [];
    expect(acknowledged.length).toBeGreaterThan(WRITERS);
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  }

  test(
    'while the event log is frozen every request is answered, with 503 when it needs it; then all goes on',
    async () => {
      const payer = samples.payer();
      await service.post(PAYERS, payer);
      const writers = startWriters(() => service.post(PAYERS, samples.payer()));
      await writers.each(200, 5);
      servers.eventLog.freeze();
      const reads = [service.get('/readyz'), service.get(PAYERS), service.get(`${PAYERS}/${payer.id}`)];
      const answers = await Promise.all(reads.map(answered));
      expect(answers.map((answer) => answer.status)).toEqual([503, 503, 503]);
      expect(answers[0]?.body).toMatchObject({ event_log: 'unavailable', read_models: 'ok' });
      expect(await status('/healthz')).toBe(200);
      await writers.each(503, 2);

      servers.eventLog.thaw();
      await writers.each(200, 5);
      const counts = await writers.stop();
      expect(counts.every((count) => (count[503] ?? 0) >= 2)).toBe(true);
      const wave = Array.from({ length: WRITERS }, () => answered(service.post(PAYERS, samples.payer())));
      expect(new Set((await Promise.all(wave)).map((answer) => answer.status))).toEqual(new Set([200]));
      await eventually(async () => expect(await status('/readyz')).toBe(200), LONG_MS);
      await eventually(async () => expect(await status(PAYERS)).toBe(200), LONG_MS);
      await expectAllWritten();
    },
    LONG_MS,
  );

  test(
    'while MongoDB is frozen writes and reads of records go on, and lists are 503; then lists go on',
    async () => {
      const payer = samples.payer();
      await service.post(PAYERS, payer);
      const withPayer = () => ({ ...samples.patient(), primary_insurance: { payer_id: payer.id } });
      const patient = withPayer();
      await service.post('/integration/patients', patient);
      const writers = startWriters(() => service.post('/integration/patients', withPayer()));
      await writers.each(200, 5);
      servers.database.freeze();
      expect(await status(PAYERS)).toBe(503);
      await writers.each(200, 5);
      expect(await status(`/integration/patients/${patient.id}`)).toBe(200);
      const ready = await answered(service.get('/readyz'));
      expect(ready).toMatchObject({
        status: 200,
        body: { event_log: 'ok', read_models: 'unavailable' },
      });
      const counts = await writers.stop();
      expect(counts.map((count) => count[503])).toEqual(counts.map(() => 0));
      // References that this process has not seen are looked for on the log.
      const other = await service.another({ ROLES: 'api' });
      expect((await answered(other.post('/integration/patients', withPayer()))).status).toBe(200);
      await other.stop();
      expect(await status('/integration/patients')).toBe(503);

      servers.database.thaw();
      await eventually(async () => expect(await status('/integration/patients')).toBe(200), LONG_MS);
      expect((await service.get('/readyz')).body.read_models).toBe('ok');
      await expectAllWritten();
    },
    LONG_MS,
  );
});
