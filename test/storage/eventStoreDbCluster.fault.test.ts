import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { purgesTable } from '../../src/modules/erasure/purge.ts';
import {
  advanceScavenges,
  locateErasedBytes,
  readScavenges,
  requestScavenges,
} from '../../src/modules/erasure/scavenges.ts';
import { openEventLog, openStateStore } from '../../src/server/openStorage.ts';
import type { Scavenger } from '../../src/storage/eventLog.ts';

import { erase } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { samples, TestWorkspace } from '../support/samples.ts';
import { logScheme, TestServerCluster, testServerCommand } from '../support/servers.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';

const PAYERS = '/integration/payers';
const WRITERS = 8;
const LONG_MS = 120_000;

const command = testServerCommand();
if (command === undefined) {
  process.stderr.write('Skipped: faults of a cluster need the stand-in that TEST_ESDB_RESTART starts.\n');
}

(command ? describe : describe.skip)(`a cluster (${logScheme})`, () => {
  let cluster: TestServerCluster;
  let service: TestService | undefined;
  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await cluster.remove();
  }, LONG_MS);

  const startOn = async (hosts: 'list' | 'discover') => {
    service = await startTestService({ EVENT_LOG_URL: cluster.url(hosts) });
    return service;
  };

  const startCluster = async (env?: Record<string, string>) => {
    cluster = new TestServerCluster(command ?? []);
    await cluster.start(env);
  };

  /** Writers that send one payer after the other; `acknowledged` are the names of those that were answered with 200. */
  const startWriters = (on: TestService) => {
    const acknowledged: string[] = [];
    let refusals = 0;
    let stopping = false;
    const writers = Array.from({ length: WRITERS }, async () => {
      while (!stopping) {
        const payer = samples.payer();
        const { status } = await on.post(PAYERS, payer);
        expect([200, 503]).toContain(status);
        if (status === 200) acknowledged.push(payer.id);
        else refusals += 1;
      }
    });
    const failed = Promise.all(writers).then(() => new Promise<never>(() => undefined));
    const more = (count: () => number, least: number) => {
      const enough = count() + least;
      return Promise.race([eventually(() => expect(count()).toBeGreaterThan(enough), LONG_MS), failed]);
    };
    return {
      written: (least = 3 * WRITERS) => more(() => acknowledged.length, least),
      refused: (least: number) => more(() => refusals, least),
      async stop() {
        stopping = true;
        await Promise.all(writers);
        return acknowledged;
      },
    };
  };

  const readiness = async (on: TestService) => (await on.get('/readyz')).status;

  /** What was acknowledged is on the log, and nothing twice. */
  const expectEachOnce = async (on: TestService, acknowledged: string[]) => {
    const events = (await readAll(on.eventLog)).filter(({ type }) => type === 'PayerUpserted');
    const written = events.map(({ data }) => String(data.id));
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect(acknowledged.filter((id) => !written.includes(id))).toEqual([]);
    expect(new Set(written).size).toBe(written.length);
  };

  test.each(['discover', 'list'] as const)(
    '%s: the leader is killed, and writes go on with the next',
    async (hosts) => {
      await startCluster();
      const on = await startOn(hosts);
      const writers = startWriters(on);
      await writers.written();
      await cluster.killNode(0);
      // The first of these wait for the election.
      await writers.written(8 * WRITERS);
      await eventually(async () => expect(await readiness(on)).toBe(200));
      expect((await on.get(`${PAYERS}/${samples.payer().id}`)).status).toBe(404);
      await expectEachOnce(on, await writers.stop());
    },
    LONG_MS,
  );

  test(
    'without a majority there is no leader: /readyz says so, and the first who comes back ends it',
    async () => {
      await startCluster();
      const on = await startOn('discover');
      const writers = startWriters(on);
      await writers.written();
      for (const n of [0, 1]) await cluster.killNode(n);
      await eventually(async () => expect(await readiness(on)).toBe(503));
      await writers.refused(3 * WRITERS);
      expect(await readiness(on)).toBe(503);
      await cluster.startNode(1);
      await writers.written();
      await eventually(async () => expect(await readiness(on)).toBe(200));
      await expectEachOnce(on, await writers.stop());
    },
    LONG_MS,
  );

  test(
    'the first host of the list is dead at the start',
    async () => {
      await startCluster();
      await cluster.killNode(0);
      await eventually(async () => (await openEventLog(cluster.url('discover'))).close(), LONG_MS);
      // The new leader shows late what the log holds.
      const on = await eventually(() => startOn('discover'), LONG_MS);
      const writers = startWriters(on);
      await writers.written();
      expect(await readiness(on)).toBe(200);
      await expectEachOnce(on, await writers.stop());
    },
    LONG_MS,
  );

  test(
    'all are dead for longer than the driver looks for them, and come back',
    async () => {
      await startCluster();
      const on = await startOn('discover');
      const writers = startWriters(on);
      await writers.written();
      for (const n of [0, 1, 2]) await cluster.killNode(n);
      // Each writer waits for the first of its refusals as long as a request does.
      await writers.refused(12 * WRITERS);
      expect(await readiness(on)).toBe(503);
      for (const n of [0, 1, 2]) await cluster.startNode(n);
      await writers.written();
      await eventually(async () => expect(await readiness(on)).toBe(200));
      await expectEachOnce(on, await writers.stop());
    },
    LONG_MS,
  );

  test(
    'each is killed and started, one after the other',
    async () => {
      await startCluster();
      const on = await startOn('discover');
      const writers = startWriters(on);
      for (const n of [0, 1, 2, 0]) {
        await writers.written();
        await cluster.killNode(n);
        await writers.written(8 * WRITERS);
        await cluster.startNode(n);
      }
      await writers.written();
      expect(await readiness(on)).toBe(200);
      await expectEachOnce(on, await writers.stop());
    },
    LONG_MS,
  );

  test(
    'scavenges go from node to node until none has bytes of what was erased, past ones under way and nodes that are away',
    async () => {
      await startCluster({ ESDB_SCAVENGE_MS: '3000' });
      const log = await eventually(() => openEventLog(cluster.url('list')));
      const stateStore = await openStateStore(`sqlite:${join(cluster.folder, 'state.db')}`);
      const ports = { eventLog: log, stateStore };
      const scavenger = log.scavenger as Scavenger;
      const workspace = new TestWorkspace();
      const gone = workspace.stream();
      const data = { text: 'secret-of-a-node' };
      await workspace.append(log, gone, data);
      const hasBytes = () => cluster.stored().includes(Buffer.from(JSON.stringify(data)).toString('base64'));
      // One that is under way covers nothing of what is removed from now on.
      const [first] = cluster.nodes as [string];
      const early = await scavenger.start(first);
      await erase(log, workspace, gone);
      const mark = await scavenger.mark();
      expect(await scavenger.start(first)).toBe(early);
      await eventually(async () => expect(await scavenger.outcome(early, mark)).toBe('not_covered'), LONG_MS);
      expect(hasBytes()).toBe(true);

      const position = await log.head();
      await requestScavenges(ports, position);
      await advanceScavenges(ports);
      // Not before the erasures are complete.
      expect(await readScavenges(ports)).toMatchObject({ requested: position, nodes: [], erased: 0 });
      const id = await log.identity();
      const purged = { id, partition: id, order: 0, revision: position, body: { position } };
      await stateStore.save(purgesTable, [purged]);
      await cluster.killNode(2);
      const states = async () => {
        await advanceScavenges(ports);
        return (await readScavenges(ports))?.nodes.map(({ state }) => state);
      };
      await eventually(
        async () => expect(await states()).toEqual(['erased', 'erased', 'unreachable']),
        LONG_MS,
      );
      expect(await locateErasedBytes(ports, position)).toEqual({
        erased: false,
        nodes: [{ node: cluster.nodes[2], state: 'unreachable' }],
      });
      expect(hasBytes()).toBe(true);
      await cluster.startNode(2);
      await eventually(async () => expect(await states()).toEqual(['erased', 'erased', 'erased']), LONG_MS);
      expect(await locateErasedBytes(ports, position)).toEqual({ erased: true, nodes: [] });
      expect(hasBytes()).toBe(false);
      await stateStore.close();
      await log.close();
    },
    LONG_MS,
  );
});
