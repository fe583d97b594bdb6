import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openEventLog } from '../../src/server/openStorage.ts';
import type { EventLog, WriterLink } from '../../src/storage/eventLog.ts';
import { TestWorkspace } from '../support/samples.ts';
import { eventLogAppends } from './contracts/eventLogAppends.ts';

const STREAMS = 300;

const folder = mkdtempSync(join(tmpdir(), 'chartledger-linked-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const urlOf = (name: string) => `sqlite:${join(folder, name, 'events.db')}`;
const linkOf = (owner: EventLog) => () => owner.linkWriter?.() as Promise<WriterLink>;

describe("SQLite event log that appends through another one's writer", () => {
  describe('on one file', () => {
    let owner: EventLog;
    beforeAll(async () => {
      owner = await openEventLog(urlOf('contract'));
    });
    afterAll(() => owner.close());

    eventLogAppends(() => openEventLog(urlOf('contract'), { linkWriter: linkOf(owner) }));
  });

  describe('beside that one', () => {
    const workspace = new TestWorkspace();
    let owner: EventLog;
    let linked: EventLog[];
    beforeEach(async () => {
      const url = urlOf(workspace.stream());
      owner = await openEventLog(url);
      const open = () => openEventLog(url, { linkWriter: linkOf(owner) });
      linked = [await open(), await open()];
    });
    afterEach(async () => {
      for (const log of [...linked, owner]) await log.close();
    });

    test('appends that share commits are each told what became of them', async () => {
      const logs = [owner, ...linked];
      const streams = Array.from({ length: STREAMS }, () => workspace.stream());
      const appended = await Promise.all(
        logs.map((log, index) =>
          Promise.allSettled(streams.map((stream) => workspace.append(log, stream, { index }, 'none'))),
        ),
      );
      for (const [at, stream] of streams.entries()) {
        const winners = logs
          .map((_, index) => index)
          .filter((index) => appended[index]?.[at]?.status === 'fulfilled');
        const events = await owner.readStream(stream, { limit: 10 });
        expect(events.map(({ data }) => data.index)).toEqual(winners);
        expect(winners).toHaveLength(1);
      }
      const losers = appended.flat().filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
      expect(losers).toHaveLength(2 * STREAMS);
      expect(new Set(losers.map(({ reason }) => reason.code))).toEqual(new Set(['version_conflict']));
    });

    test('one that closes leaves the others theirs', async () => {
      const [first, second] = linked as [EventLog, EventLog];
      for (const log of linked) await workspace.append(log, workspace.stream());
      await first.close();
      expect((await workspace.append(second, workspace.stream())).revision).toBe(0);
      expect((await workspace.append(owner, workspace.stream())).revision).toBe(0);
    });

    test('groups that wait for a writer that does not answer are limited in number', async () => {
      const { port1: port, port2: writer } = new MessageChannel();
      const answers = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      let sent = 0;
      writer.on('message', () => {
        sent += 1;
      });
      const stuck = await openEventLog(urlOf('contract'), { linkWriter: async () => ({ port, answers }) });
      const stream = workspace.stream();
      const group = Array.from({ length: 5_000 }, () => ({
        stream,
        event: workspace.event({}),
        expected: 'any' as const,
      }));
      const away = expect.objectContaining({ code: 'unavailable' });
      expect(new Set(await stuck.appendEach(group))).toEqual(new Set([away]));
      const waiting = [1, 2, 3].map(() => stuck.appendEach(group).then(() => 'waited'));
      expect(await Promise.race([stuck.appendEach(group), ...waiting])).toContainEqual(away);
      await Promise.all(waiting);
      expect(sent).toBe(4);
      writer.close();
      await stuck.close();
    });

    test('appends are refused when the writer is gone', async () => {
      const [log] = linked as [EventLog];
      await workspace.append(log, workspace.stream());
      await owner.close();
      await expect(workspace.append(log, workspace.stream())).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
});
