import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openEventLog } from '../../src/server/openStorage.ts';
import { DriverClient, loadDriver } from '../../src/storage/engines/eventstoredb/client.ts';
import { Erasures, startScavenge } from '../../src/storage/engines/eventstoredb/erase.ts';
import { toPosition } from '../../src/storage/engines/eventstoredb/positions.ts';
import { LogReader } from '../../src/storage/engines/eventstoredb/read.ts';
import { follow, LiveTail } from '../../src/storage/engines/eventstoredb/subscribe.ts';
import type { EventBatch, EventLog } from '../../src/storage/eventLog.ts';
import { STORE_FORMAT } from '../../src/storage/storeFormat.ts';

import { appendTombstones, erase, scavenged } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { Follower, followToEnd } from '../support/log.ts';
import { refusals, refusingServer } from '../support/network.ts';
import { TestWorkspace } from '../support/samples.ts';
import { foreignClient, logScheme, logServer, TestServer, testServerCommand } from '../support/servers.ts';

const server = await logServer();
const suite = server.missing ? describe.skip : describe;
const command = testServerCommand();

const numbers = (batches: EventBatch[]) => batches.flatMap(({ events }) => events.map(({ data }) => data.n));
const erasedOf = (batches: EventBatch[]) => batches.flatMap(({ erased = [] }) => erased);

suite(`erasure on a server (${logScheme})`, () => {
  const url = server.url ?? '';
  /** A connection that shares nothing with the others of this process. */
  const apart = () => openEventLog(`${url}&connectionName=apart`);
  let workspace: TestWorkspace;
  let log: EventLog;
  let foreign: Awaited<ReturnType<typeof foreignClient>>['client'];
  let jsonEvent: Awaited<ReturnType<typeof foreignClient>>['jsonEvent'];
  beforeAll(async () => {
    log = await openEventLog(url);
    ({ client: foreign, jsonEvent } = await foreignClient(url));
  });
  // The driver's clients share one table of appends: the log, whose client is disposed last, goes last.
  afterAll(async () => {
    await foreign.dispose();
    await log.close();
  });
  beforeEach(() => {
    workspace = new TestWorkspace();
  });

  const own = () => ({ streamPrefixes: [workspace.prefix] });
  /** `{n: 0}`, `{n: 1}` … by turns in two streams. */
  const twoStreams = async () => {
    const streams = [workspace.stream(), workspace.stream()] as [string, string];
    for (let n = 0; n < 10; n += 1) await workspace.append(log, streams[n % 2] as string, { n });
    return streams;
  };

  test('what one process erases every other one drops, from a moment on', async () => {
    const [gone, stays] = await twoStreams();
    const other = await apart();
    const live = new Follower(other, { after: await log.head(), filter: own() });
    await eventually(() => expect(live.caughtUp).toBe(true));
    const erased = await erase(log, workspace, gone);
    expect(await other.readStream(gone, { limit: 10 })).toMatchObject([{ revision: 5 }]);
    await eventually(async () => {
      const batches = await followToEnd(other, { after: 0, filter: own(), erased: true });
      expect(numbers(batches)).toEqual([1, 3, 5, 7, 9, undefined]);
      expect(erasedOf(batches)).toEqual(erased);
    }, 1_000);
    // One that goes on, its connection's list of removals long read.
    const later = await erase(log, workspace, stays);
    await eventually(() => expect(live.events).toHaveLength(2));
    const batches = await followToEnd(other, { after: 0, filter: own(), erased: true });
    expect(erasedOf(batches)).toEqual([...erased, ...later].sort((a, b) => a.position - b.position));
    await live.stop();
    await other.close();
  });

  test('the server still delivers what was erased, and followers drop it', async () => {
    const [gone] = await twoStreams();
    const [first] = await erase(log, workspace, gone);
    const position = BigInt(first?.position ?? 0);
    const fromPosition = { commit: position, prepare: position };
    for await (const { event } of foreign.readAll({ fromPosition, maxCount: 1 }))
      expect(event?.streamId).toBe(gone);
    expect(numbers(await followToEnd(log, { after: 0, filter: own() }))).toEqual([1, 3, 5, 7, 9, undefined]);
  });

  test('a removal that was cut off after it was noted is completed by its repeat', async () => {
    const [gone] = await twoStreams();
    const removal = await appendTombstones(log, workspace, gone);
    const [stream, before, erased] = removal;
    const [first = 0, last = 0] = [erased[0]?.position, erased.at(-1)?.position];
    const note = jsonEvent({ type: 'EventsErased', data: { stream, before, first, last } });
    await foreign.appendToStream('erasures', note);
    const batches = await followToEnd(log, { after: 0, filter: own(), erased: true });
    expect(numbers(batches)).toEqual([1, 3, 5, 7, 9, undefined]);
    expect(erasedOf(batches)).toEqual(erased);
    expect(await log.readStream(gone, { limit: 10 })).toHaveLength(6);
    await log.erase(...removal);
    expect(await log.readStream(gone, { limit: 10 })).toMatchObject([{ revision: 5 }]);
  });

  test('notes that say nothing are passed over', async () => {
    await foreign.appendToStream('erasures', jsonEvent({ type: 'Foreign', data: { stream: 1 } }));
    const [gone] = await twoStreams();
    await erase(log, workspace, gone);
    expect(numbers(await followToEnd(log, { after: 0, filter: own() }))).toEqual([1, 3, 5, 7, 9, undefined]);
  });

  test("all else of a stream's metadata stays, and what was truncated stays so", async () => {
    const [gone] = await twoStreams();
    await foreign.setStreamMetadata(gone, { maxAge: 1_000_000_000, ours: { a: 1 } });
    const first = await appendTombstones(log, workspace, gone);
    await log.erase(...first);
    expect((await foreign.getStreamMetadata(gone)).metadata).toEqual({
      maxAge: 1_000_000_000,
      ours: { a: 1 },
      truncateBefore: 5,
    });
    await erase(log, workspace, gone);
    await log.erase(...first);
    expect((await foreign.getStreamMetadata(gone)).metadata).toMatchObject({ truncateBefore: 6 });
  });

  test('neither notes nor metadata are events to anybody', async () => {
    const head = await log.head();
    const [gone] = await twoStreams();
    await erase(log, workspace, gone);
    const [tombstone] = await log.readStream(gone, { limit: 1 });
    // Others may append meanwhile.
    expect((await log.lastRecordedAt()) ?? '').toSatisfy((time) => time >= (tombstone?.recordedAt ?? ''));
    const batches = await followToEnd(log, { after: head });
    expect(
      batches.flatMap(({ events }) => events).filter(({ stream }) => /^(erasures$|\$)/.test(stream)),
    ).toEqual([]);
    expect(batches.at(-1)?.position).toBeGreaterThanOrEqual(await log.head());
  });

  test('a refusal that repeats do not change does not ask to come back', async () => {
    const refusing = await refusingServer(refusals.deleted);
    const place = `${logScheme}://${refusing.host}?tls=false`;
    const reader = new LogReader(new DriverClient(await loadDriver(place), place));
    await expect(reader.readStream('deleted', { limit: 1 })).rejects.toMatchObject({
      code: 'internal',
      problem: 'The server of the event log answers stream-deleted, which repeats do not change.',
    });
    const erasures = new Erasures(reader);
    const source = { reader, erasures, tail: new LiveTail(reader, erasures) };
    const batches = follow(source, { after: 0, signal: AbortSignal.timeout(5_000) });
    await expect(batches.next()).rejects.toMatchObject({ code: 'internal' });
    await reader.client.close();
    await refusing.close();
  });

  test('an event without a position means an old server, which is not waited for', () => {
    expect(() => toPosition(undefined)).toThrow(expect.objectContaining({ code: 'internal' }));
  });

  test('who may not start a scavenge is told so', async () => {
    const refusing = await refusingServer(refusals.permission);
    const place = `${logScheme}://${refusing.host}?tls=false`;
    const client = new DriverClient(await loadDriver(place), place);
    await expect(startScavenge(client)).rejects.toMatchObject({
      code: 'unavailable',
      problem: expect.stringContaining('does not let the user in EVENT_LOG_URL start a scavenge'),
    });
    await client.close();
    await refusing.close();
  });
});

(command ? describe : describe.skip)(`erasure on a server that fails (${logScheme})`, () => {
  const standIn = new TestServer(command ?? []);
  let log: EventLog;
  beforeAll(async () => {
    await standIn.start();
    log = await openEventLog(standIn.url);
  });
  afterAll(async () => {
    await log.close();
    await standIn.remove();
  });

  test('a log of a later format is refused, and one of an earlier format is marked', async () => {
    const name = (format: number) => {
      const event = { ...new TestWorkspace().event({}), data: { format } };
      return log.append('chartledger-format', event, 'any');
    };
    await name(STORE_FORMAT + 1);
    const problem = expect.stringContaining(`is of format ${STORE_FORMAT + 1}`);
    await expect(openEventLog(standIn.url)).rejects.toMatchObject({ code: 'internal', problem });
    const { position } = await name(1);
    await (await openEventLog(standIn.url)).close();
    const marked = await log.head();
    expect(marked).toBeGreaterThan(position);
    await (await openEventLog(standIn.url)).close();
    expect(await log.head()).toBe(marked);
  });

  test('it is refused as unavailable, and its repeat completes it; followers go on without a gap', async () => {
    const workspace = new TestWorkspace();
    const filter = { streamPrefixes: [workspace.prefix] };
    const [gone, stays] = [workspace.stream(), workspace.stream()];
    await workspace.appendMany(log, 60, [gone, stays]);
    const removal = await appendTombstones(log, workspace, gone);
    const follower = new Follower(log, { after: 0, filter, erased: true });
    await eventually(() => expect(follower.caughtUp).toBe(true));
    await standIn.kill();
    await expect(log.erase(...removal)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(log.scavenger?.mark()).rejects.toMatchObject({ code: 'unavailable' });
    await standIn.start();
    await eventually(() => log.erase(...removal));
    const late = { after: 0, filter, erased: true };
    expect(erasedOf(await followToEnd(log, late))).toEqual(removal[2]);
    await scavenged(standIn.url)(log, removal[2]);
    await standIn.kill();
    await standIn.start();
    await eventually(() => workspace.append(log, stays, { n: 'last' }));
    await eventually(() => expect(follower.events.at(-1)?.data).toEqual({ n: 'last' }));
    await follower.stop();
    expect(follower.events).toHaveLength(62);
    expect(erasedOf(await followToEnd(log, late))).toEqual(removal[2]);
    // Each place that was scavenged is one to go on from.
    const removed = new Set(removal[2].map(({ position }) => position));
    const left = follower.events.filter(({ position }) => !removed.has(position));
    for (const { position } of removal[2].slice(0, 5)) {
      const batches = await followToEnd(log, { ...late, after: position });
      const [next] = batches.flatMap(({ events }) => events);
      expect(next).toEqual(left.find((event) => event.position > position));
    }
  }, 60_000);
});
