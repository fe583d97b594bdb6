import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openEventLog } from '../../src/server/openStorage.ts';
import { startFailure } from '../../src/server/startFailure.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { scavenged } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { Follower, followToEnd } from '../support/log.ts';
import { refusals, refusingServer } from '../support/network.ts';
import { TestWorkspace } from '../support/samples.ts';
import { foreignClient, logScheme, logServer } from '../support/servers.ts';

import { eventLogContract } from './contracts/eventLog.ts';

const PATIENT_MS = 100_000;
const server = await logServer();
const suite = server.missing ? describe.skip : describe;

suite(`event log on a server (${logScheme})`, () => {
  const url = server.url ?? '';
  eventLogContract(() => openEventLog(url), scavenged(url));

  describe('on a server that others use too', () => {
    const workspace = new TestWorkspace();
    let log: EventLog;
    let others: Awaited<ReturnType<typeof foreignClient>>;
    beforeAll(async () => {
      log = await openEventLog(url);
      others = await foreignClient(url);
    });
    // The driver's clients share one table of appends: the log, whose client is disposed last, goes last.
    afterAll(async () => {
      await others.client.dispose();
      await log.close();
    });

    test("others' events are passed over, and the position moves past them", async () => {
      const after = await log.head();
      const live = new Follower(log, { after });
      await eventually(() => expect(live.caughtUp).toBe(true));
      const { client, binaryEvent, jsonEvent } = others;
      const stream = `foreign-${workspace.id}`;
      const { metadata } = workspace.event();
      const type = 'Foreign';
      const events = [
        binaryEvent({ type, data: Buffer.from([0xff, 0, 0x7b]), metadata }),
        jsonEvent({ type, data: { no: 'metadata' } }),
        jsonEvent({ type, data: { no: 'workspace' }, metadata: { $correlationId: 'x' } }),
        jsonEvent({ type, data: ['no', 'object'], metadata }),
        jsonEvent({ type, data: 'text', metadata }),
        jsonEvent({ type, data: { binary: 'metadata' }, metadata: new Uint8Array([1, 2, 3]) }),
      ];
      await workspace.append(log, workspace.stream(), { n: 0 });
      await client.appendToStream(stream, events);
      await workspace.append(log, workspace.stream(), { n: 1 });
      await client.appendToStream(stream, events);
      const head = await log.head();

      await eventually(() => expect(live.position).toBeGreaterThanOrEqual(head));
      await live.stop();
      const batches = await followToEnd(log, { after });
      expect(batches.at(-1)?.position).toBeGreaterThanOrEqual(head);
      for (const delivered of [live.events, batches.flatMap((batch) => batch.events)]) {
        expect(delivered.filter((event) => event.stream === stream)).toEqual([]);
        const own = delivered.filter((event) => event.metadata.workspace === workspace.id);
        expect(own.map((event) => event.data)).toEqual([{ n: 0 }, { n: 1 }]);
      }
    });

    test('a stream of ours in which something else stands is refused from there on', async () => {
      const stream = workspace.stream();
      await workspace.append(log, stream, { n: 0 });
      const { metadata } = workspace.event();
      await others.client.appendToStream(
        stream,
        others.binaryEvent({ type: 'Foreign', data: Buffer.from([0xff]), metadata }),
      );
      await workspace.append(log, stream, { n: 2 });
      await expect(log.readStream(stream, { limit: 3 })).rejects.toMatchObject({ code: 'internal' });
      expect(await log.readStream(stream, { limit: 1 })).toMatchObject([{ data: { n: 0 } }]);
    });

    test('a repeat of an event that someone else removed from its stream is refused for good', async () => {
      const stream = workspace.stream();
      const first = workspace.event({ n: 0 });
      await log.append(stream, first, 'none');
      await workspace.append(log, stream, { n: 1 });
      await others.client.setStreamMetadata(stream, { truncateBefore: 1 });
      for (const expected of ['none', 'any'] as const)
        await expect(log.append(stream, first, expected)).rejects.toMatchObject({ code: 'gone' });
      expect(await log.readStream(stream, { limit: 10 })).toMatchObject([{ data: { n: 1 } }]);
    });

    test('an event that names another workspace than its stream is reported, and is not read', async () => {
      const after = await log.head();
      const stream = workspace.stream();
      const live = new Follower(log, { after });
      await workspace.append(log, stream, { n: 0 });
      const misplaced = new TestWorkspace().event();
      await others.client.appendToStream(stream, others.jsonEvent(misplaced));
      const { type } = misplaced;
      const head = await log.head();
      await expect(log.readStream(stream, { limit: 2 })).rejects.toMatchObject({ code: 'internal' });
      await eventually(() => expect(live.position).toBeGreaterThanOrEqual(head));
      await live.stop();
      const ways = [
        {},
        { filter: { streamPrefixes: [workspace.prefix] } },
        { filter: { eventTypes: [type] } },
      ];
      const found = await Promise.all(ways.map((way) => followToEnd(log, { after, erased: false, ...way })));
      for (const batches of [live.batches, ...found]) {
        const named = batches.flatMap(({ unreadable = [] }) => unreadable);
        expect(named).toMatchObject([{ id: misplaced.id, type, stream, revision: 1, misplaced: true }]);
        expect(batches.flatMap(({ events }) => events).some(({ id }) => id === misplaced.id)).toBe(false);
      }
    });

    test("events of the server's own streams are neither delivered nor the head", async () => {
      const after = await log.head();
      const { position } = await workspace.append(log, workspace.stream(), { n: 0 });
      const events = Array.from({ length: 60 }, () => others.jsonEvent(workspace.event()));
      const written = await Promise.all(
        events.map((event) => others.client.appendToStream('$chartledger-test', event)),
      );
      const system = new Set(written.map((result) => Number(result.position?.commit)));
      for (let n = 0; n < 2; n += 1) {
        const head = await log.head();
        expect(head).toBeGreaterThanOrEqual(position);
        expect(system.has(head)).toBe(false);
      }
      const batches = await followToEnd(log, { after });
      const own = batches
        .flatMap((batch) => batch.events)
        .filter((event) => event.metadata.workspace === workspace.id);
      expect(own.map((event) => event.stream.startsWith('$'))).toEqual([false]);
    });

    test('a long stretch of unwanted events is crossed', async () => {
      const other = new TestWorkspace();
      const after = await log.head();
      await workspace.append(log, workspace.stream(), { n: 0 });
      await other.appendMany(log, 3_000, [other.stream(), other.stream()]);
      await workspace.append(log, workspace.stream(), { n: 1 });
      const batches = await followToEnd(log, { after, filter: { streamPrefixes: [workspace.prefix] } });
      expect(batches.flatMap((batch) => batch.events).map((event) => event.data)).toEqual([
        { n: 0 },
        { n: 1 },
      ]);
    });
  });

  test.each([
    ['that refuses the password', refusals.password, 'tls=false', 'refuses the user name or the password'],
    ['whose user may not read $all', refusals.permission, 'tls=false', 'does not let the user'],
    ['of an unknown authority', refusals.password, 'tls=true', 'of an unknown certificate authority'],
  ])('a server %s is not waited for, and the start says so', async (_, refusal, option, said) => {
    const tls = option === 'tls=true';
    const server = await refusingServer(refusal, tls);
    const waiting = vi.fn();
    try {
      // Of a list of hosts the driver itself does not tell why none of them answers.
      for (const hosts of tls ? [server.host, `${server.host},${server.host}`] : [server.host]) {
        const opening = openEventLog(`${logScheme}://chartledger:not-to-be-shown@${hosts}?${option}`, {
          patience: { ms: PATIENT_MS, waiting },
        });
        const failure = startFailure(await opening.catch((error) => error), undefined);
        expect(failure).toContain(said);
        expect(failure).not.toMatch(/not-to-be-shown|\n/);
      }
    } finally {
      await server.close();
    }
    expect(waiting).not.toHaveBeenCalled();
  });

  test('a server that is away is reported when the log is opened', async () => {
    await expect(openEventLog(`${logScheme}://127.0.0.1:1?tls=false`)).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
