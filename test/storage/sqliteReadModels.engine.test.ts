import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SqliteReadModels } from '../../src/storage/engines/sqlite/readModels.ts';
import { eventually, idsWithRow } from '../support/eventually.ts';

import { readModelsContract } from './contracts/readModels.ts';

const folder = mkdtempSync(join(tmpdir(), 'chartledger-read-models-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('SqliteReadModels', () => {
  readModelsContract(async () => new SqliteReadModels(join(folder, 'contract', 'read-models.db')));
});

const row = (id: string, position: number) => ({
  id,
  partition: 'p',
  order: position,
  position,
  body: { id },
});

describe('when the file is deleted under it', () => {
  let path: string;
  let writer: SqliteReadModels;
  let reader: SqliteReadModels;
  let files = 0;
  beforeEach(() => {
    path = join(folder, `deleted-${files++}`, 'read-models.db');
    writer = new SqliteReadModels(path);
    reader = new SqliteReadModels(path);
  });
  afterEach(() => Promise.all([writer.close(), reader.close()]));

  const deletions = {
    'the file alone': () => rmSync(path),
    'the file and those beside it': () => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix);
    },
  };
  test.each(Object.entries(deletions))('%s: every read model is written again', async (_what, remove) => {
    await writer.write({ model: 'a_v1', rows: [row('a', 5)], checkpoint: 5 });
    await writer.write({ model: 'b_v1', rows: [row('b', 5)], checkpoint: 5 });
    await idsWithRow(reader, 'a_v1', ['a']);
    remove();

    const refused = { code: 'conflict' };
    await expect(writer.write({ model: 'a_v1', rows: [row('c', 6)], checkpoint: 6 })).rejects.toMatchObject(
      refused,
    );
    await expect(writer.write({ model: 'b_v1', rows: [row('c', 6)], checkpoint: 6 })).rejects.toMatchObject(
      refused,
    );
    for (const model of ['a_v1', 'b_v1']) {
      expect(await writer.checkpoint(model)).toBe(0);
      await writer.write({ model, rows: [row('a', 5), row('c', 6)], checkpoint: 6 });
    }
    await eventually(async () => expect(await reader.checkpoint('b_v1')).toBe(6));
    expect(await idsWithRow(reader, 'a_v1', ['a', 'b', 'c'])).toEqual(new Set(['a', 'c']));
  });

  test('a reader notices by itself', async () => {
    await writer.write({ model: 'a_v1', rows: [row('a', 5)], checkpoint: 5 });
    expect(await reader.checkpoint('a_v1')).toBe(5);
    rmSync(path);
    await eventually(async () => expect(await reader.checkpoint('a_v1')).toBe(0));
  });

  test('not where its folder was moved away: it goes on once that is back', async () => {
    await writer.write({ model: 'a_v1', rows: [row('a', 5)], checkpoint: 5 });
    const [before, aside] = [dirname(path), join(folder, 'aside')];
    renameSync(before, aside);
    const away = { code: 'unavailable', problem: expect.stringContaining('was deleted or replaced') };
    const write = () => writer.write({ model: 'a_v1', rows: [row('b', 6)], checkpoint: 6 });
    await expect(write()).rejects.toMatchObject(away);
    mkdirSync(before);
    await expect(write()).rejects.toMatchObject(away);
    await eventually(() => expect(idsWithRow(reader, 'a_v1', ['a'])).rejects.toMatchObject(away));
    expect(readdirSync(before)).toEqual([]);
    rmdirSync(before);
    renameSync(aside, before);
    await write();
    expect(await idsWithRow(reader, 'a_v1', ['a', 'b'])).toEqual(new Set(['a', 'b']));
  });
});

test('a file that is no database is unavailable, and not written to', async () => {
  const path = join(folder, 'garbage.db');
  writeFileSync(
    path,
    'this is no database at all, and long enough to have a header of one hundred bytes: '.repeat(4),
  );
  expect(() => new SqliteReadModels(path)).toThrow(
    expect.objectContaining({
      code: 'unavailable',
      problem: `${path} is damaged. Stop the service and delete the file: the next start rebuilds it from the event log.`,
    }),
  );
});

test('terms that were removed are in no file after a purge', async () => {
  const path = join(folder, 'purged', 'read-models.db');
  const store = new SqliteReadModels(path);
  const term = (at: number) => `quetzalcoatl${String(at).padStart(5, '0')}`;
  const searched = (at: number, position = at) => ({
    ...row(`r${at}`, position),
    search: { terms: [term(at)], since: position },
  });
  const rows = Array.from({ length: 3_000 }, (_, at) => searched(at));
  await store.write({ model: 'a_v1', rows, checkpoint: 3_000 });
  const isGone = (at: number) => at % 3 > 0;
  const emptied = rows.flatMap(({ search: _search, ...rest }, at) =>
    isGone(at) ? [{ ...rest, position: 3_000 + at, body: {} }] : [],
  );
  await store.write({ model: 'a_v1', rows: emptied, checkpoint: 6_000 });
  await store.purge();
  const files = ['', '-wal'].map((suffix) => readFileSync(path + suffix, 'latin1')).join();
  for (const [at] of rows.entries()) {
    const found = await store.search('a_v1', { partitions: ['p'], words: [[{ term: term(at) }]], limit: 2 });
    expect([at, found.length]).toEqual([at, isGone(at) ? 0 : 1]);
    if (isGone(at)) expect([at, files.includes(term(at))]).toEqual([at, false]);
  }
  await store.close();
});

test('a purge holds nobody up: what is written and read meanwhile is there, in all processes', async () => {
  const path = join(folder, 'held-up', 'read-models.db');
  const [store, other] = [new SqliteReadModels(path), new SqliteReadModels(path)];
  const named = (at: number, name: string) => ({ ...row(`r${at}`, at), body: { name: name.repeat(30) } });
  const rows = Array.from({ length: 5_000 }, (_, at) => named(at, `secret-${at % 2}`));
  await store.write({ model: 'a_v1', rows, checkpoint: 5_000 });
  const emptied = rows.flatMap((one, at) =>
    at % 2 === 1 ? [{ ...one, position: 5_000 + at, body: {} }] : [],
  );
  await store.write({ model: 'a_v1', rows: emptied, checkpoint: 10_000 });
  let isPurged = false;
  const purging = store.purge().then(() => {
    isPurged = true;
  });
  let written = 0;
  while (!isPurged) {
    await other.write({ model: 'b_v1', rows: [row(`n${written}`, written)], checkpoint: written });
    expect(await store.load('a_v1', ['r2'])).toHaveLength(1);
    written += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await purging;
  expect(written).toBeGreaterThan(1);
  expect(await store.count('b_v1')).toBe(written);
  const files = ['', '-wal'].map((suffix) => readFileSync(path + suffix, 'latin1')).join();
  expect(files).not.toContain('secret-1');
  expect(files).toContain('secret-0');
  const db = new DatabaseSync(path);
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  db.close();
  await Promise.all([store.close(), other.close()]);
});

test('a read after the store was closed finds it unavailable', async () => {
  const store = new SqliteReadModels(join(folder, 'closed', 'read-models.db'));
  await store.write({ model: 'a_v1', rows: [row('a', 1)], checkpoint: 1 });
  await store.close();
  await expect(store.load('a_v1', ['a'])).rejects.toMatchObject({ code: 'unavailable' });
  await expect(store.checkpoint('a_v1')).rejects.toMatchObject({ code: 'unavailable' });
});

test('a row whose text was changed is not returned, with or without its checksum', async () => {
  const path = join(folder, 'checksums', 'read-models.db');
  const models = new SqliteReadModels(path);
  await models.write({ model: 'a_v1', rows: [row('a', 5), row('b', 6)], checkpoint: 6 });
  const db = new DatabaseSync(path);
  db.prepare('UPDATE "model_a_v1" SET body = ? WHERE id = ?').run('{"id":"a"}', 'a');
  db.exec(`UPDATE "model_a_v1" SET body = replace(body, '"b"', '"c"') WHERE id = 'b'`);
  db.close();
  for (const id of ['a', 'b'])
    await expect(models.load('a_v1', [id])).rejects.toMatchObject({
      code: 'unavailable',
      problem: expect.stringContaining(`${path} is damaged`),
    });
  await expect(models.page('a_v1', { partition: 'p', limit: 2 })).rejects.toMatchObject({
    code: 'unavailable',
  });
  await models.close();
});
