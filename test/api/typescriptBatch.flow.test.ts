import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchLine, BatchResult, Chartledger } from '../../clients/typescript/src/index.ts';
import { type Fault, flakyNetwork } from '../support/network.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, chartledgerOf, collect, errorOf, type TestService } from '../support/service.ts';

const payerLine = (): BatchLine => ({ kind: 'payer', record: samples.payer() });

onEmbeddedEngines((start) => {
  let service: TestService;
  let chartledger: Chartledger;
  beforeAll(async () => {
    service = await start();
    chartledger = chartledgerOf(service);
  });
  afterAll(() => service.stop());

  test('hundreds of records come from an async iterable, and each is told of, in order, bad ones too', async () => {
    const payers = Array.from({ length: 400 }, samples.payer);
    const isBad = (index: number) => index % 50 === 7;
    async function* lines(): AsyncGenerator<BatchLine> {
      for (const [index, payer] of payers.entries()) {
        yield { kind: 'payer', record: isBad(index) ? { ...payer, name: '' } : payer };
      }
    }
    let results: BatchResult[] = [];
    const appended = await appendedBy(service, async () => {
      results = await collect(chartledger.batch(lines(), { chunkLines: 150 }));
    });
    const good = payers.filter((_, index) => !isBad(index));
    expect(appended.toSorted()).toEqual(good.map(({ id }) => `clinic.payer-${id}: PayerUpserted`).toSorted());
    expect(results.map(({ line, id }) => [line, id])).toEqual(payers.map(({ id }, index) => [index + 1, id]));
    for (const [index, result] of results.entries()) {
      const expected = isBad(index)
        ? { status: 400, code: 'validation_failed', details: [{ field: 'name' }], retryable: false }
        : { status: 200, outcome: 'created', version: 1, warnings: [] };
      expect(result).toMatchObject(expected);
    }
  });

  test('what a record refers to may come behind it; versions guard', async () => {
    const [payer, patient] = [samples.payer(), samples.patient()];
    const lines: BatchLine[] = [
      { kind: 'patient', record: { ...patient, primary_insurance: { payer_id: payer.id } } },
      { kind: 'payer', record: payer },
      { kind: 'payer', record: payer, if_match: 7 },
    ];
    const appended = await appendedBy(service, async () => {
      const results = await collect(chartledger.batch(lines));
      expect(results).toMatchObject([{ status: 200 }, { status: 200 }, { status: 412, version: 1 }]);
    });
    expect(appended).toEqual([
      `clinic.payer-${payer.id}: PayerUpserted`,
      `clinic.patient-${patient.id}: PatientUpserted`,
    ]);
  });

  test('a dry run of a batch writes nothing', async () => {
    const appended = await appendedBy(service, async () => {
      const results = await collect(chartledger.batch([payerLine(), payerLine()], { dry_run: true }));
      expect(results).toMatchObject(Array(2).fill({ status: 200, outcome: 'created', dry_run: true }));
    });
    expect(appended).toEqual([]);
  });

  test('records are taken as their results are', async () => {
    let taken = 0;
    function* lines() {
      for (; ; taken += 1) yield payerLine();
    }
    const appended = await appendedBy(service, async () => {
      for await (const { line } of chartledger.batch(lines(), { chunkLines: 10 })) if (line === 15) break;
    });
    expect(appended).toHaveLength(20);
    expect(taken).toBe(20);
  });

  test.each<Fault>(['cut after', 'cut amid', 503])(
    'a batch is sent again, with its key: %s',
    async (fault) => {
      const road = await flakyNetwork(
        () => service.url,
        (number) => (number === 0 ? fault : undefined),
      );
      const through = chartledgerOf({ ...service, url: road.url });
      const lines = [payerLine(), payerLine()];
      const appended = await appendedBy(service, async () => {
        expect(await collect(through.batch(lines))).toMatchObject([{ version: 1 }, { version: 1 }]);
      });
      road.stop();
      expect(appended).toHaveLength(2);
      expect(new Set(road.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    },
  );

  test('lines that may be accepted later are told as such when they are not', async () => {
    const limited = await start({ BATCH_LINES_PER_MINUTE: '3' });
    const eager = chartledgerOf(limited, { maxWaitSeconds: 0.9 });
    const appended = await appendedBy(limited, async () => {
      const results = await collect(eager.batch(Array.from({ length: 5 }, payerLine)));
      expect(results.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
      expect(results[4]).toMatchObject({ code: 'rate_limited', retryable: true });
    });
    await limited.stop();
    expect(appended).toHaveLength(3);
  });

  test('a batch that is refused as a whole is an error', async () => {
    const { key } = await service.createKey('clinic', ['read']);
    const appended = await appendedBy(service, async () => {
      const refused = collect(chartledgerOf({ ...service, key }).batch([payerLine()]));
      expect(await errorOf(refused)).toMatchObject({ code: 'permission_denied', status: 403 });
    });
    expect(appended).toEqual([]);
  });
});
