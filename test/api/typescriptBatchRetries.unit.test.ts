import { expect, test } from 'vitest';
import type { BatchLine } from '../../clients/typescript/src/index.ts';
import { chartledgerOf, collect } from '../support/service.ts';

const away = { status: 503, error: 'Not now.', code: 'unavailable', retryable: true };
const stored = { status: 200, outcome: 'created', version: 1, warnings: [] };

/** A client of a service that answers each request's lines so; with the ids that each request held. */
function answering(...answers: object[][]) {
  const requests: string[][] = [];
  const client = chartledgerOf(
    { url: 'http://127.0.0.1', key: 'clk_' },
    {
      async fetch(request) {
        const lines = (await request.text()).trimEnd().split('\n');
        const records: { id: string }[] = lines.map((line) => JSON.parse(line).record);
        requests.push(records.map(({ id }) => id));
        const results = answers[requests.length - 1]?.map((answer, index) => ({
          ...{ line: index + 1, kind: 'payer', id: records[index]?.id },
          ...answer,
        }));
        const text = [...(results ?? []), { summary: {} }].map((line) => JSON.stringify(line)).join('\n');
        return new Response(text, { headers: { 'content-type': 'application/x-ndjson' } });
      },
    },
  );
  return { client, requests };
}

const lines = (...ids: string[]): BatchLine[] =>
  ids.map((id) => ({ kind: 'payer', record: { id, name: 'Aetna' } }));

test('lines that may be accepted later are sent again, those alone, and told of in their place', async () => {
  const { client, requests } = answering([stored, away, away, stored], [stored, away], [stored]);
  const results = await collect(client.batch(lines('a', 'b', 'c', 'd')));
  expect(requests).toEqual([['a', 'b', 'c', 'd'], ['b', 'c'], ['c']]);
  expect(results.map(({ line, id, status }) => [line, id, status])).toEqual([
    ...[
      [1, 'a', 200],
      [2, 'b', 200],
    ],
    ...[
      [3, 'c', 200],
      [4, 'd', 200],
    ],
  ]);
});

test('an earlier version is not stored after a later one', async () => {
  const { client, requests } = answering([away, stored]);
  const results = await collect(client.batch(lines('a', 'a')));
  expect(requests).toHaveLength(1);
  expect(results).toMatchObject([{ status: 503, retryable: true }, { status: 200 }]);
});

test('an answer that lacks its summary or lines is none: the batch is sent again', async () => {
  const { client, requests } = answering([stored], [stored, stored]);
  expect(await collect(client.batch(lines('a', 'b')))).toHaveLength(2);
  expect(requests).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
});
