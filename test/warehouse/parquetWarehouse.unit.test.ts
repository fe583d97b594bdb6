import { cpSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ParquetWarehouse } from '../../src/storage/engines/filesystem/parquetWarehouse.ts';
import { lockFolder } from '../../src/storage/engines/sqlite/folderLock.ts';
import type { Table, TableChanges, TableRow } from '../../src/storage/warehouse.ts';
import { choices } from '../support/choices.ts';
import { temporaryFolder } from '../support/cli.ts';
import { filesIn, tableIn } from '../support/warehouse.ts';

const log: Table = {
  name: 'versions',
  type: 'log',
  columns: [
    { name: 'position', type: 'bigint' },
    { name: 'recorded_at', type: 'timestamp' },
    { name: 'name', type: 'text' },
  ],
};
const current: Table = {
  name: 'records',
  type: 'current',
  columns: [
    { name: 'id', type: 'text' },
    { name: 'name', type: 'text' },
    { name: 'active', type: 'boolean' },
    { name: 'version', type: 'integer' },
  ],
};
const tables = [current, log];
const origin = { log: 'log-1', workspace: 'clinic', view: 'full', schema: 'one' };

const HOUR_MS = 3_600_000;
const idOf = (position: number) => `record-${(position * 7919) % 500}`;
const versionAt = (position: number): TableRow => [
  BigInt(position),
  new Date(Date.UTC(2026, 0, 1) + Math.floor(position / 60) * HOUR_MS),
  `name ${position}`,
];

/** The changes by the events of a range, without those of positions that are gone; they remove these from before the range, too. */
function changesOf(from: number, to: number, gone: ReadonlySet<number> = new Set()) {
  const versions: TableChanges = new Map();
  const records: TableChanges = new Map();
  for (let position = from; position <= to; position += 1) {
    versions.set(BigInt(position), gone.has(position) ? null : versionAt(position));
    records.set(idOf(position), [idOf(position), `name ${position}`, position % 2 === 0, position]);
  }
  for (const position of gone) versions.set(BigInt(position), null);
  return new Map([
    ['versions', versions],
    ['records', records],
  ]);
}

async function open(folder: string): Promise<ParquetWarehouse> {
  const warehouse = await ParquetWarehouse.open(folder, lockFolder);
  if (warehouse === undefined) throw new Error('it is open elsewhere');
  return warehouse;
}

/** Opens the folder, commits, and closes it. */
async function commit(folder: string, changes: Map<string, TableChanges>, position: number): Promise<void> {
  const warehouse = await open(folder);
  await warehouse.commit(tables, changes, { ...origin, position });
  await warehouse.close();
}

test('segments and months are those of the positions, whatever the commits, and removed rows leave nothing', async () => {
  const gone = new Set([5, 49_999, 50_000, 50_001, 54_000]);
  const [steps, whole] = [temporaryFolder(), temporaryFolder()];
  await commit(steps, changesOf(1, 30_000), 30_000);
  await commit(steps, changesOf(30_001, 53_000), 53_000);
  const sealed = [...filesIn(steps).keys()].filter((path) => path.includes('month=2026-01/'));
  await commit(steps, changesOf(53_001, 56_000, gone), 56_000);
  await commit(whole, changesOf(1, 56_000, gone), 56_000);
  const files = filesIn(steps);
  expect([...files.keys()]).toEqual([...filesIn(whole).keys()]);
  expect(files).toEqual(filesIn(whole));
  expect(sealed).toHaveLength(1);
  const paths = [...files.keys()].filter((path) => path.startsWith('versions/'));
  expect(paths).toEqual([
    expect.stringMatching(
      /^versions\/month=2026-01\/0000000000000001-0000000000044639-[0-9a-f]{16}\.parquet$/,
    ),
    expect.stringMatching(
      /^versions\/month=2026-02\/0000000000044640-0000000000049998-[0-9a-f]{16}\.parquet$/,
    ),
    expect.stringMatching(
      /^versions\/month=2026-02\/0000000000050002-0000000000056000-[0-9a-f]{16}\.parquet$/,
    ),
  ]);
  const rows = await tableIn(steps, 'versions');
  expect(rows).toHaveLength(56_000 - gone.size);
  expect(rows[4]).toEqual({ position: 6n, recorded_at: versionAt(6)[1], name: 'name 6' });
  const records = await tableIn(steps, 'records');
  const ids = records.map(({ id }) => String(id));
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(records).toHaveLength(500);
});

test('a commit that is cut off is undone before its manifest is there, and completed afterwards', async () => {
  const [before, after] = [temporaryFolder(), temporaryFolder()];
  await commit(before, changesOf(1, 300), 300);
  cpSync(before, after, { recursive: true });
  const removed: TableChanges = new Map([[idOf(7), null]]);
  const changes = changesOf(301, 400, new Set([7])).set('records', removed);
  await commit(after, changes, 400);
  expect(filesIn(after)).not.toEqual(filesIn(before));
  expect((await tableIn(after, 'records')).map(({ id }) => id)).not.toContain(idOf(7));

  /** A folder with the files from before, and those from after as they are until they are published. */
  function cutOff(manifest: string): string {
    const folder = temporaryFolder();
    cpSync(before, folder, { recursive: true });
    for (const path of filesIn(after).keys()) {
      const draft = join(folder, '_new', path);
      mkdirSync(dirname(draft), { recursive: true });
      if (!existsSync(join(before, path))) cpSync(join(after, path), draft);
    }
    cpSync(join(after, 'manifest.json'), join(folder, manifest));
    return folder;
  }
  const undone = cutOff('_new/manifest.json');
  const reopened = await open(undone);
  expect(await reopened.state()).toMatchObject({ position: 300 });
  expect(filesIn(undone)).toEqual(filesIn(before));
  expect(await ParquetWarehouse.open(undone, lockFolder)).toBeUndefined();
  await reopened.close();
  await commit(undone, changes, 400);
  expect(filesIn(undone)).toEqual(filesIn(after));

  const completed = cutOff('manifest.json');
  expect(await (await open(completed)).state()).toMatchObject({ ...origin, position: 400 });
  expect(filesIn(completed)).toEqual(filesIn(after));
  expect(readFileSync(join(completed, 'manifest.json'))).toEqual(readFileSync(join(after, 'manifest.json')));

  const [missing = ''] = filesIn(after).keys();
  renameSync(join(after, missing), join(after, 'elsewhere'));
  await expect(open(after)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(`${missing} is missing`),
  });
});

const recordAt = (id: string, version: number): TableRow => [id, `name ${id} ${version}`, null, version];

test('which records share a file follows from their ids, whatever the commits, and a change rewrites one file', async () => {
  const ids = Array.from({ length: 4_000 }, (_, index) => `record-${(index * 7919) % 4_000}`);
  const [steps, whole] = [temporaryFolder(), temporaryFolder()];
  const present = new Map<string, TableRow>();
  let position = 0;
  const step = async (changes: TableChanges) => {
    for (const [id, row] of changes) {
      if (row === null) present.delete(String(id));
      else present.set(String(id), row);
    }
    position += 1;
    await commit(steps, new Map([['records', changes]]), position);
  };
  const choose = choices(47);
  for (let from = 0; from < ids.length; from += 1_000) {
    await step(new Map(ids.slice(from, from + 1_000).map((id) => [id, recordAt(id, 1)])));
    const picked = Array.from({ length: 100 }, () => ids[choose(from + 1_000)] as string);
    await step(new Map(picked.map((id) => [id, choose(2) === 0 ? null : recordAt(id, position)])));
  }
  // Those at which files begin among them.
  await step(new Map([...present.keys()].slice(0, 3_000).map((id) => [id, null])));
  await step(new Map(ids.map((id) => [id, recordAt(id, 2)])));
  await commit(whole, new Map([['records', new Map(present)]]), position);
  const files = filesIn(steps);
  expect(files).toEqual(filesIn(whole));
  expect(files.size).toBeGreaterThan(3);
  expect((await tableIn(steps, 'records')).map(({ id }) => id)).toEqual(ids.toSorted());
  await step(new Map([[ids[5] as string, recordAt(ids[5] as string, 3)]]));
  expect([...filesIn(steps).keys()].filter((path) => !files.has(path))).toHaveLength(1);
});
