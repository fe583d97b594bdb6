import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NewEvent } from '../../src/domain/events/event.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { sendUntilAccepted } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { RepeatingProcess } from '../support/processes.ts';
import { TestWorkspace } from '../support/samples.ts';
import { TestServer, testServerCommand } from '../support/servers.ts';

const command = testServerCommand();

(command ? describe : describe.skip)('repeated appends to a server that fails', () => {
  const server = new TestServer(command ?? []);
  let log: EventLog;
  let workspace: TestWorkspace;
  beforeAll(() => server.start());
  afterAll(() => server.remove());
  // One each: what a test left to be tried again would be counted in the next.
  beforeEach(async () => {
    workspace = new TestWorkspace();
    log = await openEventLog(server.url);
  });
  afterEach(() => log.close());

  test.each([
    ['', 0],
    [', of an event whose maker’s clock was an hour ahead', 3_600_000],
  ])(
    'a repeat after a restart is the original, also where the stream went on meanwhile%s',
    async (_, aheadMs) => {
      const stream = workspace.stream();
      const event = { ...workspace.event({ n: 0 }), id: uuidv7({ msecs: Date.now() + aheadMs }) };
      const [earlier, place] = [await workspace.append(log, stream), await log.append(stream, event, 'any')];
      const busy = await workspace.appendMany(log, 200, [stream]);
      await server.kill();
      await server.start();
      const opened = await openEventLog(server.url);
      try {
        expect(await sendUntilAccepted(log, stream, event)).toEqual(place);
        expect(await sendUntilAccepted(opened, stream, event)).toEqual(place);
      } finally {
        await opened.close();
      }
      await eventually(async () =>
        expect(await log.readStream(stream, { limit: 1_000 })).toHaveLength(busy.length + 2),
      );
      expect(earlier.revision).toBe(0);
    },
    60_000,
  );

  test('repeats that a new leader does not show yet are not written again, however many there are', async () => {
    const stream = workspace.stream();
    const events = Array.from({ length: 60 }, (_, n) => workspace.event({ n }));
    const places = await Promise.all(events.map((event) => log.append(stream, event, 'any')));
    const [created, only] = [workspace.stream(), workspace.event()];
    const first = await log.append(created, only, 'none');
    await server.kill();
    await server.start();
    const fresh = Array.from({ length: 20 }, (_, n) => workspace.event({ fresh: n }));
    const [repeated] = await Promise.all([
      Promise.all(events.map((event) => sendUntilAccepted(log, stream, event))),
      Promise.all(fresh.map((event) => sendUntilAccepted(log, stream, event))),
    ]);
    expect(repeated).toEqual(places);
    expect(await sendUntilAccepted(log, created, { ...only, isRepeat: true })).toEqual(first);
    await eventually(async () => {
      const stored = await log.readStream(stream, { limit: 1_000 });
      expect(stored.map(({ id }) => id).sort()).toEqual([...events, ...fresh].map(({ id }) => id).sort());
    });
    expect(await log.readStream(created, { limit: 10 })).toHaveLength(1);
  }, 60_000);

  test('an append with an expectation reads nothing, however old its event is, unless it is refused', async () => {
    const old = () => ({ ...workspace.event(), id: uuidv4() });
    const [first, next] = [old(), old()];
    const stream = workspace.stream();
    const { reads } = await server.calls();
    const place = await log.append(stream, first, 'none');
    await log.append(stream, next, 0);
    expect((await server.calls()).reads).toBe(reads);

    await expect(log.append(stream, workspace.event(), 'none')).rejects.toMatchObject({
      code: 'version_conflict',
      version: 2,
    });
    expect((await server.calls()).reads).toBe(reads);
    // Whether the server still knows it or not.
    for (const restarts of [false, true]) {
      if (restarts) await server.kill();
      if (restarts) await server.start();
      expect(await eventually(() => log.append(stream, first, 'none'))).toEqual(place);
      await eventually(() =>
        expect(log.append(stream, old(), 'none')).rejects.toMatchObject({ code: 'version_conflict' }),
      );
    }
    await eventually(async () =>
      expect((await log.readStream(stream, { limit: 10 })).map(({ id }) => id)).toEqual([first.id, next.id]),
    );
  }, 60_000);

  /** Two processes that send the same events at once; resolves when all were acknowledged to both. */
  const repeatInTwoProcesses = async (
    events: NewEvent[],
    meanwhile: (first: RepeatingProcess) => unknown,
  ) => {
    const stream = workspace.stream();
    const processes = [1, 2].map(() => new RepeatingProcess(server.url, stream));
    try {
      await Promise.all(processes.map((one) => one.ready()));
      for (const one of processes) one.send(events);
      await meanwhile(processes[0] as RepeatingProcess);
      await Promise.all(processes.map((one) => one.exited));
    } finally {
      for (const one of processes) one.kill();
    }
    const stored = await eventually(async () => {
      const found = await log.readStream(stream, { limit: 1_000 });
      expect(found.length).toBeGreaterThanOrEqual(events.length);
      return found;
    });
    return { processes, stored };
  };

  test.each([
    ['', []],
    [', to a server that is killed', [10, 20, 30]],
  ])(
    'two processes that send the same events at once write each once%s',
    async (_, kills) => {
      const events = Array.from({ length: 60 }, (__, n) => workspace.event({ n }));
      const { processes, stored } = await repeatInTwoProcesses(events, async (first) => {
        for (const count of kills) {
          await eventually(() => expect(first.places.size).toBeGreaterThan(count), 30_000);
          await server.kill();
          await server.start();
        }
      });
      expect(stored.map(({ id }) => id).sort()).toEqual(events.map(({ id }) => id).sort());
      const places = new Map(stored.map(({ id, revision }) => [id, revision]));
      for (const one of processes) expect(one.places).toEqual(places);
      // What the server drops is not refused, but found.
      if (kills.length === 0) expect(processes.map(({ refusals }) => refusals)).toEqual([0, 0]);
    },
    120_000,
  );
});
