import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { workerUrl } from '../../../platform/threads/workerUrl.ts';
import { fileIdentity, fileProblem, giveSqliteFile, makeOwnedFolders, movedProblem } from '../shared.ts';
import { BUSY_MS, beginImmediate, raiseFormat } from './database.ts';

/** From the process: that nothing which was removed is left in the file and beside it; or SQLite's result code. */
export type PurgeAnswer = { purged: true } | { errcode: number | undefined };

/**
 * Overwrites the free space within the pages of a file whose connections all use `secure_delete`, where SQLite leaves copies of rows
 * that it moves, and empties the write-ahead log. Others can read and write meanwhile: each hold-up is a fraction of a second.
 * Rejects with SQLite's error, which is that of a busy file when readers hold it for more than ten seconds, and at the signal.
 *
 * A process of its own, as closing the file beside SQLite releases all locks that the process has on it.
 */
export async function purgeFreeSpace(path: string, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<PurgeAnswer>();
  const child = fork(fileURLToPath(workerUrl('purgeProcess', import.meta.url)), [path], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    ...(signal && { signal }),
  });
  child.once('message', (answer) => resolve(answer as PurgeAnswer));
  child.once('error', reject);
  child.once('exit', () => resolve({ errcode: undefined }));
  const answer = await promise;
  if ('purged' in answer) return;
  throw Object.assign(new Error('purge failed'), { code: 'ERR_SQLITE_ERROR', ...answer });
}

const FILE_CHECK_MS = 500;

interface SqliteFileOptions {
  path: string;
  /** Name of what is unavailable, as reported to callers. */
  store: string;
  /** Whether the service can build it anew from the event log. */
  isDerived?: true;
  /** Sets up settings and tables, whenever the file is opened. */
  setUp(db: DatabaseSync): void;
  /** Prepared statements can no longer be used, or may no longer fit the tables. */
  onReset(): void;
}

/**
 * One SQLite file. A derived one may be deleted at any time, even while the service is running: it is then recreated, empty, as
 * long as its folder is the same. Any other file that is deleted or replaced is `unavailable` until it is put back, as is every
 * failure of SQLite or of the file system.
 */
export class SqliteFile {
  readonly #options: SqliteFileOptions;
  #db: DatabaseSync;
  #identity: string | undefined;
  readonly #folder: string | undefined;
  #nextCheck = 0;

  /** Opens the file, creating it and its folder when they do not exist. Throws `unavailable`. */
  constructor(options: SqliteFileOptions) {
    this.#options = options;
    try {
      this.#db = this.#open();
    } catch (error) {
      throw this.#toUnavailable(error);
    }
    this.#identity = fileIdentity(options.path);
    this.#folder = fileIdentity(dirname(options.path));
  }

  /** Returns the result of `work` on the database. */
  run<Result>(work: (db: DatabaseSync) => Result): Result {
    if (!this.#db.isOpen) throw unavailable(this.#options.store);
    try {
      this.#reopenWhenDeleted();
      return work(this.#db);
    } catch (error) {
      this.#options.onReset();
      throw isStoreError(error) ? this.#toUnavailable(error) : error;
    }
  }

  /** The same in one transaction, which is the only writer meanwhile; an error rolls all of it back. */
  transaction<Result>(work: (db: DatabaseSync) => Result): Result {
    if (this.#db.isOpen && this.#db.isTransaction) return this.run((db) => inSavepoint(db, work));
    this.#nextCheck = 0;
    return this.run((db) => inTransaction(db, work));
  }

  /**
   * Commits all transactions of `work` together: each of them succeeds or fails by itself, and none is durable before this returns.
   * Throws when nothing was committed.
   */
  group(work: () => void): void {
    this.transaction(() => work());
  }

  /** Removes what was deleted or replaced from the file and its write-ahead log, as `purgeFreeSpace` does. */
  async purge(signal?: AbortSignal): Promise<void> {
    try {
      await purgeFreeSpace(this.#options.path, signal);
    } catch (error) {
      throw this.#toUnavailable(error);
    }
  }

  #toUnavailable(error: unknown): ServiceError {
    if (error instanceof ServiceError) return error;
    const { store, path, isDerived } = this.#options;
    return unavailable(store, error, fileProblem(path, error, isDerived));
  }

  close(): void {
    this.#db.close();
  }

  #open(): DatabaseSync {
    const { path, setUp } = this.#options;
    makeOwnedFolders(dirname(path));
    if (fileIdentity(path) === undefined) {
      // Left by a deleted file, and possibly still mapped by processes that have it open: a new file must not take them over.
      for (const leftover of [`${path}-wal`, `${path}-shm`]) rmSync(leftover, { force: true });
    }
    const db = new DatabaseSync(path, { timeout: BUSY_MS });
    try {
      db.exec('PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON');
      raiseFormat(db, path);
      setUp(db);
      giveSqliteFile(path);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  }

  #reopenWhenDeleted(): void {
    const now = performance.now();
    if (now < this.#nextCheck) return;
    const { path, store, isDerived } = this.#options;
    if (fileIdentity(path) !== this.#identity) {
      // In another folder, such as an empty mount point, it would be on the wrong disk.
      const mayRecreate = isDerived && fileIdentity(dirname(path)) === this.#folder;
      if (!mayRecreate) throw unavailable(store, undefined, movedProblem(path));
      const gone = this.#db;
      this.#db = this.#open();
      this.#identity = fileIdentity(path);
      this.#options.onReset();
      gone.close();
    }
    this.#nextCheck = now + FILE_CHECK_MS;
  }
}

/** SQLite's codes for a damaged file, and for one that is no database. */
const DAMAGED = [11, 26];

/** Whether the structure of a SQLite file is sound, whatever its rows say; reads all of it. Throws `unavailable`. */
export function isIntact(path: string): boolean {
  try {
    const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
    try {
      return db.prepare('PRAGMA quick_check(1)').get()?.quick_check === 'ok';
    } finally {
      db.close();
    }
  } catch (error) {
    // The lowest byte is the code; the others give details.
    if (DAMAGED.includes(((error as { errcode?: number }).errcode ?? 0) & 0xff)) return false;
    throw unavailable('file', error, fileProblem(path, error));
  }
}

function inTransaction<Result>(db: DatabaseSync, work: (db: DatabaseSync) => Result): Result {
  beginImmediate(db);
  try {
    const result = work(db);
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function inSavepoint<Result>(db: DatabaseSync, work: (db: DatabaseSync) => Result): Result {
  db.exec('SAVEPOINT one');
  try {
    const result = work(db);
    db.exec('RELEASE one');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK TO one; RELEASE one');
    throw error;
  }
}

/** Whether it is an error of SQLite or of the file system. */
function isStoreError(error: unknown): boolean {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  return code === 'ERR_SQLITE_ERROR' || syscall !== undefined;
}
