import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ChartledgerEvent, EventsOptions } from '../../clients/typescript/src/index.ts';
import { flakyNetwork } from '../support/network.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, chartledgerOf, collect, errorOf, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;

onEmbeddedEngines((start) => {
  let service: TestService;
  let key: string;
  let tests = 0;
  beforeAll(async () => {
    service = await start({ DRAIN_SECONDS: '0' });
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    tests += 1;
    key = (await service.createKey(`events${tests}`, ['write', 'events'])).key;
  });

  /** Where a reader keeps its position, and all that it kept. */
  function memory() {
    const saved: string[] = [];
    return { saved, load: () => saved.at(-1), save: (position: string) => void saved.push(position) };
  }

  /** Reads so many events, with `between` after each. */
  async function take(
    count: number,
    options: EventsOptions,
    { url = service.url, between = async (_count: number) => {} } = {},
  ): Promise<ChartledgerEvent[]> {
    const taken: ChartledgerEvent[] = [];
    for await (const event of chartledgerOf({ url, key }).events(options)) {
      taken.push(event);
      await between(taken.length);
      if (taken.length === count) break;
    }
    return taken;
  }

  const client = () => chartledgerOf({ url: service.url, key });
  const versions = (events: ChartledgerEvent[]) => events.map(({ data }) => data.version);

  test('every event comes, from the first one on, and each further one', async () => {
    const payer = samples.payer();
    await client().payers.upsert(payer);
    const appended = await appendedBy(service, async () => {
      const events = await take(2, {}, { between: (count) => (count === 1 ? again() : Promise.resolve()) });
      expect(events).toMatchObject([
        {
          type: 'chartledger.payer.upserted.v1',
          subject: `payer/${payer.id}`,
          data: { version: 1, sent: payer },
        },
        { data: { version: 2, sent: { city: 'Omaha' }, changed: ['city'] } },
      ]);
    });
    expect(appended).toEqual([`events${tests}.payer-${payer.id}: PayerUpserted`]);

    async function again() {
      await client().payers.upsert({ ...payer, city: 'Omaha' });
    }
  });

  test(
    'a stream goes on after its connection was lost and the service was restarted',
    async () => {
      const payer = samples.payer();
      const send = async () => void (await client().payers.upsert(payer));
      const road = await flakyNetwork(
        () => service.url,
        (number) => (number === 1 ? 503 : undefined),
      );
      const interruptions: string[] = [];
      const checkpoint = memory();
      await send();
      const events = await take(
        4,
        { checkpoint, onInterruption: ({ code }) => interruptions.push(code) },
        {
          url: road.url,
          async between(count) {
            if (count === 2) await service.restart();
            if (count < 4) await send();
          },
        },
      );
      road.stop();
      expect(versions(events)).toEqual([1, 2, 3, 4]);
      expect(interruptions.slice(0, 2)).toEqual(['no_answer', 'unavailable']);
      expect(checkpoint.saved).toEqual(events.slice(0, 3).map(({ sequence }) => sequence));
    },
    LONG_MS,
  );

  test('another reader goes on after the last event that was taken', async () => {
    const payer = samples.payer();
    for (let count = 0; count < 3; count += 1) await client().payers.upsert(payer);
    const checkpoint = memory();
    expect(versions(await take(2, { checkpoint }))).toEqual([1, 2]);
    // Of the second one nobody said that it was dealt with.
    expect(versions(await take(2, { checkpoint }))).toEqual([2, 3]);
    expect(versions(await take(1, { after: checkpoint.saved[1] as string }))).toEqual([3]);
  });

  test('kinds, types and a moment select events', async () => {
    const [payer, patient] = [samples.payer(), samples.patient()];
    const before = new Date(Date.now() - 60_000).toISOString();
    await client().payers.upsert(payer);
    await client().patients.upsert(patient);
    const [one] = await take(1, { kinds: ['patient'], from: before });
    expect(one).toMatchObject({ subject: `patient/${patient.id}` });
    const [other] = await take(1, { types: ['chartledger.payer.upserted.v1'] });
    expect(other).toMatchObject({ subject: `payer/${payer.id}` });
  });

  test('the de-identified view names nobody', async () => {
    const patient = { ...samples.patient(), gender: 'female' as const };
    await client().patients.upsert(patient);
    for await (const { data } of client().events({ view: 'deidentified' })) {
      expect(data.sent).toMatchObject({ gender: 'female' });
      expect(JSON.stringify(data)).not.toContain(patient.last_name);
      break;
    }
  });

  test('reading ends when the caller says so', async () => {
    for (let count = 0; count < 3; count += 1) await client().payers.upsert(samples.payer());
    const end = new AbortController();
    const seen: string[] = [];
    for await (const { subject } of client().events({ signal: end.signal })) {
      seen.push(subject);
      end.abort();
    }
    expect(seen).toHaveLength(1);
    expect(await collect(client().events({ signal: AbortSignal.abort() }))).toEqual([]);
  });

  test.each([
    ['connects', () => new Promise<Response>(() => undefined)],
    ['waits for an event', async () => new Response(new ReadableStream())],
  ])('reading ends while it %s, whatever fetch does with the signal', async (_, respond) => {
    const end = new AbortController();
    const fetched = Promise.withResolvers<void>();
    const events = chartledgerOf(service, {
      fetch() {
        fetched.resolve();
        return respond();
      },
    }).events({ signal: end.signal });
    const read = collect(events);
    await fetched.promise;
    end.abort();
    expect(await read).toEqual([]);
  });

  test('what connecting again does not mend is told', async () => {
    const { key: writer } = await service.createKey(`events${tests}`, ['write']);
    const denied = collect(chartledgerOf({ url: service.url, key: writer }).events());
    expect(await errorOf(denied)).toMatchObject({ code: 'permission_denied', status: 403 });
    const lost = collect(client().events({ after: '9999999999999999' }));
    expect(await errorOf(lost)).toMatchObject({ code: 'validation_failed', status: 400 });
  });

  test('a status of 500 that lasts is told, and so is no response in time', async () => {
    let tries = 0;
    const defective = chartledgerOf(service, {
      maxRetries: 2,
      async fetch() {
        tries += 1;
        return Response.json({ error: 'An error.', code: 'internal' }, { status: 500 });
      },
    });
    expect(await errorOf(collect(defective.events()))).toMatchObject({ status: 500, code: 'internal' });
    expect(tries).toBe(3);

    const end = new AbortController();
    const codes: string[] = [];
    const silent = chartledgerOf(service, {
      timeoutSeconds: 0.01,
      fetch: () => new Promise<Response>(() => undefined),
    }).events({
      signal: end.signal,
      onInterruption({ code }) {
        codes.push(code);
        end.abort();
      },
    });
    expect(await collect(silent)).toEqual([]);
    expect(codes).toEqual(['no_answer']);
  });

  test('a checkpoint that fails ends it', async () => {
    await client().payers.upsert(samples.payer());
    const save = () => Promise.reject(new Error('the disk is full'));
    const reading = collect(client().events({ checkpoint: { load: () => null, save } }));
    await expect(reading).rejects.toThrow('the disk is full');
  });
});
