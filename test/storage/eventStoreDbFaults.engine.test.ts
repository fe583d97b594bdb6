import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NewEvent } from '../../src/domain/events/event.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import { DriverClient, loadDriver } from '../../src/storage/engines/eventstoredb/client.ts';
import { LogReader, streamNames, userStreams } from '../../src/storage/engines/eventstoredb/read.ts';
import type { Appended, EventLog } from '../../src/storage/eventLog.ts';
import { sendUntilAccepted } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Follower, followToEnd } from '../support/log.ts';
import { TestWorkspace } from '../support/samples.ts';
import { logScheme, TestServer, testServerCommand } from '../support/servers.ts';

const command = testServerCommand();
if (command === undefined) {
  process.stderr.write('Skipped: faults of EventStoreDB need the stand-in that TEST_ESDB_RESTART starts.\n');
}
const suite = command ? describe : describe.skip;

suite(`a server that fails (${logScheme})`, () => {
  const server = new TestServer(command ?? []);
  let log: EventLog;
  let workspace: TestWorkspace;
  beforeAll(async () => {
    await server.start();
    log = await openEventLog(server.url);
  });
  afterAll(async () => {
    server.thaw();
    await log.close();
    await server.remove();
  });
  beforeEach(() => {
    workspace = new TestWorkspace();
  });

  const newClient = async () => new DriverClient(await loadDriver(server.url), server.url);
  const own = () => ({ streamPrefixes: [workspace.prefix] });

  /** Callers that append one event after the other, each to a stream of its own, until told to stop. */
  const startCallers = (count: number) => {
    const acknowledged: { stream: string; event: NewEvent; place: Appended }[] = [];
    let stopping = false;
    const callers = Array.from({ length: count }, async () => {
      const stream = workspace.stream();
      for (let n = 0; !stopping; n += 1) {
        const event = workspace.event({ n });
        acknowledged.push({ stream, event, place: await sendUntilAccepted(log, stream, event) });
      }
    });
    const stop = () => {
      stopping = true;
      return Promise.all(callers);
    };
    return { acknowledged, stop };
  };

  test('killed under load, it loses and doubles nothing, and followers go on without a gap', async () => {
    const after = await log.head();
    const followers = [
      new Follower(log, { after, filter: own() }),
      new Follower(log, { after }),
      new Follower(log, { after, filter: { eventTypes: [workspace.event().type] } }),
    ];
    const { acknowledged, stop } = startCallers(16);
    for (let kills = 0; kills < 3; kills += 1) {
      const enough = acknowledged.length + 200;
      await eventually(() => expect(acknowledged.length).toBeGreaterThan(enough));
      await server.kill();
      await server.start();
    }
    const enough = acknowledged.length + 200;
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(enough));
    await stop();

    const stored = (await followToEnd(log, { after, filter: own() })).flatMap(({ events }) => events);
    const expected = acknowledged
      .map(({ stream, event, place }) => ({ ...event, ...place, stream, recordedAt: expect.any(String) }))
      .sort((a, b) => a.position - b.position);
    expect(stored).toEqual(expected);
    for (const follower of followers) {
      await eventually(() => expect(follower.events.length).toBeGreaterThanOrEqual(stored.length));
      await follower.stop();
      expect(follower.events).toEqual(stored);
    }
  }, 60_000);

  test('while it is down all calls are refused as unavailable, and afterwards they work', async () => {
    const stream = workspace.stream();
    await workspace.append(log, stream, { n: 0 });
    await server.kill();
    const calls = [
      workspace.append(log, stream, { n: 'lost' }),
      log.readStream(stream, { limit: 10 }),
      log.head(),
      openEventLog(server.url),
    ];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'unavailable', retryAfterSeconds: 2 },
      });
    }
    await server.start();
    await sendUntilAccepted(log, stream, workspace.event({ n: 1 }));
    await eventually(async () =>
      expect((await log.readStream(stream, { limit: 10 })).map(({ data }) => data)).toEqual([
        { n: 0 },
        { n: 1 },
      ]),
    );
    expect(await log.head()).toBeGreaterThan(0);
  }, 60_000);

  test('frozen, it makes all calls unavailable; it works again by itself when it goes on', async () => {
    const stream = workspace.stream();
    const event = workspace.event({ n: 0 });
    const follower = new Follower(log, { after: await log.head(), filter: own() });
    await eventually(() => expect(follower.caughtUp).toBe(true));
    server.freeze();
    const late = new Follower(log, { after: 0, filter: own() });
    const calls = [log.append(stream, event, 'none'), log.readStream(stream, { limit: 10 }), log.head()];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    }
    server.thaw();
    // Whether the refused append was written is open; the repeat of its event settles it.
    await sendUntilAccepted(log, stream, event);
    await sendUntilAccepted(log, stream, workspace.event({ n: 1 }));
    expect((await log.readStream(stream, { limit: 10 })).map(({ data }) => data)).toEqual([
      { n: 0 },
      { n: 1 },
    ]);
    for (const one of [follower, late]) {
      await eventually(() => expect(one.events.map(({ data }) => data)).toEqual([{ n: 0 }, { n: 1 }]));
      await one.stop();
    }
  }, 60_000);

  test('a server that stands still for three seconds refuses nobody', async () => {
    const [stream, other] = [workspace.stream(), workspace.stream()];
    await workspace.append(log, stream, { n: 0 });
    const after = await log.head();
    server.freeze();
    setTimeout(() => server.thaw(), 3_000);
    const events = Array.from({ length: 20 }, (_, n) => workspace.event({ n }));
    const [places, read, head] = await Promise.all([
      Promise.all(events.map((event) => log.append(other, event, 'any'))),
      log.readStream(stream, { limit: 10 }),
      log.head(),
    ]);
    expect(read).toHaveLength(1);
    expect(head).toBeGreaterThanOrEqual(after);
    const stored = await log.readStream(other, { limit: 100 });
    expect(stored.map(({ id }) => id).sort()).toEqual(events.map(({ id }) => id).sort());
    expect(places.map(({ revision }) => revision).sort((a, b) => a - b)).toEqual(events.map((_, n) => n));
  }, 60_000);

  test('what a server has been silent for is no longer waited for', async () => {
    const url = `${server.url}&defaultDeadline=1500`;
    const reader = new LogReader(new DriverClient(await loadDriver(url), url));
    await reader.head();
    expect(reader.client.patienceMs).toBe(1_500);
    server.freeze();
    await expect(reader.head()).rejects.toMatchObject({ code: 'unavailable' });
    expect(reader.client.patienceMs).toBe(500);
    server.thaw();
    await eventually(() => reader.head());
    expect(reader.client.patienceMs).toBe(1_500);
    await reader.client.close();
  }, 60_000);

  test('a read whose client is given up is refused, and shows no stream as empty', async () => {
    const stream = workspace.stream();
    await workspace.append(log, stream, { n: 0 });
    const reader = new LogReader(await newClient());
    expect(await reader.readStream(stream, { limit: 10 })).toHaveLength(1);
    server.freeze();
    const reads: Promise<unknown>[] = [];
    for (let n = 0; n < 20; n += 1) {
      reads.push(reader.readStream(stream, { limit: 10 }), reader.lastPosition());
      // The first ones are sent by then.
      await setImmediate();
    }
    const outcomes = Promise.allSettled(reads);
    await reader.client.close();
    await outcomes.finally(() => server.thaw());
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
  }, 60_000);

  test('a client whose calls are not answered is replaced, and its calls and subscriptions end', async () => {
    const client = await newClient();
    const { signal } = new AbortController();
    const first = await client.call(signal, (driver) => driver);
    const { replaced } = client;
    client.call(signal, () => new Promise(() => undefined));
    // Each of these is a call, too; an answer to any would show that the connection is well.
    const second = await eventually(() => {
      return client.call(signal, async (present) => {
        if (present === first) throw new Error('not replaced yet');
        return present;
      });
    });
    expect(second).not.toBe(first);
    expect(replaced.aborted).toBe(true);
    await client.close();
    await expect(client.call(signal, (driver) => driver)).rejects.toThrow('closed');
    expect((await workspace.append(log, workspace.stream())).revision).toBe(0);
  }, 60_000);

  test('what goes on on a client that was given up is not sent, also where the driver connected it anew', async () => {
    const client = await newClient();
    const driver = await client.call({ aborted: false }, (present) => present);
    const stream = workspace.stream();
    const { id, type, data } = workspace.event();
    const append = () => driver.append(stream, { id, type, data: { data } }, 'any');
    await server.kill();
    await expect(append()).rejects.toThrow();
    await server.start();
    await eventually(() => driver.nodes());
    await client.close();
    await expect(append()).rejects.toThrow();
    await expect(
      once(driver.subscribeToAll('start', streamNames(userStreams)), 'confirmation'),
    ).rejects.toThrow();
    expect(await eventually(() => log.readStream(stream, { limit: 1 }))).toEqual([]);
  }, 60_000);

  test('a follower that is stopped while the server is away ends', async () => {
    const waiting = new Follower(log, { after: 0, filter: own() });
    await eventually(() => expect(waiting.caughtUp).toBe(true));
    await server.kill();
    const starting = new Follower(log, { after: 0, filter: own() });
    await Promise.all([waiting.stop(), starting.stop()]);
    await server.start();
    expect(starting.events).toEqual([]);
  }, 60_000);
});
