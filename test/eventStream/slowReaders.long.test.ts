import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client, sendBatch } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { LiveWorkspaces, shortly, writePayers } from '../support/liveWorkspaces.ts';
import { EventReader, eventsOf } from '../support/log.ts';
import { quickStreams } from '../support/quickStreams.ts';
import { samples } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** Written while a reader does not read: 16 MB, more than sockets and the window of live events hold. */
const FLOOD = 2_000;
const filler = 'é'.repeat(900);
const large = { address_line1: filler, address_line2: filler, city: filler, website: filler };
const LONG_MS = 120_000;

let service: TestService;
let workspaces: LiveWorkspaces;
beforeAll(async () => {
  service = await startTestService();
  workspaces = new LiveWorkspaces(service);
});
afterAll(() => service.stop());

/** Sends large payers in one batch. */
async function flood(client: Client): Promise<void> {
  const lines = Array.from({ length: FLOOD }, () => ({
    kind: 'payer',
    record: { ...samples.payer(), ...large },
  }));
  expect((await sendBatch(client, lines)).summary).toMatchObject({ accepted: FLOOD });
}

test(
  'a reader that does not read for a while gets everything afterwards, in order',
  async () => {
    const { label, client } = await workspaces.fresh();
    const slow = (await EventReader.open(client)).comesBack();
    slow.response?.pause();
    const fast = (await EventReader.open(client)).comesBack();
    await flood(client);
    await fast.count(FLOOD, LONG_MS);
    expect(slow.events).toHaveLength(0);
    slow.response?.resume();
    const expected = await workspaces.logged(label);
    expect(shortly(await slow.count(FLOOD, LONG_MS))).toEqual(expected);
    expect(shortly(fast.events)).toEqual(expected);
    slow.kill();
    fast.kill();
  },
  LONG_MS,
);

test('a quiet stream has comments, which say its position past what it does not want', async () => {
  const { client, label } = await workspaces.fresh();
  const own = await quickStreams(service);
  const reader = await EventReader.open(new Client(own.url, client.key), '/events?kinds=facility');
  await writePayers(client, 3);
  const last = (await workspaces.logged(label)).at(-1)?.[0] as string;
  await eventually(() => {
    expect(reader.comments).toBeGreaterThan(2);
    expect((reader.position as string) >= last).toBe(true);
  });
  expect(reader.events).toEqual([]);
  expect(reader.lastEventId).toBeUndefined();
  const page = await client.get(`/events?after=${reader.position}`);
  expect(eventsOf(page)).toEqual([]);
  reader.kill();
  await own.stop();
});

test('a stream on which nothing is sent is comments alone, and retry is part of the first message', async () => {
  const { client } = await workspaces.fresh();
  await writePayers(client, 1);
  const own = await quickStreams(service);
  const end = new AbortController();
  const { body } = await fetch(`${own.url}/events`, {
    headers: { 'x-api-key': client.key as string, accept: 'text/event-stream' },
    signal: end.signal,
  });
  let text = '';
  for await (const chunk of body as ReadableStream<Uint8Array>) {
    text += Buffer.from(chunk);
    if (/\n\n(?:: .+\n){3}/.test(text)) break;
  }
  end.abort();
  expect(text).toMatch(
    /^retry: 2000\n(?:: heartbeat\n)*id: \d{16}\ndata: [^\n]+\n\n(?:: (?:heartbeat|position \d{16})\n)+$/,
  );
  await own.stop();
});

test(
  'a reader that takes nothing for long is cut off',
  async () => {
    const { client } = await workspaces.fresh();
    await flood(client);
    const own = await quickStreams(service);
    const reader = await EventReader.open(new Client(own.url, client.key));
    reader.response?.pause();
    await own.closed();
    reader.kill();
    await own.stop();
  },
  LONG_MS,
);
