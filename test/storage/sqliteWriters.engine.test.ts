import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { Appended, EventLog } from '../../src/storage/eventLog.ts';
import { sendUntilAccepted } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { RepeatingProcess } from '../support/processes.ts';
import { TestWorkspace } from '../support/samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'chartledger-writers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('writers of one SQLite event log', () => {
  let workspace: TestWorkspace;
  let path: string;
  let url: string;
  let log: EventLog;
  beforeEach(async () => {
    workspace = new TestWorkspace();
    path = join(folder, workspace.id, 'events.db');
    url = `sqlite:${path}`;
    log = await openEventLog(url);
  });
  afterEach(() => log.close());

  test('two processes that send the same events at once, and one after a kill, write each once', async () => {
    const stream = workspace.stream();
    const events = Array.from({ length: 600 }, (_, n) => workspace.event({ n }));
    const processes = [1, 2].map(() => new RepeatingProcess(url, stream));
    const [killed, survivor] = processes as [RepeatingProcess, RepeatingProcess];
    try {
      await Promise.all(processes.map((one) => one.ready()));
      for (const one of processes) one.send(events);
      await eventually(() => expect(killed.places.size).toBeGreaterThan(100));
      killed.kill();
      const again = new RepeatingProcess(url, stream);
      processes.push(again);
      await again.ready();
      again.send(events);
      await Promise.all(processes.map((one) => one.exited));
      const stored = await log.readStream(stream, { limit: 2_000 });
      const places = new Map(stored.map(({ id, revision }) => [id, revision]));
      expect(stored).toHaveLength(events.length);
      expect(survivor.places).toEqual(places);
      expect(again.places).toEqual(places);
      for (const [id, revision] of killed.places) expect(places.get(id)).toBe(revision);
    } finally {
      for (const one of processes) one.kill();
    }
  });

  test('a batch that fails leaves nothing behind that a later append would go by', async () => {
    const other = new DatabaseSync(path);
    other.exec(`CREATE TRIGGER fails BEFORE INSERT ON events WHEN new.type = 'Fails'
      BEGIN SELECT RAISE(ABORT, 'as asked'); END`);
    other.close();
    const [stream, fresh] = [workspace.stream(), workspace.stream()];
    await workspace.append(log, stream, { n: 0 });
    const [kept, repeated] = [workspace.event({ n: 1 }), workspace.event({ n: 2 })];
    // The first goes by itself; what waits meanwhile is one batch.
    const first = log.append(stream, kept, 0);
    const batch = [
      log.append(stream, repeated, 1),
      workspace.append(log, fresh, { n: 0 }, 'none'),
      log.append(workspace.stream(), workspace.event({}, 'Fails'), 'any'),
    ];
    expect((await first).revision).toBe(1);
    for (const { status } of await Promise.allSettled(batch)) expect(status).toBe('rejected');
    expect((await log.append(stream, repeated, 1)).revision).toBe(2);
    expect((await workspace.append(log, fresh, { n: 0 }, 'none')).revision).toBe(0);
    expect((await workspace.append(log, stream, { n: 3 }, 2)).revision).toBe(3);
    const stored = await log.readStream(stream, { limit: 10 });
    expect(stored.map(({ data }) => data.n)).toEqual([0, 1, 2, 3]);
  });

  /** Appends one by one, as a single caller does, whose thread comes to wait for each. */
  const appendOneByOne = async (stream: string, count: number) => {
    for (let n = 0; n < count; n += 1) await workspace.append(log, stream, { n });
  };

  test('the thread of who appends one by one goes on with other things while a commit is held up', async () => {
    const stream = workspace.stream();
    await appendOneByOne(stream, 50);
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 10);
    const held = workspace.event();
    await expect(log.append(stream, held, 'any')).rejects.toMatchObject({ code: 'unavailable' });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(20);
    other.exec('ROLLBACK');
    other.close();
    expect((await sendUntilAccepted(log, stream, held)).revision).toBe(50);
  });

  test('an append that was accepted is written though the log is closed in the same turn', async () => {
    const stream = workspace.stream();
    await appendOneByOne(stream, 50);
    const last = workspace.append(log, stream, { n: 50 });
    await log.close();
    expect((await last).revision).toBe(50);
    log = await openEventLog(url);
    expect(await log.readStream(stream, { limit: 100 })).toHaveLength(51);
  });

  test('appends of one turn after others that came one by one are in the order in which they were made', async () => {
    const stream = workspace.stream();
    await appendOneByOne(stream, 50);
    const places = await Promise.all(
      Array.from({ length: 40 }, (_, n) => workspace.append(log, stream, { n: 50 + n })),
    );
    expect(places.map(({ revision }) => revision)).toEqual(places.map((_, n) => 50 + n));
  });

  /** The appends of a large group, as a batch makes them. */
  const group = (stream: string, count: number) =>
    Array.from({ length: count }, () => ({ stream, event: workspace.event(), expected: 'any' as const }));

  test('a single append does not wait for the end of a large group', async () => {
    await workspace.append(log, workspace.stream());
    const grouped = log.appendEach(group(workspace.stream(), 1_000));
    const single = await workspace.append(log, workspace.stream());
    const last = (await grouped).at(-1) as Appended;
    expect(single.position).toBeLessThan(last.position);
    expect(last.revision).toBe(999);
  });

  test('the rest of a large group is refused with its first part while the file is held up', async () => {
    await workspace.append(log, workspace.stream());
    const stream = workspace.stream();
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const results = await log.appendEach(group(stream, 1_000));
    other.exec('ROLLBACK');
    other.close();
    expect(results).toHaveLength(1_000);
    for (const result of results) expect(result).toMatchObject({ code: 'unavailable' });
    // The part that had been handed to the writer may be written after all, and no more than that.
    await sendUntilAccepted(log, stream, workspace.event());
    expect((await log.readStream(stream, { limit: 1_000 })).length).toBeLessThan(100);
  });
});
