import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

import { choices } from '../support/choices.ts';
import { appendTombstones, erase } from '../support/erasure.ts';
import { canMount, SmallDisk } from '../support/files.ts';
import { TestWorkspace } from '../support/samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'chartledger-erasure-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const choose = choices(1);
const onSmallDisk = canMount() ? test : test.skip;

/** Every text of the form `secret-…!` in any file of a folder. */
function secretsIn(path: string): Set<string> {
  const files = readdirSync(path).map((name) => readFileSync(join(path, name), 'latin1'));
  return new Set(files.flatMap((text) => text.match(/secret-\w+!/g) ?? []));
}

describe('erasure in SQLite', () => {
  let workspace: TestWorkspace;
  let path: string;
  let log: EventLog;
  beforeEach(async () => {
    workspace = new TestWorkspace();
    path = join(folder, workspace.id, 'events.db');
    log = await openEventLog(`sqlite:${path}`);
  });
  afterEach(() => log.close());

  const secrets = () => secretsIn(dirname(path));

  test.each([20, 3_000, 300_000])(
    'after the purge no byte of erased events of up to %s characters is in any file',
    async (length) => {
      const streams = Array.from({ length: 8 }, () => workspace.stream());
      for (let n = 0; n < 80; n += 1) {
        const secret = `secret-${n}!`;
        const data = { text: secret.repeat(1 + choose(Math.ceil(length / secret.length))) };
        await workspace.append(log, streams[n % 8] as string, data);
      }
      const kept = Array.from({ length: 80 }, (_, n) => n);
      for (const [at, stream] of streams.slice(0, 7).entries()) {
        expect(secrets()).toEqual(new Set(kept.filter((n) => n % 8 >= at).map((n) => `secret-${n}!`)));
        await erase(log, workspace, stream);
        await log.purge();
      }
      expect(secrets()).toEqual(new Set(kept.filter((n) => n % 8 === 7).map((n) => `secret-${n}!`)));
    },
  );

  test('erasing time and again, among events that stay and come, leaves nothing of any of them', async () => {
    const erasedSecrets = new Set<string>();
    const live = new Map<string, string[]>();
    for (let round = 0; round < 20; round += 1) {
      const streams = Array.from({ length: 20 }, () => workspace.stream());
      await Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          const stream = streams[n % 20] as string;
          const secret = `secret-${round}_${n}!`;
          await workspace.append(log, stream, { text: secret.repeat(1 + choose(60)) });
          live.set(stream, [...(live.get(stream) ?? []), secret]);
        }),
      );
      for (const [stream, texts] of [...live].filter(() => choose(10) < 3)) {
        await erase(log, workspace, stream);
        live.delete(stream);
        for (const text of texts) erasedSecrets.add(text);
      }
    }
    await log.purge();
    expect(erasedSecrets.size).toBeGreaterThan(500);
    expect([...secrets()].filter((text) => erasedSecrets.has(text))).toEqual([]);
    expect(secrets()).toEqual(new Set([...live.values()].flat()));
  });

  test('what a killed process erased, and did not purge, another one purges', async () => {
    const script = join(import.meta.dirname, '../support/processes/erasingProcess.ts');
    const child = spawn(process.execPath, [script, `sqlite:${path}`, '60', 'secret-killed!']);
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(secrets()).toEqual(new Set(['secret-killed!']));
    const other = await openEventLog(`sqlite:${path}`);
    await other.purge();
    await other.close();
    expect(secrets()).toEqual(new Set());
  });

  test('while a reader holds the file nothing is said to be purged, and appends go on', async () => {
    const stream = workspace.stream();
    await workspace.append(log, stream, { text: 'secret-read!' });
    const reader = new DatabaseSync(path);
    reader.exec('BEGIN; SELECT count(*) FROM events');
    await erase(log, workspace, stream);
    const purging = log.purge();
    await workspace.appendMany(log, 50);
    await expect(purging).rejects.toMatchObject({ code: 'unavailable' });
    expect(secrets()).toEqual(new Set(['secret-read!']));
    reader.exec('COMMIT');
    reader.close();
    await log.purge();
    expect(secrets()).toEqual(new Set());
  });

  test('appends that wait meanwhile are in their places', async () => {
    const streams = Array.from({ length: 5 }, () => workspace.stream());
    await workspace.appendMany(log, 500, streams);
    const removals = await Promise.all(streams.map((stream) => appendTombstones(log, workspace, stream)));
    const places = workspace.appendMany(log, 1_000, streams);
    await Promise.all(removals.map((removal) => log.erase(...removal)));
    await places;
    for (const stream of streams) {
      const revisions = (await log.readStream(stream, { limit: 1_000 })).map(({ revision }) => revision);
      expect(revisions).toEqual(Array.from({ length: 201 }, (_, n) => 100 + n));
    }
  });

  test('a removal that names an event at another place is refused, and removes none', async () => {
    const stream = workspace.stream();
    await workspace.appendMany(log, 3, [stream]);
    const [, before, erased] = await appendTombstones(log, workspace, stream);
    const events = await log.readStream(stream, { limit: 10 });
    const misplaced = erased.map((event) => ({ ...event, position: event.position + 10 }));
    await expect(log.erase(stream, before, misplaced)).rejects.toThrow('not among those named');
    expect(await log.readStream(stream, { limit: 10 })).toEqual(events);
    await log.check();
  });

  /** A file as the service made it before it erased anything, whose first page of events has overflowed. */
  const oldFile = (at: string, streams: string[]) => {
    mkdirSync(dirname(at), { recursive: true });
    const db = new DatabaseSync(at);
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA secure_delete = OFF;
      CREATE TABLE log (only INTEGER PRIMARY KEY CHECK (only = 1), identity TEXT NOT NULL);
      CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
      CREATE TABLE events (position INTEGER PRIMARY KEY, stream_id INTEGER NOT NULL, revision INTEGER NOT NULL,
        event_id BLOB NOT NULL, type TEXT NOT NULL, recorded_at INTEGER NOT NULL, metadata TEXT NOT NULL,
        data TEXT NOT NULL);
      INSERT INTO log VALUES (1, 'b7b2f8a8-1d0c-4f0e-9f66-0a9d1f3c2e11');`);
    const addStream = db.prepare('INSERT INTO streams (id, name) VALUES (?, ?)');
    const add = db.prepare(
      "INSERT INTO events VALUES (NULL, ?, 0, unhex(replace(?, '-', '')), ?, 1700000000000, ?, ?)",
    );
    for (const [id, stream] of streams.entries()) {
      const event = workspace.event({ text: `secret-${id}!`.repeat(30) });
      addStream.run(id, stream);
      add.run(id, event.id, event.type, JSON.stringify(event.metadata), JSON.stringify(event.data));
    }
    db.close();
  };
  const allSecrets = (streams: string[]) => new Set(streams.map((_, n) => `secret-${n}!`));
  const isToBeRewritten = (at: string) => {
    const db = new DatabaseSync(at, { readOnly: true });
    const found = db.prepare('SELECT 1 FROM unclean_pages').get();
    db.close();
    return found !== undefined;
  };

  test('a file that was made without care for what is moved within it is rewritten by the first purge', async () => {
    const streams = Array.from({ length: 40 }, () => workspace.stream());
    path = join(dirname(path), 'old', 'events.db');
    oldFile(path, streams);
    const old = await openEventLog(`sqlite:${path}`);
    for (const stream of streams) await erase(old, workspace, stream);
    expect(secrets()).toEqual(allSecrets(streams));
    expect(isToBeRewritten(path)).toBe(true);
    await old.purge();
    expect(secrets()).toEqual(new Set());
    expect(isToBeRewritten(path)).toBe(false);
    expect(await old.readStream(streams[0] as string, { limit: 10 })).toMatchObject([{ revision: 1 }]);
    await old.close();
  });

  onSmallDisk('where it cannot be rewritten the purge says why, and all else goes on', async () => {
    const disk = new SmallDisk('20m');
    try {
      const streams = Array.from({ length: 300 }, () => workspace.stream());
      path = join(disk.path, 'events.db');
      oldFile(path, streams);
      disk.resize(String(statSync(path).size + 150_000));
      const old = await openEventLog(`sqlite:${path}`);
      await erase(old, workspace, streams[0] as string);
      await expect(old.purge()).rejects.toMatchObject({
        code: 'unavailable',
        problem: expect.stringContaining('events.db cannot grow: its disk or quota is full'),
      });
      await workspace.append(old, workspace.stream());
      disk.resize('20m');
      await old.purge();
      expect(secrets()).toEqual(new Set([...allSecrets(streams)].filter((secret) => secret !== 'secret-0!')));
      await old.close();
    } finally {
      disk.remove();
    }
  });
});
