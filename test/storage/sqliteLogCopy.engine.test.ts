import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { v7 as uuidv7 } from 'uuid';
import { expect, test } from 'vitest';
import { toCopied } from '../../src/modules/backup/format.ts';
import { SqliteEventLog } from '../../src/storage/engines/sqlite/eventLog.ts';
import { SqliteLogCopy } from '../../src/storage/engines/sqlite/logCopy.ts';
import { inLogOrder } from '../../src/storage/eventLog.ts';

import { temporaryFolder } from '../support/cli.ts';
import { erase } from '../support/erasure.ts';
import { followToEnd } from '../support/log.ts';
import { TestWorkspace } from '../support/samples.ts';

const FAR = 1_800_000_000_000_000;
const STREAM = 'log-restores';

function restored(workspace: TestWorkspace) {
  return { ...workspace.event({ last_position: 0 }, 'LogRestored'), id: uuidv7() };
}

/** All that a log holds, in its order. */
async function placesOf(log: SqliteEventLog) {
  const batches = await followToEnd(log, { after: 0, erased: true });
  return batches.flatMap(inLogOrder);
}

/** A log and its copy, both open. */
async function copied(fill: (log: SqliteEventLog, workspace: TestWorkspace, path: string) => Promise<void>) {
  const folder = temporaryFolder();
  const workspace = new TestWorkspace();
  const path = join(folder, 'events.db');
  const log = await SqliteEventLog.open(path);
  await fill(log, workspace, path);
  const places = await placesOf(log);
  const identity = await log.identity();
  const copy = new SqliteLogCopy(join(folder, 'copy', 'events.db'), identity);
  for (let at = 0; at < places.length; at += 7) await copy.add(places.slice(at, at + 7).map(toCopied));
  await copy.finish(STREAM, restored(workspace), [{ after: await log.head(), position: FAR }]);
  await copy.close();
  return { log, workspace, places, copy: await SqliteEventLog.open(join(folder, 'copy', 'events.db')) };
}

test('a copy has the identity, the events, their texts, times and places, and what was erased or cannot be read', async () => {
  const { log, places, copy } = await copied(async (original, workspace, path) => {
    await workspace.appendMany(original, 30);
    const stream = workspace.stream();
    for (let version = 0; version < 3; version += 1) await workspace.append(original, stream);
    await erase(original, workspace, stream);
    await workspace.append(original, stream);
    const { position } = await workspace.append(original, workspace.stream());
    const db = new DatabaseSync(path);
    db.prepare("UPDATE events SET data = '{broken' WHERE position = ?").run(position);
    db.close();
    await workspace.append(original, workspace.stream());
  });
  expect(places.filter((place) => 'leaf' in place)).toHaveLength(3);
  expect(places.filter((place) => !('leaf' in place) && !('data' in place))).toHaveLength(1);
  const all = await placesOf(copy);
  expect(all.slice(0, -1)).toEqual(places);
  expect(all.at(-1)).toMatchObject({ stream: STREAM, revision: 0, type: 'LogRestored', position: FAR });
  expect(await copy.identity()).toBe(await log.identity());
  expect((await copy.removals(0)).streams).toHaveLength(1);
  await Promise.all([log.close(), copy.close()]);
});

test('a copy goes on behind a gap, whose positions are none of the log, and repeats of earlier appends change nothing', async () => {
  const { log, workspace, copy } = await copied(async (original, own) => {
    await own.appendMany(original, 30);
  });
  const last = await log.head();
  const event = workspace.event({ name: 'later' });
  const stream = workspace.stream();
  const { position } = await copy.append(stream, event, 'none');
  expect(position).toBe(FAR + 1);
  expect(await copy.append(stream, event, 'none')).toMatchObject({ position });
  expect(await copy.head()).toBe(position);
  const known = await Promise.all(
    [0, last, last + 1, FAR - 1, FAR, position, position + 1].map((one) => copy.hasPosition(one)),
  );
  expect(known).toEqual([true, true, false, false, true, true, false]);
  const before = [0, last, last + 1, FAR - 1, FAR, position, position + 1].map((one) => copy.lastBefore(one));
  expect(await Promise.all(before)).toEqual([
    ...[undefined, undefined, last, last, undefined, undefined, position],
  ]);
  const filter = { streamPrefixes: [`${workspace.prefix}`] };
  for (const after of [last - 1, last, FAR]) {
    const batches = await followToEnd(copy, { after, filter });
    expect(batches.flatMap(({ events }) => events).map((one) => one.position)).toEqual(
      after < last ? [last, position] : [position],
    );
    expect(batches.at(-1)?.position).toBe(position);
  }
  await expect(followToEnd(copy, { after: last + 1 })).rejects.toMatchObject({ code: 'validation_failed' });
  await Promise.all([log.close(), copy.close()]);
});
