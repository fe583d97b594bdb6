import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fault, flakyNetwork } from '../support/network.ts';
import { pdf, samples } from '../support/samples.ts';
import { freePort, onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, chartledgerOf, collect, errorOf, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** What an upsert comes to on a way on which its tries fail so, one after the other; and with what it was tried. */
  async function upsertThrough(faults: Fault[], options = {}) {
    const road = await flakyNetwork(
      () => service.url,
      (number) => faults[number],
    );
    const payer = samples.payer();
    const { payers } = chartledgerOf({ ...service, url: road.url }, options);
    const appended = await appendedBy(service, async () => {
      await payers.upsert(payer).catch((error) => {
        if (error.code === undefined) throw error;
      });
    });
    road.stop();
    const keys = road.requests.map(({ headers }) => headers['idempotency-key']);
    return { payer, appended, tries: keys.length, keys: new Set(keys) };
  }

  test.each<Fault[]>([['cut after'], ['cut amid'], ['cut before'], [500], ['cut after', 503, 429]])(
    'an upsert is sent again, with its key, and appends one event: %s',
    async (...faults) => {
      const { payer, appended, tries, keys } = await upsertThrough(faults);
      expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
      expect(tries).toBe(faults.length + 1);
      expect([...keys]).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)]);
    },
  );

  test('so is an upload, whose file is sent again', async () => {
    const patient = samples.patient();
    const { id } = samples.encounter(patient.id);
    await service.post('/integration/patients', patient);
    await service.post('/integration/encounters', { id, patient_id: patient.id });
    const road = await flakyNetwork(
      () => service.url,
      (number) => (number === 0 ? 'cut after' : undefined),
    );
    const { documents } = chartledgerOf({ ...service, url: road.url });
    const file = new File([pdf()], 'a.pdf');
    const appended = await appendedBy(service, async () => {
      const uploaded = await documents.upload(id, { document_id: 'report', category: 'lab_results', file });
      expect(uploaded).toMatchObject({ version: 1 });
    });
    road.stop();
    expect(appended).toEqual([`clinic.document-${id}%2Freport: DocumentUploaded`]);
    expect(road.requests).toHaveLength(2);
  });

  test('each call has a key of its own, and reads have none; all name the client and its version', async () => {
    const road = await flakyNetwork(() => service.url);
    const { payers } = chartledgerOf({ ...service, url: road.url });
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      await payers.upsert(payer);
      await payers.upsert(payer);
      await payers.read(payer.id);
    });
    road.stop();
    const keys = road.requests.map(({ headers }) => headers['idempotency-key']);
    const { version } = JSON.parse(readFileSync('clients/typescript/package.json', 'utf8'));
    const agents = road.requests.map(({ headers }) => headers['user-agent']);
    expect(new Set(agents)).toEqual(new Set([`chartledger-client-typescript/${version}`]));
    expect(appended).toHaveLength(2);
    expect(new Set(keys).size).toBe(3);
    expect(keys[2]).toBeUndefined();
  });

  test('the service is not asked before it wants to be: a wait that is too long fails the call at once', async () => {
    const { appended, tries } = await upsertThrough([429], { maxWaitSeconds: 0.9 });
    expect([appended, tries]).toEqual([[], 1]);
  });

  test('tries are bounded, and what is wrong with the request itself is not tried again', async () => {
    const { appended, tries } = await upsertThrough(Array(4).fill('cut before'), { maxRetries: 3 });
    expect([appended, tries]).toEqual([[], 4]);
    const road = await flakyNetwork(() => service.url);
    const { payers } = chartledgerOf({ ...service, url: road.url });
    expect(await errorOf(payers.upsert({ id: '', name: '' }))).toMatchObject({ status: 400 });
    road.stop();
    expect(road.requests).toHaveLength(1);
  });

  test('the error tells that nobody answered, and why', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { payers } = chartledgerOf({ ...service, url }, { maxRetries: 0 });
    const error = await errorOf(payers.read('payer-1'));
    expect(error).toMatchObject({ code: 'no_answer', status: undefined, retryable: true });
    expect(error.cause).toBeInstanceOf(Error);
  });

  /** A client of which each request gets this response. */
  const answered = (body: string | null, status: number, headers: Record<string, string> = {}) =>
    chartledgerOf(service, { maxRetries: 0, fetch: async () => new Response(body, { status, headers }) });

  test.each<[number, Record<string, string>]>([
    [200, { 'content-type': 'application/json', 'content-length': '0' }],
    [200, { 'content-type': 'application/json' }],
    [200, {}],
    [204, {}],
  ])('a response with status %i, headers %j and no body is no answer', async (status, headers) => {
    const { payers, documents } = answered(null, status, headers);
    const noAnswer = { code: 'no_answer', retryable: true };
    expect(await errorOf(payers.upsert(samples.payer()))).toMatchObject(noAnswer);
    expect(await errorOf(collect(payers.list()))).toMatchObject(noAnswer);
    expect(await errorOf(documents.remove('encounter-1', 'report-1'))).toMatchObject(noAnswer);
  });

  test('a page without events is an empty body', async () => {
    const events = answered(null, 200, { 'content-type': 'application/x-ndjson', 'content-length': '0' });
    expect(await events.request((api) => api.GET('/events', { parseAs: 'text' }))).toBe('');
  });

  test('Retry-After may be a date', async () => {
    const inTenMinutes = new Date(Date.now() + 600_000).toUTCString();
    for (const [date, least, most] of [
      [inTenMinutes, 300, 600],
      ['Fri, 13 Mar 2026 09:30:00 GMT', 0, 0],
    ] as const) {
      const error = await errorOf(answered('', 503, { 'retry-after': date }).payers.read('payer-1'));
      expect(error.retryAfter).toBeGreaterThanOrEqual(least);
      expect(error.retryAfter).toBeLessThanOrEqual(most);
    }
    const { payers } = answered('', 503, { 'retry-after': 'later' });
    expect((await errorOf(payers.read('payer-1'))).retryAfter).toBeUndefined();
  });

  test('an answer that does not come in time is waited for no longer', async () => {
    const { payers } = chartledgerOf(service, {
      ...{ maxRetries: 0, timeoutSeconds: 0.05 },
      fetch: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    expect(await errorOf(payers.read('payer-1'))).toMatchObject({ code: 'no_answer' });
  });

  test('a caller ends a call, also while it waits', async () => {
    const ended = new AbortController();
    const road = await flakyNetwork(
      () => service.url,
      () => {
        ended.abort(new Error('enough'));
        return 503;
      },
    );
    const { payers } = chartledgerOf({ ...service, url: road.url });
    const appended = await appendedBy(service, async () => {
      await expect(payers.upsert(samples.payer(), { signal: ended.signal })).rejects.toThrow('enough');
    });
    road.stop();
    expect([appended, road.requests.length]).toEqual([[], 1]);
  });

  test('a refusal by the limit of requests tells how long to wait', async () => {
    const limited = await start({ RATE_LIMIT_PER_MINUTE: '1' });
    const { payers } = chartledgerOf(limited, { maxWaitSeconds: 0 });
    const payer = samples.payer();
    const appended = await appendedBy(limited, async () => {
      await payers.upsert(payer);
      const refused = await errorOf(payers.upsert(payer));
      expect(refused).toMatchObject({ code: 'rate_limited', status: 429, retryable: true });
      expect(refused.retryAfter).toBeGreaterThan(0);
    });
    await limited.stop();
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  });
});
