import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { eventually } from '../support/eventually.ts';
import { Follower, followToEnd } from '../support/log.ts';
import { TestWorkspace } from '../support/samples.ts';

import { eventLogContract } from './contracts/eventLog.ts';

const folder = mkdtempSync(join(tmpdir(), 'chartledger-log-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('SQLite event log', () => {
  eventLogContract(
    () => openEventLog(`sqlite:${join(folder, 'contract.db')}`),
    (purging) => purging.purge(),
  );

  describe('on a file of its own', () => {
    let workspace: TestWorkspace;
    let path: string;
    let log: EventLog;
    beforeEach(async () => {
      workspace = new TestWorkspace();
      path = join(folder, workspace.id, 'events.db');
      log = await openEventLog(`sqlite:${path}`);
    });
    afterEach(() => log.close());

    test('an empty log has its head at 0 and a follower has caught up there', async () => {
      expect(await log.head()).toBe(0);
      expect(await followToEnd(log, { after: 0 })).toEqual([{ events: [], position: 0, caughtUp: true }]);
    });

    test('the head is the position of the last event', async () => {
      const { position } = await workspace.append(log, workspace.stream());
      expect(await log.head()).toBe(position);
    });

    /** A process that appends, what it printed as acknowledged, and its end by SIGKILL. */
    const startAppending = (stream: string) => {
      const script = join(import.meta.dirname, '../support/processes/appendingProcess.ts');
      const child: ChildProcess = spawn(process.execPath, [script, `sqlite:${path}`, stream]);
      let output = '';
      child.stdout?.on('data', (chunk) => {
        output += chunk;
      });
      const acknowledged = () =>
        output
          .split('\n')
          .slice(0, -1)
          .map((line) => line.split(' '))
          .map(([revision, id]) => ({ revision: Number(revision), id }));
      const kill = async () => {
        child.kill('SIGKILL');
        await once(child, 'close');
      };
      return { acknowledged, kill };
    };

    test('a process that is killed while it appends loses nothing that it acknowledged', async () => {
      const stream = workspace.stream();
      const acknowledged: { revision: number; id: string | undefined }[] = [];
      for (let kills = 0; kills < 3; kills += 1) {
        const child = startAppending(stream);
        await eventually(() => expect(child.acknowledged().length).toBeGreaterThan(100));
        await child.kill();
        acknowledged.push(...child.acknowledged());
      }
      const stored = await log.readStream(stream, { limit: 1_000_000 });
      expect(stored.map(({ revision }) => revision)).toEqual(stored.map((_, n) => n));
      for (const { revision, id } of acknowledged) expect(stored[revision]?.id).toBe(id);
      expect(new Set(acknowledged.map(({ revision }) => revision)).size).toBe(acknowledged.length);
      expect((await workspace.append(log, stream)).revision).toBe(stored.length);
    });

    test('what another process appends is followed, and counts for expectations', async () => {
      const stream = workspace.stream();
      const follower = new Follower(log, { after: 0 });
      await workspace.append(log, stream, {}, 'none');
      const child = startAppending(stream);
      await eventually(() => expect(follower.events.length).toBeGreaterThan(100));
      await expect(workspace.append(log, stream, {}, 0)).rejects.toMatchObject({ code: 'version_conflict' });
      await child.kill();
      const [last] = await log.readStream(stream, { direction: 'backwards', limit: 1 });
      const { revision } = await workspace.append(log, stream, {}, last?.revision ?? -1);
      await eventually(() => expect(follower.events.at(-1)?.revision).toBe(revision));
      expect(follower.events.map((event) => event.revision)).toEqual(follower.events.map((_, n) => n));
      const times = follower.events.map(({ recordedAt }) => recordedAt);
      expect(times).toEqual([...times].sort());
      await follower.stop();
    });

    test('events after one whose time another process wrote ahead have their own', async () => {
      const stream = workspace.stream();
      await workspace.append(log, stream);
      const other = new DatabaseSync(path);
      other.exec('UPDATE events SET recorded_at = recorded_at + 3600000');
      other.close();
      await workspace.append(log, stream);
      const [, second] = await log.readStream(stream, { limit: 2 });
      expect(Math.abs(Date.parse(second?.recordedAt ?? '') - Date.now())).toBeLessThan(600_000);
    });

    test('a file that cannot be read is unavailable, and followers wait for it', async () => {
      const stream = workspace.stream();
      await workspace.append(log, stream, { n: 0 });
      const follower = new Follower(log, { after: 0 });
      await eventually(() => expect(follower.caughtUp).toBe(true));
      const other = new DatabaseSync(path);
      other.exec('ALTER TABLE events RENAME TO hidden');
      const unavailable = { code: 'unavailable', retryAfterSeconds: 2 };
      await expect(log.readStream(stream, { limit: 1 })).rejects.toMatchObject(unavailable);
      await expect(log.head()).rejects.toMatchObject(unavailable);
      await expect(workspace.append(log, stream)).rejects.toMatchObject(unavailable);
      other.exec('ALTER TABLE hidden RENAME TO events');
      other.close();
      await workspace.append(log, stream, { n: 1 });
      await eventually(() => expect(follower.events.map(({ data }) => data)).toEqual([{ n: 0 }, { n: 1 }]));
      await follower.stop();
    });

    const ways = {
      deleted: (file: string) => rmSync(file),
      'deleted with what lies beside it': (file: string) => {
        for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
      },
      'left without its write-ahead log': (file: string) => rmSync(`${file}-wal`),
      'replaced by an older copy': (file: string) => {
        renameSync(`${file}.copy`, file);
      },
      moved: (file: string) => renameSync(file, `${file}.moved`),
    };
    test.each(Object.entries(ways))(
      'a file that was %s takes no event that a restart would not find',
      async (_way, act) => {
        await workspace.append(log, workspace.stream(), { n: 0 });
        const other = new DatabaseSync(path);
        other.exec(`VACUUM INTO '${path}.copy'`);
        other.close();
        await log.check();
        act(path);
        const stream = workspace.stream();
        const refused = {
          code: 'unavailable',
          problem: expect.stringMatching(/events\.db(-wal)? was deleted or replaced/),
        };
        await expect(workspace.append(log, stream)).rejects.toMatchObject(refused);
        await expect(log.check()).rejects.toMatchObject(refused);
        await expect(workspace.append(log, stream)).rejects.toMatchObject(refused);
        await log.close();
        const restarted = await openEventLog(`sqlite:${path}`);
        expect(await restarted.readStream(stream, { limit: 1 })).toEqual([]);
        await restarted.close();
      },
    );

    test('a file that is put back is gone on with', async () => {
      const stream = workspace.stream();
      await workspace.append(log, stream, { n: 0 });
      renameSync(path, `${path}.moved`);
      await expect(workspace.append(log, stream, { n: 1 })).rejects.toMatchObject({ code: 'unavailable' });
      await eventually(() => expect(log.head()).rejects.toMatchObject({ code: 'unavailable' }));
      renameSync(`${path}.moved`, path);
      await workspace.append(log, stream, { n: 2 });
      await log.check();
      expect((await log.readStream(stream, { limit: 5 })).map(({ data }) => data)).toEqual([
        { n: 0 },
        { n: 2 },
      ]);
    });

    test('a file that is gone before the first append is not made anew', async () => {
      rmSync(path);
      await expect(workspace.append(log, workspace.stream())).rejects.toMatchObject({ code: 'unavailable' });
      expect(existsSync(path)).toBe(false);
    });

    test('a file that another process holds locked is named, and is gone on with afterwards', async () => {
      const other = new DatabaseSync(path);
      other.exec('BEGIN IMMEDIATE');
      const locked = {
        code: 'unavailable',
        problem: expect.stringContaining('events.db is locked by another process'),
      };
      const stream = workspace.stream();
      await expect(workspace.append(log, stream)).rejects.toMatchObject(locked);
      await expect(log.check()).rejects.toMatchObject(locked);
      other.exec('ROLLBACK');
      other.close();
      await log.check();
      expect((await workspace.append(log, stream)).revision).toBe(0);
    });

    test('a damaged file is named, to readers, followers and checks', async () => {
      const stream = workspace.stream();
      for (let n = 0; n < 50; n += 1) await workspace.append(log, stream, { text: 'x'.repeat(10_000) });
      await log.close();
      const size = statSync(path).size;
      const file = openSync(path, 'r+');
      for (let page = 8; page * 4096 < size; page += 1)
        writeSync(file, Buffer.alloc(4096, 0xee), 0, 4096, page * 4096);
      closeSync(file);
      log = await openEventLog(`sqlite:${path}`);
      const damaged = { code: 'unavailable', problem: expect.stringContaining('events.db is damaged') };
      await expect(followToEnd(log, { after: 0 })).rejects.toMatchObject(damaged);
      await expect(log.readStream(stream, { limit: 100 })).rejects.toMatchObject(damaged);
      await expect(log.check()).rejects.toMatchObject(damaged);
    });

    test('a read that meets damaged bytes is refused; one that does not is served', async () => {
      const stream = workspace.stream();
      for (let n = 0; n < 3; n++) await workspace.append(log, stream, { n });
      const other = new DatabaseSync(path);
      other.exec("UPDATE events SET data = '{' WHERE revision = 1");
      other.close();
      const unreadable = { code: 'internal', retryAfterSeconds: undefined };
      await expect(log.readStream(stream, { limit: 3 })).rejects.toMatchObject(unreadable);
      await expect(log.readStream(stream, { from: 1, limit: 1 })).rejects.toMatchObject(unreadable);
      expect(await log.readStream(stream, { limit: 1 })).toMatchObject([{ data: { n: 0 } }]);
      expect(await log.readStream(stream, { direction: 'backwards', limit: 1 })).toMatchObject([
        { data: { n: 2 } },
      ]);
    });

    test('a file that cannot be opened for appending is unavailable until it can', async () => {
      const [here, away] = [dirname(path), `${dirname(path)}-away`];
      renameSync(here, away);
      await expect(workspace.append(log, workspace.stream())).rejects.toMatchObject({ code: 'unavailable' });
      renameSync(away, here);
      expect((await workspace.append(log, workspace.stream())).revision).toBe(0);
    });
  });
});
