import { expect, test } from 'vitest';
import { readServerSentEvents } from '../../clients/typescript/src/readServerSentEvents.ts';
import { collect } from '../support/service.ts';

const text =
  'retry: 2000\nid: 1\ndata: {"name":"Zoë"}\n\n: heartbeat\n: position 0000000000000002\n: heartbeat\nid: 3\ndata: a\ndata: b: c\n\nid: 4\ndata: cut';
const messages = [
  { id: '1', data: '{"name":"Zoë"}' },
  { id: '0000000000000002', data: undefined },
  { id: '3', data: 'a\nb: c' },
];

test.each([1, 2, 3, 7, 1_000])('messages are put together from chunks of %i bytes', async (size) => {
  const bytes = new TextEncoder().encode(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.slice(at * size, (at + 1) * size),
  );
  expect(await collect(readServerSentEvents(ReadableStream.from(chunks), 10))).toEqual(messages);
});

test('a connection that has fallen silent is given up', async () => {
  const stream = new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode('id: 1\n\n')) });
  await expect(collect(readServerSentEvents(stream, 0.01))).rejects.toThrow('silent');
});
