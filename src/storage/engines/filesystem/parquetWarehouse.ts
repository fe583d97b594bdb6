import { hash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError, unavailableError } from '../../../platform/errors.ts';
import type {
  FolderLock,
  Table,
  TableChanges,
  TableRow,
  Warehouse,
  WarehouseState,
} from '../../warehouse.ts';
import { fileProblem } from '../shared.ts';
import { makeFolder, moveDurably } from './files.ts';
import { readRows, writeRows } from './parquetFile.ts';

const MANIFEST = 'manifest.json';
/** New files until they replace earlier ones. A query that names the folder of a table does not find them. */
const NEW = '_new';
/** Events of a `log` table that share files, one for each month. */
const SEGMENT_EVENTS = 50_000;
/** Rows of a `current` table that share a file, on average. */
const FILE_ROWS = 500;
const DIGITS = 16;
const DIGEST_LENGTH = 16;

/** A file of a table, by its path below the folder. */
interface TableFile {
  path: string;
  rows: number;
  /** Of a `current` table: its first key. It has all keys from there on, before that of the next file. */
  first?: string;
  /** Of a `log` table: the segment, counted from 0, and the first and last position. */
  segment?: number;
  from?: number;
  to?: number;
}

/** The files that a table consists of. */
interface TableFiles {
  /** How many events a `log` table has had, with those that have no row. */
  events?: number;
  files: TableFile[];
}

interface Manifest extends WarehouseState {
  tables: Record<string, TableFiles>;
}

/**
 * A warehouse of Parquet files in a folder. The manifest, which is replaced by renaming, says which files there are; files are never
 * changed. The rows of a `current` table are ordered by key, and a key begins a file if its hash says so: which rows share a file follows
 * from the keys that there are, and a change rewrites the file that it belongs to. Those of a `log` table are in segments of 50,000 events each,
 * in folders by month, so that only the last segment grows; a removed row is left out of a new file of its segment.
 */
export class ParquetWarehouse implements Warehouse {
  readonly format = 'parquet';
  readonly #folder: string;
  readonly #lock: FolderLock;
  #manifest: Manifest | undefined;

  private constructor(folder: string, lock: FolderLock) {
    this.#folder = folder;
    this.#lock = lock;
  }

  /**
   * Opens a folder, created if missing, and completes or undoes a commit that was cut off. Resolves with undefined while another
   * process has it open. Rejects with `conflict` for a folder that has something else, and with `unavailable`.
   */
  static open(
    folder: string,
    lockFolder: (folder: string) => FolderLock | undefined,
  ): Promise<ParquetWarehouse | undefined> {
    return orUnavailable(folder, async () => {
      await makeFolder(folder);
      if ((await readManifest(folder)) === undefined) await requireEmpty(folder);
      const lock = lockFolder(folder);
      if (lock === undefined) return undefined;
      const warehouse = new ParquetWarehouse(folder, lock);
      try {
        await warehouse.#recover();
        return warehouse;
      } catch (error) {
        lock.release();
        throw error;
      }
    });
  }

  async state(): Promise<WarehouseState | undefined> {
    return this.#manifest;
  }

  commit(
    tables: readonly Table[],
    changes: ReadonlyMap<string, TableChanges>,
    state: WarehouseState,
  ): Promise<void> {
    return orUnavailable(this.#folder, async () => {
      if (!this.#lock.isHeld())
        throw new ServiceError('conflict', `${this.#folder} was emptied or replaced while it was written.`);
      await rm(join(this.#folder, NEW), { recursive: true, force: true });
      const manifest: Manifest = { ...state, tables: {} };
      for (const table of tables) {
        const before = this.#manifest?.tables[table.name];
        manifest.tables[table.name] = await this.#tableAfter(table, before, changes.get(table.name));
      }
      const draft = join(this.#folder, NEW, MANIFEST);
      await mkdir(dirname(draft), { recursive: true });
      await writeFile(draft, `${JSON.stringify(manifest, undefined, 1)}\n`, { flush: true });
      await moveDurably(draft, join(this.#folder, MANIFEST));
      this.#manifest = manifest;
      await this.#publish(manifest);
    });
  }

  async close(): Promise<void> {
    this.#lock.release();
  }

  async #recover(): Promise<void> {
    this.#manifest = await readManifest(this.#folder);
    if (this.#manifest) await this.#publish(this.#manifest);
  }

  async #tableAfter(
    table: Table,
    before: TableFiles | undefined,
    changes: TableChanges = new Map(),
  ): Promise<TableFiles> {
    if (table.type === 'log') return this.#logAfter(table, before ?? { files: [] }, changes);
    return { files: await this.#currentAfter(table, before?.files ?? [], changes) };
  }

  async #currentAfter(
    table: Table,
    before: readonly TableFile[],
    changes: TableChanges,
  ): Promise<TableFile[]> {
    const files: TableFile[] = [];
    const sorted = sortedByKey(changes);
    let next = 0;
    for (let at = 0; at < Math.max(1, before.length); ) {
      let end = at + 1;
      // A file whose first row goes continues the one before it.
      while (end < before.length && changes.get(before[end]?.first ?? '') === null) end += 1;
      const run = before.slice(at, end);
      const limit = before[end]?.first;
      const from = next;
      while (next < sorted.length && (limit === undefined || (sorted[next]?.[0] as string) < limit))
        next += 1;
      if (next === from) files.push(...run);
      else
        files.push(...(await this.#writeParts(table, merged(this.#rowsOf(run), sorted.slice(from, next)))));
      at = end;
    }
    return files;
  }

  async #writeParts(table: Table, rows: AsyncIterable<TableRow>): Promise<TableFile[]> {
    const files: TableFile[] = [];
    let part: TableRow[] = [];
    const write = async () => {
      if (part.length === 0) return;
      files.push({ ...(await this.#write(table, table.name, part)), first: String(part[0]?.[0]) });
      part = [];
    };
    for await (const row of rows) {
      if (beginsFile(row[0] as string)) await write();
      part.push(row);
    }
    await write();
    return files;
  }

  async #logAfter(table: Table, before: TableFiles, changes: TableChanges): Promise<TableFiles> {
    const committed = BigInt(this.#manifest?.position ?? 0);
    let events = before.events ?? 0;
    const added = new Map<string, { segment: number; folder: string; rows: TableRow[] }>();
    const removed = new Set<bigint>();
    for (const [key, row] of sortedByKey(changes)) {
      if ((key as bigint) <= committed) removed.add(key as bigint);
      else {
        const segment = Math.floor(events / SEGMENT_EVENTS);
        events += 1;
        if (row === null) continue;
        const folder = join(table.name, monthOf(table, row));
        const place = `${folder} ${segment}`;
        const part = added.get(place) ?? { segment, folder, rows: [] };
        added.set(place, part);
        part.rows.push(row);
      }
    }
    const files: TableFile[] = [];
    for (const file of before.files) {
      const place = `${dirname(file.path)} ${file.segment}`;
      const more = added.get(place)?.rows;
      added.delete(place);
      files.push(...(await this.#fileAfter(table, file, removed, more)));
    }
    for (const { segment, folder, rows } of added.values())
      files.push(await this.#writeLog(table, folder, segment, rows));
    return { events, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
  }

  /** Returns what a file becomes without the removed rows, and with more of them; nothing if none are left. */
  async #fileAfter(
    table: Table,
    file: TableFile,
    removed: ReadonlySet<bigint>,
    more: TableRow[] = [],
  ): Promise<TableFile[]> {
    const { from = 0, to = 0, segment = 0 } = file;
    const mayHave = [...removed].some((position) => position >= from && position <= to);
    if (!mayHave && more.length === 0) return [file];
    const rows: TableRow[] = [];
    for await (const row of this.#rowsOf([file])) if (!removed.has(row[0] as bigint)) rows.push(row);
    if (rows.length === file.rows && more.length === 0) return [file];
    rows.push(...more);
    return rows.length === 0 ? [] : [await this.#writeLog(table, dirname(file.path), segment, rows)];
  }

  async #writeLog(table: Table, folder: string, segment: number, rows: TableRow[]): Promise<TableFile> {
    const [from, to] = [Number(rows[0]?.[0]), Number(rows.at(-1)?.[0])];
    const range = [from, to].map((position) => String(position).padStart(DIGITS, '0')).join('-');
    return { ...(await this.#write(table, folder, rows, `${range}-`)), segment, from, to };
  }

  /** Writes a new file, whose name ends with its digest. */
  async #write(table: Table, folder: string, rows: Iterable<TableRow>, prefix = ''): Promise<TableFile> {
    const draft = join(this.#folder, NEW, 'draft');
    await mkdir(join(this.#folder, NEW, folder), { recursive: true });
    const written = await writeRows(draft, table.columns, rows);
    const path = join(folder, `${prefix}${written.sha256.slice(0, DIGEST_LENGTH)}.parquet`);
    await rename(draft, join(this.#folder, NEW, path));
    return { path, rows: written.rows };
  }

  async *#rowsOf(files: readonly TableFile[]): AsyncGenerator<TableRow> {
    for (const { path } of files) {
      for await (const rows of readRows(join(this.#folder, path))) yield* rows;
    }
  }

  /** Makes the folder what the manifest says: removes all other files, then gives new ones their places. */
  async #publish({ tables }: Manifest): Promise<void> {
    const wanted = new Set(Object.values(tables).flatMap(({ files }) => files.map(({ path }) => path)));
    for (const path of globSync('*/**/*.parquet', { cwd: this.#folder }))
      if (!wanted.has(path) && !path.startsWith(NEW)) await rm(join(this.#folder, path));
    for (const path of wanted) {
      const draft = join(this.#folder, NEW, path);
      if (existsSync(draft)) await moveDurably(draft, join(this.#folder, path));
      else if (!existsSync(join(this.#folder, path))) throw damaged(path);
    }
    await rm(join(this.#folder, NEW), { recursive: true, force: true });
  }
}

async function readManifest(folder: string): Promise<Manifest | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, MANIFEST), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (error instanceof SyntaxError) throw damaged(MANIFEST);
    throw error;
  }
}

/** Of names that begin so is the lock, and what a first commit left that was cut off, which the next one removes. */
async function requireEmpty(folder: string): Promise<void> {
  const others = (await readdir(folder)).filter((name) => !name.startsWith('_'));
  if (others.length > 0)
    throw new ServiceError('conflict', `${folder} is not empty, and not a warehouse. Name another folder.`);
}

function damaged(path: string): ServiceError {
  return new ServiceError(
    'conflict',
    `The warehouse is damaged: ${path} is missing, or was changed. Empty the folder, and write it again.`,
  );
}

function sortedByKey(changes: TableChanges): [string | bigint, TableRow | null][] {
  return [...changes].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Yields rows in the order of their keys, with changes in the same order applied. */
async function* merged(
  rows: AsyncIterable<TableRow>,
  changes: [string | bigint, TableRow | null][],
): AsyncGenerator<TableRow> {
  let next = 0;
  for await (const row of rows) {
    const key = row[0] as string;
    for (; next < changes.length; next += 1) {
      const [changed, changedRow] = changes[next] as (typeof changes)[number];
      if (changed >= key) break;
      if (changedRow) yield changedRow;
    }
    if (changes[next]?.[0] !== key) yield row;
  }
  for (const [, row] of changes.slice(next)) if (row) yield row;
}

function beginsFile(key: string): boolean {
  return hash('sha256', key, 'buffer').readUInt32BE() % FILE_ROWS === 0;
}

function monthOf({ columns }: Table, row: TableRow): string {
  const time = row[columns.findIndex(({ name }) => name === 'recorded_at')] as Date;
  return `month=${time.toISOString().slice(0, 7)}`;
}

async function orUnavailable<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError || (error as NodeJS.ErrnoException).code === undefined) throw error;
    throw unavailableError('warehouse', error, fileProblem(folder, error));
  }
}
