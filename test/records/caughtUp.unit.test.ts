import { v7 as uuidv7 } from 'uuid';
import { afterEach, expect, test, vi } from 'vitest';
import { auditModel } from '../../projections/auditTrail.ts';
import { recordsModel } from '../../projections/records.ts';
import { patient } from '../../src/domain/records/kinds/patient.ts';
import { snapshotOf } from '../../src/modules/records/queries/lists.ts';
import { caughtUp, untilReached } from '../../src/modules/records/queries/paging.ts';
import { Reconciliation } from '../../src/modules/records/queries/reconcile.ts';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

import { temporaryFolder } from '../support/cli.ts';
import { TestWorkspace } from '../support/samples.ts';

const HOUR_MS = 3_600_000;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Read models that are behind; the clock is set whenever they are asked. */
function behind(answers: number, step: number): ReadModels {
  let asked = 0;
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  const checkpoint = async () => {
    now += step;
    asked += 1;
    return asked < answers ? 0 : 1;
  };
  return { checkpoint } as Partial<ReadModels> as ReadModels;
}

test('whoever waits for a read model is refused after two seconds, also when the clock is set back', async () => {
  const readModels = behind(Number.POSITIVE_INFINITY, -HOUR_MS);
  await expect(untilReached(readModels, recordsModel, 1, 'list')).rejects.toMatchObject({
    code: 'unavailable',
  });
}, 5_000);

test('nobody is refused because the clock is set ahead', async () => {
  await untilReached(behind(3, HOUR_MS), recordsModel, 1, 'list');
});

/** Read models that apply so many events a second by the monotonic clock, of which each look takes 10 ms. */
function applying(eventsPerSecond: number): { readModels: ReadModels; elapsed(): number } {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const checkpoint = async () => {
    now += 10;
    return Math.floor((now / 1_000) * eventsPerSecond);
  };
  return { readModels: { checkpoint } as Partial<ReadModels> as ReadModels, elapsed: () => now };
}

test('a request that would clearly wait too long is refused early, and told how long it takes', async () => {
  const { readModels, elapsed } = applying(1_000);
  await expect(
    untilReached(readModels, recordsModel, 20_000, 'list', { refusesEarly: true }),
  ).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 20,
  });
  expect(elapsed()).toBeLessThan(500);
  const before = elapsed();
  // The next one need not observe the pace again.
  await expect(
    untilReached(readModels, recordsModel, 20_000, 'list', { refusesEarly: true }),
  ).rejects.toMatchObject({
    retryAfterSeconds: 20,
  });
  expect(elapsed() - before).toBeLessThanOrEqual(10);
});

test('whoever is told to wait is told a minute at most', async () => {
  await expect(
    untilReached(applying(1_000).readModels, recordsModel, 1e9, 'list', { refusesEarly: true }),
  ).rejects.toMatchObject({
    retryAfterSeconds: 60,
  });
});

test('whoever can have it within two seconds waits for it', async () => {
  const { readModels, elapsed } = applying(1_000);
  await untilReached(readModels, recordsModel, 1_900, 'list', { refusesEarly: true });
  expect(elapsed()).toBeGreaterThanOrEqual(1_900);
});

test('work in the background is not refused before the two seconds have passed', async () => {
  const { readModels, elapsed } = applying(1_000);
  await expect(untilReached(readModels, recordsModel, 20_000, 'list')).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(elapsed()).toBeGreaterThanOrEqual(2_000);
});

test('whoever reads records does not wait for the accesses of others, only for records', async () => {
  const workspace = new TestWorkspace();
  const eventLog = await openEventLog(`sqlite:${temporaryFolder()}/events.db`);
  let asked = 0;
  let reached = 0;
  const checkpoint = async () => {
    asked += 1;
    // The projector has everything when it is asked for the third time.
    return asked < 3 ? reached : await eventLog.head();
  };
  const ports = { eventLog, readModels: { checkpoint } as Partial<ReadModels> as ReadModels };
  const timesAsked = async (model: string) => {
    asked = 0;
    expect(await caughtUp(ports, model)).toBe(await eventLog.head());
    return asked;
  };
  await workspace.append(eventLog, workspace.stream());
  reached = await eventLog.head();
  const access = { ...workspace.event(), type: 'AccessRecorded' };
  await eventLog.append(workspace.stream(), access, 'any');
  expect(await timesAsked(recordsModel)).toBe(1);
  expect(await timesAsked(auditModel)).toBe(3);
  await eventLog.append(workspace.stream(), { ...workspace.event(), type: 'PayerUpserted' }, 'any');
  expect(await timesAsked(recordsModel)).toBe(3);
  // Beyond what is looked at.
  reached = await eventLog.head();
  for (let at = 0; at < 100; at += 1)
    await eventLog.append(workspace.stream(), { ...access, id: uuidv7() }, 'any');
  expect(await timesAsked(recordsModel)).toBe(3);
  await eventLog.close();
});

test('a snapshot and a reconciliation are whole behind the accesses of others, and refused once the read model is emptied', async () => {
  const workspace = new TestWorkspace();
  const eventLog = await openEventLog(`sqlite:${temporaryFolder()}/events.db`);
  await workspace.append(eventLog, workspace.stream());
  let held = await eventLog.head();
  const readModels = {
    checkpoint: async () => held,
    page: async () => [],
    load: async () => [],
  } as Partial<ReadModels> as ReadModels;
  const access = { ...workspace.event(), type: 'AccessRecorded' };
  await eventLog.append(workspace.stream(), access, 'any');
  const ports = { eventLog, readModels };
  const snapshot = await snapshotOf(ports, workspace.id, patient);
  const reconciliation = await Reconciliation.begin(ports, workspace.id, []);
  const parts = () => Array.fromAsync(snapshot.parts(() => undefined));
  const copies = [{ kind: 'patient', id: 'p' }];
  expect(snapshot.position).toBe(await eventLog.head());
  expect(await parts()).toEqual([{ states: [] }]);
  expect(await reconciliation.compare(copies)).toMatchObject({ compared: [{ outcome: 'missing_here' }] });
  held = 0;
  await expect(parts()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(reconciliation.compare(copies)).rejects.toMatchObject({ code: 'unavailable' });
  await eventLog.close();
});
