import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SqliteLeases } from '../../src/storage/engines/sqlite/leases.ts';
import { SqliteStateStore } from '../../src/storage/engines/sqlite/stateStore.ts';
import { SqliteStateThread } from '../../src/storage/engines/sqlite/stateThread.ts';
import { eventually } from '../support/eventually.ts';
import { fullDiskContract } from './contracts/fullDisk.ts';
import { leasesContract } from './contracts/leases.ts';
import { stateStoreContract } from './contracts/stateStore.ts';

const folder = mkdtempSync(join(tmpdir(), 'chartledger-state-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, 'contract', 'state.db');
describe('SqliteStateStore', () => stateStoreContract(async () => new SqliteStateStore(path)));
fullDiskContract(async (full) => new SqliteStateStore(join(full, 'state.db')));
describe('SqliteStateThread', () => stateStoreContract(async () => new SqliteStateThread(path)));
describe('SqliteLeases', () => leasesContract(async () => new SqliteLeases(path)));

test('a file that is deleted or moved is not created again; once it is put back, all goes on', async () => {
  const deleted = join(folder, 'deleted', 'state.db');
  const table = { name: 'table_v1', body: z.object({ at: z.number() }) };
  const row = (revision: number) => ({ id: 'a', partition: 'p', order: 1, revision, body: { at: revision } });
  const store = new SqliteStateStore(deleted);
  const leases = new SqliteLeases(deleted);
  await store.save(table, [row(1)]);
  renameSync(dirname(deleted), join(folder, 'aside'));
  const away = {
    code: 'unavailable',
    problem: expect.stringContaining(`${deleted} was deleted or replaced`),
  };
  await expect(store.swap(table, row(2), 1)).rejects.toMatchObject(away);
  await expect(leases.acquire('lease', 'a', 60_000)).rejects.toMatchObject(away);
  expect(existsSync(deleted)).toBe(false);
  renameSync(join(folder, 'aside'), dirname(deleted));
  expect(await store.swap(table, row(2), 1)).toBe(true);
  expect(await leases.acquire('lease', 'a', 60_000)).toBe(true);
  expect(await store.load(table, ['a'])).toEqual([row(2)]);
  await Promise.all([store.close(), leases.close()]);
});

test('a write that the file lets wait holds up nobody else', async () => {
  const held = join(folder, 'held', 'state.db');
  const table = { name: 'table_v1', body: z.object({ at: z.number() }) };
  const row = { id: 'a', partition: 'p', order: 1, revision: 1, body: { at: 1 } };
  const store = new SqliteStateThread(held);
  await store.check();
  const other = new DatabaseSync(held);
  other.exec('BEGIN IMMEDIATE');
  const writing = store.save(table, [row]);
  // Had the write held up this thread, it could not be let go on.
  other.exec('ROLLBACK');
  await writing;
  expect(await store.load(table, ['a'])).toEqual([row]);
  other.close();
  await store.close();
});

test('calls that wait for the file are limited in number; those beyond it are refused at once', async () => {
  const held = join(folder, 'limited', 'state.db');
  const table = { name: 'table_v1', body: z.object({ at: z.number() }) };
  const row = { id: 'a', partition: 'p', order: 1, revision: 1, body: { at: 1 } };
  const store = new SqliteStateThread(held);
  await store.check();
  const other = new DatabaseSync(held);
  other.exec('BEGIN IMMEDIATE');
  const waiting = Array.from({ length: 10_000 }, () => store.save(table, [row]).catch(() => 'given up'));
  await expect(Promise.race([store.save(table, [row]), waiting[0]])).rejects.toMatchObject({
    code: 'unavailable',
  });
  other.exec('ROLLBACK');
  other.close();
  await Promise.all(waiting);
  await eventually(() => store.save(table, [row]));
  await store.close();
});

test('a row without a checksum, as earlier versions wrote it, is taken; one whose text was changed is not', async () => {
  const damaged = join(folder, 'checksums', 'state.db');
  const table = { name: 'table_v1', body: z.object({ at: z.number() }) };
  const row = (id: string) => ({ id, partition: 'p', order: 1, revision: 1, body: { at: 1 } });
  const store = new SqliteStateStore(damaged);
  await store.save(table, [row('a'), row('b')]);
  const db = new DatabaseSync(damaged);
  db.prepare('UPDATE state_table_v1 SET body = ? WHERE id = ?').run('{"at":1}', 'a');
  db.exec(`UPDATE state_table_v1 SET body = replace(body, '"at":1', '"at":2') WHERE id = 'b'`);
  db.close();
  expect(await store.load(table, ['a'])).toEqual([row('a')]);
  await expect(store.load(table, ['b'])).rejects.toMatchObject({ code: 'unavailable' });
  await store.close();
});
