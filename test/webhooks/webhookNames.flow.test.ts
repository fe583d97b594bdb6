import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNameResolver, type ResolveName } from '../../src/modules/webhooks/sender.ts';

const [A, AAAA] = [1, 28];
const NO_SUCH_NAME = 3;

/** What is known of names, by type of address; a name that is not here does not exist, a type that is not has no answer. */
const zone: Record<string, Partial<Record<number, Uint8Array[]>>> = {
  'both.example': {
    [A]: [Uint8Array.of(192, 0, 2, 1), Uint8Array.of(127, 0, 0, 1)],
    [AAAA]: [Uint8Array.of(0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1)],
  },
  'four.example': { [A]: [Uint8Array.of(192, 0, 2, 4)], [AAAA]: [] },
  'empty.example': { [A]: [], [AAAA]: [] },
  'silent.example': { [A]: [Uint8Array.of(192, 0, 2, 5)] },
};

/** Answers a question with one name, as RFC 1035, section 4, has it; undefined: says nothing. */
function answer(query: Buffer): Buffer | undefined {
  const end = query.indexOf(0, 12);
  const labels: string[] = [];
  for (let at = 12; at < end; at += 1 + (query[at] as number)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] as number)));
  }
  const type = query.readUInt16BE(end + 1);
  const known = zone[labels.join('.')];
  const addresses = known ? known[type] : [];
  if (addresses === undefined) return undefined;
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180 | (known ? 0 : NO_SUCH_NAME), 2);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt32BE(0, 8);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, address.length, ...address]),
  );
  return Buffer.concat([header, query.subarray(12, end + 5), ...records]);
}

const server = createSocket('udp4');
let questions = 0;
let resolve: ResolveName;

beforeAll(async () => {
  server.on('message', (query, { port, address }) => {
    questions += 1;
    const reply = answer(query);
    if (reply) server.send(reply, port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  resolve = createNameResolver([`127.0.0.1:${server.address().port}`]);
});

afterAll(() => {
  server.close();
});

test.each([
  ['both.example', ['192.0.2.1', '127.0.0.1', '2001:db8::1']],
  ['four.example', ['192.0.2.4']],
  ['empty.example', []],
  ['unknown.example', []],
])('%s stands for all of its addresses', async (name, addresses) => {
  expect((await resolve(name)).sort()).toEqual([...addresses].sort());
});

test('a name is asked for anew each time', async () => {
  const before = questions;
  await resolve('four.example');
  await resolve('four.example');
  expect(questions - before).toBe(4);
});

test('what a name server does not tell in time is done without', async () => {
  expect(await resolve('silent.example')).toEqual(['192.0.2.5']);
});

test.each(['localhost', 'localhost.', 'a.localhost'])(
  '%s is this machine, and nobody is asked',
  async (name) => {
    const before = questions;
    expect(await resolve(name)).toEqual(['127.0.0.1']);
    expect(questions).toBe(before);
  },
);
