import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { toCopied } from '../../src/modules/backup/format.ts';
import { openEventLog, openLogCopy } from '../../src/server/openStorage.ts';
import { SqliteEventLog } from '../../src/storage/engines/sqlite/eventLog.ts';
import { type EventLog, inLogOrder } from '../../src/storage/eventLog.ts';
import { temporaryFolder } from '../support/cli.ts';
import { erase, scavenged } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { Follower, followToEnd } from '../support/log.ts';
import { TestWorkspace } from '../support/samples.ts';
import { foreignClient, logScheme, TestServer, testServerCommand } from '../support/servers.ts';

const FAR = 1_800_000_000_000_000;
const STREAM = 'log-restores';
const command = testServerCommand();
const suite = command ? describe : describe.skip;

/** All that a log holds, in its order, without its texts. */
async function placesOf(log: EventLog, filter?: { streamPrefixes: string[] }) {
  const batches = await followToEnd(log, { after: 0, erased: true, ...(filter && { filter }) });
  return batches.flatMap(inLogOrder).map((place) => {
    if (!('data' in place)) return place;
    const { dataText, metadataText, ...event } = place;
    return event;
  });
}

suite(`a copy of a log on a server (${logScheme})`, () => {
  let server: TestServer;
  let source: SqliteEventLog;
  let workspace: TestWorkspace;
  let path: string;
  beforeEach(async () => {
    server = new TestServer(command ?? []);
    await server.start();
    workspace = new TestWorkspace();
    path = join(temporaryFolder(), 'events.db');
    source = await SqliteEventLog.open(path);
  });
  afterEach(async () => {
    await source.close();
    await server.remove();
  });

  const note = () => ({ ...workspace.event({}, 'LogMoved'), id: uuidv7() });
  const open = async () => openLogCopy(server.url, await source.identity());

  /** Copies what a log holds after a position, as often as it takes for all of it. */
  async function copyAll(after = 0): Promise<void> {
    const copy = await open();
    const places = (await placesOf(source)).filter(({ position }) => position > after);
    for (let at = 0; at < places.length; at += 700) await copy.add(places.slice(at, at + 700).map(toCopied));
    for (const stream of (await source.removals(0)).streams) {
      const [first] = await source.readStream(stream, { limit: 1 });
      const removed = (await placesOf(source, { streamPrefixes: [stream] })).filter((one) => 'leaf' in one);
      await copy.erase(stream, first?.revision ?? 0, removed);
    }
    const gap = { after: await source.head(), position: FAR };
    await copy.finish(STREAM, note(), [...(await source.omittedPositions()), gap]);
    await copy.close();
  }

  test('has the identity, the events, their positions and times, and what was erased or cannot be read', async () => {
    await workspace.appendMany(source, 30);
    const stream = workspace.stream();
    for (let version = 0; version < 3; version += 1) await workspace.append(source, stream);
    await erase(source, workspace, stream);
    await workspace.append(source, stream);
    const { position } = await workspace.append(source, workspace.stream());
    const db = new DatabaseSync(path);
    db.prepare("UPDATE events SET data = '{broken' WHERE position = ?").run(position);
    db.close();
    const kept = workspace.stream();
    await workspace.append(source, kept);
    await copyAll();
    const copy = await openEventLog(server.url);
    const places = await placesOf(source);
    expect(places.filter((place) => 'leaf' in place)).toHaveLength(3);
    expect(places.filter((place) => !('leaf' in place) && !('data' in place))).toHaveLength(1);
    const all = await placesOf(copy);
    expect(all.slice(0, -1)).toEqual(places);
    expect(all.at(-1)).toMatchObject({ stream: STREAM, revision: 0, type: 'LogMoved' });
    expect(await copy.identity()).toBe(await source.identity());
    expect(await copy.readStream(stream, { limit: 9 })).toMatchObject([
      { revision: 3, position: places.find((one) => one.stream === stream && one.revision === 3)?.position },
      { revision: 4 },
    ]);
    expect((await copy.removals(0)).streams).toEqual([stream]);
    await scavenged(server.url)(copy, []);
    expect((await placesOf(copy)).slice(0, -1)).toEqual(places);
    await copy.close();
  });

  test('goes on behind a gap; each position of the original is one of the copy, and each follower gets what is behind it', async () => {
    const [one, other] = [workspace.stream('a'), workspace.stream('b')];
    await workspace.appendMany(source, 4_500, [one, other, one, one]);
    await copyAll();
    const copy = await openEventLog(server.url);
    const last = await source.head();
    const event = workspace.event({ name: 'later' });
    const { position } = await copy.append(other, event, 'any');
    expect(position).toBeGreaterThan(FAR);
    expect(await copy.append(other, event, 'any')).toMatchObject({ position });
    expect(await copy.head()).toBe(position);
    const asked = [0, 1, 1_999, 2_000, 2_001, last, last + 1, FAR - 1, position, position + 1];
    const known: boolean[] = [];
    for (const at of asked) known.push(await copy.hasPosition(at));
    expect(known).toEqual([true, true, true, true, true, true, false, false, true, false]);
    expect(await Promise.all(asked.map((at) => copy.lastBefore(at)))).toEqual([
      ...Array(6).fill(undefined),
      ...[last, last, undefined, position],
    ]);
    const expected = [
      ...(await placesOf(source, { streamPrefixes: [other] })).map((place) => place.position),
      position,
    ];
    for (const after of [0, 1, 1_999, 2_000, 2_001, last - 1, last]) {
      const batches = await followToEnd(copy, { after, filter: { streamPrefixes: [other] } });
      const positions = batches.flatMap(({ events }) => events).map((found) => found.position);
      expect(positions).toEqual(expected.filter((at) => at > after));
      expect(batches.at(-1)?.position).toBe(position);
    }
    for (const after of [last + 1, FAR])
      await expect(followToEnd(copy, { after })).rejects.toMatchObject({ code: 'validation_failed' });
    const live = new Follower(copy, { after: last, filter: { streamPrefixes: [one] } });
    await eventually(() => expect(live.caughtUp).toBe(true));
    const next = await workspace.append(copy, one);
    await eventually(() => expect(live.events.map((found) => found.position)).toEqual([next.position]));
    await live.stop();
    await copy.close();
  });

  test('repeats of copied events change nothing, and what was erased before can be erased further', async () => {
    const stream = workspace.stream();
    const event = workspace.event({ n: 0 });
    const { position } = await source.append(stream, event, 'none');
    const second = workspace.event({ n: 1 });
    await source.append(stream, second, 0);
    const gone = workspace.stream();
    const removed = workspace.event({ n: 2 });
    const place = await source.append(gone, removed, 'none');
    await erase(source, workspace, gone);
    await copyAll();
    const copy = await openEventLog(server.url);
    for (const expected of ['none', 'any'] as const)
      expect(await copy.append(stream, event, expected)).toEqual({ revision: 0, position });
    expect(await copy.append(stream, { ...event, isRepeat: true }, 7)).toEqual({ revision: 0, position });
    expect(await copy.append(gone, removed, 'none')).toMatchObject(place);
    await expect(workspace.append(copy, stream, {}, 0)).rejects.toMatchObject({ code: 'version_conflict' });
    const erased = await erase(copy, workspace, stream);
    const again = await erase(copy, workspace, gone);
    const all = await placesOf(copy);
    expect(all.filter((one) => 'leaf' in one)).toEqual(
      [...erased, ...again].toSorted((a, b) => a.position - b.position),
    );
    await scavenged(server.url)(copy, []);
    expect(await placesOf(copy)).toEqual(all);
    expect(await copy.append(gone, removed, 'none')).toMatchObject(place);
    expect(await copy.hasPosition(place.position)).toBe(true);
    await copy.close();
  });

  test('is not opened before it is complete, and goes on where it was cut off, also with what was erased meanwhile', async () => {
    const stream = workspace.stream();
    for (let n = 0; n < 3; n += 1) await workspace.append(source, stream, { n });
    await workspace.appendMany(source, 600, [workspace.stream(), workspace.stream()]);
    const copy = await open();
    expect(await copy.tail()).toEqual([]);
    const places = await placesOf(source);
    await copy.add(places.slice(0, 400).map(toCopied));
    await copy.close();
    await expect(openEventLog(server.url)).rejects.toMatchObject({
      code: 'internal',
      problem: expect.stringContaining('Run chartledger migrate to its end'),
    });
    const again = await open();
    const tail = await again.tail();
    expect(tail.at(-1)).toEqual(
      places
        .slice(399, 400)
        .map(({ id, stream: name, revision, position }) => ({ id, stream: name, revision, position }))[0],
    );
    expect(await again.isComplete()).toBe(false);
    await again.close();
    await erase(source, workspace, stream);
    await copyAll(tail.at(-1)?.position);
    const log = await openEventLog(server.url);
    expect((await placesOf(log)).slice(0, -1)).toEqual(await placesOf(source));
    expect(await log.readStream(stream, { limit: 9 })).toHaveLength(1);
    await log.close();
    const complete = await open();
    expect(await complete.isComplete()).toBe(true);
    await complete.close();
  });

  test('is refused by a server that holds another log, or events of others', async () => {
    const { client, jsonEvent } = await foreignClient(server.url);
    await client.appendToStream('orders', jsonEvent({ type: 'Ordered', data: {} }));
    await expect(open()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^The event log on 127\.0\.0\.1:\d+ is not empty\./),
    });
    await client.dispose();
  });

  test('keeps the gaps of a log that was restored, and of one that was copied to a server', async () => {
    await workspace.appendMany(source, 5);
    const folder = temporaryFolder();
    const restored = await openLogCopy(`sqlite:${folder}/events.db`, await source.identity());
    await restored.add((await placesOf(source)).map(toCopied));
    await restored.finish(STREAM, note(), [{ after: 5, position: 1_000 }]);
    await restored.close();
    await source.close();
    source = await SqliteEventLog.open(`${folder}/events.db`);
    await workspace.append(source, workspace.stream());
    await copyAll();
    const copy = await openEventLog(server.url);
    expect(await copy.omittedPositions()).toMatchObject([{ after: 5, position: 1_000 }, { after: 1_001 }]);
    expect([await copy.lastBefore(700), await copy.hasPosition(700), await copy.hasPosition(1_000)]).toEqual([
      5,
      false,
      true,
    ]);
    await expect(followToEnd(copy, { after: 700 })).rejects.toMatchObject({ code: 'validation_failed' });
    await copy.close();
  });
});
