import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerOf, BATCH, linesOf, postLines, sendBatch } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  appendedBy,
  openConnection,
  rawRequest,
  refusalsBy,
  statusesOf,
  type TestService,
} from '../support/service.ts';

const MEBIBYTE = 1024 * 1024;
const payerLine = (record = samples.payer()) => ({ kind: 'payer', record });
const payerLines = (count: number) => Array.from({ length: count }, () => payerLine());

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    const env = { BATCH_CONCURRENCY: '1', RATE_LIMIT_PER_MINUTE: '10000' };
    service = await start(env, { httpTimes: { headers: 1_000, request: 5_000, stalled: 60_000 } });
  });
  afterAll(() => service.stop());

  /** Begins a batch whose body does not end. */
  const beginBatch = () => {
    const headers = {
      'content-type': 'application/x-ndjson',
      'x-api-key': service.key ?? '',
      'content-length': '1000000',
    };
    return openConnection(service.url, rawRequest('POST', BATCH, headers, linesOf([payerLine()])));
  };

  test.each<[string, Buffer | string, Record<string, string>, object]>([
    ['100,001 lines', '{}\n'.repeat(100_001), {}, { status: 413, body: { code: 'payload_too_large' } }],
    [
      '64 MB of blank lines, compressed',
      gzipSync(Buffer.alloc(64 * MEBIBYTE, '\n')),
      { 'content-encoding': 'gzip' },
      { status: 413, body: { code: 'payload_too_large' } },
    ],
    [
      'more than 64 MB, compressed',
      gzipSync(Buffer.alloc(64 * MEBIBYTE + 1, ' ')),
      { 'content-encoding': 'gzip' },
      { status: 413, body: { code: 'payload_too_large' } },
    ],
    [
      'what is no gzip',
      '{}',
      { 'content-encoding': 'gzip' },
      { status: 400, body: { code: 'malformed_body' } },
    ],
    ['half of a gzip', gzipSync('{}').subarray(0, 15), { 'content-encoding': 'gzip' }, { status: 400 }],
    ['another compression', '{}', { 'content-encoding': 'br' }, { status: 415 }],
    [
      'another type',
      '{}',
      { 'content-type': 'text/csv' },
      { status: 415, body: { code: 'unsupported_media_type' } },
    ],
    ['another charset', '{}', { 'content-type': 'application/x-ndjson; charset=latin1' }, { status: 415 }],
    [
      'no array',
      '{}',
      { 'content-type': 'application/json' },
      { status: 400, body: { code: 'validation_failed' } },
    ],
    [
      'a JSON array of more than 1 MB',
      JSON.stringify([payerLine(), 'x'.repeat(MEBIBYTE)]),
      { 'content-type': 'application/json' },
      { status: 413 },
    ],
  ])('%s are refused whole', async (_name, body, headers, answer) => {
    const appended = await appendedBy(service, async () => {
      const refusals = await refusalsBy(service, async () => {
        expect(await postLines(service, body, headers)).toMatchObject(answer);
      });
      expect(refusals).toMatchObject([{ method: 'POST', route: BATCH }]);
    });
    expect(appended).toEqual([]);
  });

  test('a line of more than 1 MB is refused alone', async () => {
    const [first, last] = payerLines(2) as [object, object];
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(service, [first, ' '.repeat(MEBIBYTE + 1), last]);
      expect(results).toMatchObject([
        { line: 1, status: 200 },
        { line: 2, status: 413, code: 'payload_too_large', kind: null, retryable: false },
        { line: 3, status: 200 },
      ]);
    });
    expect(appended).toHaveLength(2);
  });

  test('a key without the permission to write, or none, sends no batch', async () => {
    const reader = service.as((await service.createKey('clinic', ['read'])).key);
    const appended = await appendedBy(service, async () => {
      expect(await postLines(reader, linesOf(payerLines(1)))).toMatchObject({ status: 403 });
      expect(await postLines(service.as(undefined), linesOf(payerLines(1)))).toMatchObject({ status: 401 });
    });
    expect(appended).toEqual([]);
  });

  test('a batch counts as one request', async () => {
    const left = ({ headers }: { headers: Record<string, unknown> }) =>
      Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1]);
    const before = left(await service.post(paths.payer, samples.payer()));
    expect(left(await sendBatch(service, payerLines(50)))).toBe(before - 1);
  });

  test('a body that has not arrived takes no place, and is ended where it comes too slowly', async () => {
    const slow = [beginBatch(), beginBatch()];
    const appended = await appendedBy(service, async () => {
      expect(await sendBatch(service, payerLines(1))).toMatchObject({ summary: { accepted: 1 } });
      for (const { closed } of slow) expect(statusesOf(await closed())).toEqual([408]);
    });
    expect(appended).toHaveLength(1);
  });

  test('of a body that breaks off nothing is stored', async () => {
    const appended = await appendedBy(service, async () => {
      const broken = beginBatch();
      await once(broken.socket, 'connect');
      broken.socket.destroy();
      await eventually(async () => expect((await postLines(service, '')).status).toBe(200));
    });
    expect(appended).toEqual([]);
  });

  test('what was sent whole is stored though the client goes away without reading', async () => {
    const lines = payerLines(3_000);
    const body = linesOf(lines);
    const headers = {
      'content-type': 'application/x-ndjson',
      'x-api-key': service.key ?? '',
      'content-length': String(Buffer.byteLength(body)),
    };
    const appended = await appendedBy(service, async () => {
      const { socket } = openConnection(service.url, rawRequest('POST', BATCH, headers));
      socket.pause();
      await new Promise((sent) => socket.write(body, sent));
      // It waits until the first one is over.
      await eventually(async () => expect((await postLines(service, '')).status).toBe(200));
      socket.destroy();
      await once(socket, 'close');
      await eventually(async () => expect((await postLines(service, '')).status).toBe(200));
    });
    expect(appended).toHaveLength(3_000);
    const { summary } = await sendBatch(service, lines);
    expect(summary).toMatchObject({ accepted: 3_000, updated: 3_000 });
  });

  test('lines beyond those that a workspace may send in a minute are answered with 429, the last ones first', async () => {
    const limited = await start({ BATCH_LINES_PER_MINUTE: '4' });
    try {
      const payers = [samples.payer(), samples.payer()];
      const patients = payers.map(({ id }) => ({
        kind: 'patient',
        record: { ...samples.patient(), primary_insurance: { payer_id: id } },
      }));
      const lines = [...patients, ...payers.map((record) => ({ kind: 'payer', record })), payerLine()];
      const other = limited.as((await limited.createKey('other')).key);
      const appended = await appendedBy(limited, async () => {
        const { results, summary } = await sendBatch(limited, lines);
        expect(results.map(({ status }) => status)).toEqual([200, 429, 200, 200, 200]);
        expect(results[1]).toMatchObject({
          ...{ kind: 'patient', id: patients[1]?.record.id, code: 'rate_limited', retryable: true },
          retryAfter: expect.any(Number),
        });
        expect(summary).toMatchObject({ accepted: 4, refused: 1, retryable: 1 });
        const again = await sendBatch(limited, lines);
        expect(again.results.map(({ status }) => status)).toEqual(Array(5).fill(429));
        expect((await sendBatch(other, payerLines(3))).summary).toMatchObject({ accepted: 3 });
      });
      expect(appended).toHaveLength(7);
    } finally {
      await limited.stop();
    }
  });

  test('a body that waits to be asked for is asked for', async () => {
    const body = linesOf([payerLine({ id: phi('payer'), name: phi('Aetna') })]);
    const response = await service.send(BATCH, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-ndjson', expect: '100-continue' },
    });
    expect(answerOf(response).summary).toMatchObject({ accepted: 1 });
  });
});
