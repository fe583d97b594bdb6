import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import { formatPosition } from '../../src/modules/eventStream/position.ts';
import { Client, sendBatch } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader, eventsOf } from '../support/log.ts';
import { quickStreams } from '../support/quickStreams.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { readAll, type TestService } from '../support/service.ts';

const KILLS = 20;
const AT_ONCE = 8;
/** Written while a reader does not read: 16 MB, more than sockets and the window of live events hold. */
const FLOOD = 2_000;
const filler = 'é'.repeat(900);
const large = { address_line1: filler, address_line2: filler, city: filler, website: filler };
const LONG_MS = 120_000;

onEveryEngine((start) => {
  let service: TestService;
  let workspaces = 0;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  async function fresh() {
    workspaces += 1;
    const label = `live${workspaces}`;
    const created = await service.createKey(label, ['write', 'events']);
    return { label, key: created, client: service.as(created.key) };
  }

  /** Sends payers, some of them again and again, several at once: so many, or until it is told to stop. */
  async function write(client: Client, count: number | { stop: boolean }): Promise<void> {
    const payers = Array.from({ length: 50 }, samples.payer);
    let next = 0;
    const goesOn = () => (typeof count === 'number' ? next < count : !count.stop);
    const chain = async () => {
      while (goesOn()) {
        const payer = payers[next % payers.length];
        next += 1;
        const { status } = await client.post('/integration/payers', {
          ...payer,
          fax: String(next),
        });
        expect(status).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, chain));
  }

  /** Sends large payers in one batch. */
  async function flood(client: Client): Promise<void> {
    const lines = Array.from({ length: FLOOD }, () => ({
      kind: 'payer',
      record: { ...samples.payer(), ...large },
    }));
    expect((await sendBatch(client, lines)).summary).toMatchObject({ accepted: FLOOD });
  }

  /** What the log holds of a workspace, as `sequence` and id of each event. */
  async function logged(label: string): Promise<string[][]> {
    const prefix = `${service.workspaceId(label)}.payer-`;
    const events = (await readAll(service.eventLog)).filter(({ stream }) => stream.startsWith(prefix));
    return events.map(({ position, id }) => [formatPosition(position), id]);
  }

  const told = (events: CloudEvent[]) => events.map(({ sequence, id }) => [sequence, id]);

  test(
    'a reader that is killed and comes back, again and again during an import, sees every event exactly once, in order',
    async () => {
      const { label, client } = await fresh();
      const seen: CloudEvent[] = [];
      let lastEventId: string | undefined;
      const until = { stop: false };
      const importing = write(client, until);
      for (let kill = 0; kill < KILLS; kill += 1) {
        const reader = new EventReader(
          client,
          '/events',
          lastEventId ? { 'last-event-id': lastEventId } : {},
        );
        await reader.count(1 + (kill % 30));
        reader.kill();
        seen.push(...reader.events);
        lastEventId = reader.lastEventId;
      }
      until.stop = true;
      await importing;
      const expected = await logged(label);
      const reader = new EventReader(client, '/events', { 'last-event-id': lastEventId as string });
      await reader.count(expected.length - seen.length, LONG_MS);
      reader.kill();
      seen.push(...reader.events);
      expect(told(seen)).toEqual(expected);
      expect(seen.length).toBeGreaterThan(KILLS);
    },
    LONG_MS,
  );

  test(
    'a service that stops ends its streams at once, and readers go on at the next one',
    async () => {
      const own = await start();
      const { key } = await own.createKey('clinic', ['write', 'events']);
      const reader = await EventReader.open(own.as(key));
      const polling = own.as(key).get('/events?wait=50&kinds=facility');
      await own.post('/integration/payers', samples.payer());
      await reader.count(1);
      await own.restart();
      await reader.end();
      const { status, text } = await polling;
      expect([status, text]).toEqual([200, '']);
      await own.post('/integration/payers', samples.payer());
      const next = await EventReader.open(own.as(key), '/events', {
        'last-event-id': reader.lastEventId as string,
      });
      await next.count(1);
      expect([...reader.events, ...next.events].map(({ data }) => data.version)).toEqual([1, 1]);
      next.kill();
      await own.stop();
    },
    LONG_MS,
  );

  test('many readers of one workspace all see the same, live', async () => {
    const { label, client } = await fresh();
    const readers = await Promise.all(Array.from({ length: 20 }, () => EventReader.open(client)));
    await write(client, 100);
    const late = await EventReader.open(client);
    await write(client, 100);
    const expected = await logged(label);
    for (const reader of [...readers, late]) {
      expect(told(await reader.count(200))).toEqual(expected);
      reader.kill();
    }
  });

  test(
    'a reader that does not read for a while gets everything afterwards, in order',
    async () => {
      const { label, client } = await fresh();
      const slow = (await EventReader.open(client)).comesBack();
      slow.response?.pause();
      const fast = (await EventReader.open(client)).comesBack();
      await flood(client);
      await fast.count(FLOOD, LONG_MS);
      expect(slow.events).toHaveLength(0);
      slow.response?.resume();
      const expected = await logged(label);
      expect(told(await slow.count(FLOOD, LONG_MS))).toEqual(expected);
      expect(told(fast.events)).toEqual(expected);
      slow.kill();
      fast.kill();
    },
    LONG_MS,
  );

  test('a position in the middle of what came together loses and repeats nothing', async () => {
    const { client } = await fresh();
    const live = await EventReader.open(client);
    await write(client, 60);
    const all = await live.count(60);
    const readers = await Promise.all(
      all.map(({ sequence }) => EventReader.open(client, `/events?after=${sequence}`)),
    );
    await write(client, 1);
    await live.count(61);
    for (const [index, reader] of readers.entries()) {
      expect(told(await reader.count(60 - index))).toEqual(told(all.slice(index + 1)));
      reader.kill();
    }
    live.kill();
  });

  test('a deactivated key or workspace ends its streams and polls, and no others', async () => {
    const { client, key, label } = await fresh();
    const other = await service.createKey(label, ['events']);
    const [first, second] = await Promise.all([
      EventReader.open(client),
      EventReader.open(service.as(other.key)),
    ]);
    const polling = client.get('/events?wait=50');
    await service.keys.setKeyState(key.id, 'deactivated');
    await first.end();
    const { status, body } = await polling;
    expect([status, body.code]).toEqual([403, 'key_deactivated']);
    expect(second.ended).toBe(false);
    await service.keys.setWorkspaceState(service.workspaceId(label), 'deactivated');
    await second.end();
    expect((await service.as(other.key).get('/events')).body.code).toBe('workspace_deactivated');
  });

  test('a quiet stream has comments, which say its position past what it does not want', async () => {
    const { client, label } = await fresh();
    const own = await quickStreams(service);
    const reader = await EventReader.open(new Client(own.url, client.key), '/events?kinds=facility');
    await write(client, 3);
    const last = (await logged(label)).at(-1)?.[0] as string;
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
    const { client } = await fresh();
    await write(client, 1);
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
      const { client } = await fresh();
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
});
