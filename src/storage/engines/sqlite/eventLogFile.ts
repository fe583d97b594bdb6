import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { giveSqliteFile } from '../shared.ts';
import { beginImmediate, raiseFormat } from './database.ts';

const schema = `
  CREATE TABLE IF NOT EXISTS log (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    identity TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS proof (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    bytes BLOB NOT NULL
  );
  CREATE TABLE IF NOT EXISTS streams (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    erased INTEGER
  );
  CREATE TABLE IF NOT EXISTS metadata_templates (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
  );
  CREATE TABLE IF NOT EXISTS events (
    position    INTEGER PRIMARY KEY,
    stream_id   INTEGER NOT NULL REFERENCES streams (id),
    revision    INTEGER NOT NULL,
    event_id    BLOB NOT NULL,
    type        TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    metadata    TEXT NOT NULL,
    data        TEXT NOT NULL,
    leaf        TEXT
  );
  CREATE TABLE IF NOT EXISTS falling_times (
    only INTEGER PRIMARY KEY CHECK (only = 1)
  );
  CREATE TABLE IF NOT EXISTS unclean_pages (
    only INTEGER PRIMARY KEY CHECK (only = 1)
  );
  CREATE TABLE IF NOT EXISTS restores (
    position INTEGER PRIMARY KEY,
    after    INTEGER NOT NULL
  );
  CREATE UNIQUE INDEX IF NOT EXISTS events_by_stream ON events (stream_id, revision);
  CREATE INDEX IF NOT EXISTS events_by_id ON events (event_id);
`;
const erasedStreams =
  'CREATE INDEX IF NOT EXISTS streams_erased ON streams (erased) WHERE erased IS NOT NULL';

/** Columns missing in files created before anything could be erased. */
const erasureColumns =
  'ALTER TABLE events ADD COLUMN leaf TEXT; ALTER TABLE streams ADD COLUMN erased INTEGER;';

/** Page size of a new file in bytes: events of about 1 KB leave less of it empty than of one of 4,096. */
const PAGE_BYTES = 8_192;
/** Pages of write-ahead log (64 MB) at which a commit copies it into the file, if the background thread has not. */
const WAL_PAGES = 8_192;

/**
 * Opens an event log's file for its one writer thread, creating it, with an identity, when it does not exist. A commit is on disk
 * when it returns (`synchronous=FULL`). Another process may write too; the connection waits for it. Throws as `raiseFormat` does.
 */
export function openForAppending(path: string): DatabaseSync {
  const db = openForCheckpoints(path);
  try {
    beginImmediate(db);
    const format = raiseFormat(db, path);
    const columns = db.prepare('PRAGMA table_info (events)').all();
    db.exec(schema);
    if (columns.length > 0 && format === 0) db.exec('INSERT OR IGNORE INTO unclean_pages (only) VALUES (1)');
    if (columns.length > 0 && !columns.some(({ name }) => name === 'leaf')) db.exec(erasureColumns);
    db.exec(erasedStreams);
    db.prepare('INSERT OR IGNORE INTO log (only, identity) VALUES (1, ?)').run(randomUUID());
    db.exec('COMMIT');
    giveSqliteFile(path);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Opens the file, which must exist, for copying its write-ahead log: it does not wait for writers. Whatever its connection
 * removes from the file is overwritten there.
 */
export function openForCheckpoints(path: string, timeout = 2500): DatabaseSync {
  const db = new DatabaseSync(path, { timeout });
  db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${WAL_PAGES};
    PRAGMA secure_delete = ON;`);
  return db;
}

/**
 * Rewrites a file that was created without `secure_delete`, whose pages may contain copies of data moved within it. Needs twice
 * its size on disk, and blocks writers; an interruption leaves it unchanged. Throws SQLite's errors.
 */
export function rewriteOnce(db: DatabaseSync, path: string): void {
  if (db.prepare('SELECT 1 FROM unclean_pages').get() === undefined) return;
  // The copy that SQLite makes meanwhile has its own location, which may be another disk.
  const temporary = (folder: string) =>
    db.exec(`PRAGMA temp_store_directory = '${folder.replaceAll("'", "''")}'`);
  temporary(dirname(path));
  try {
    db.exec('VACUUM; DELETE FROM unclean_pages;');
  } finally {
    temporary('');
  }
}

/**
 * Copies as much as possible of the write-ahead log into the file without blocking anyone; returns the number of pages left. On
 * failure everything stays in the log, from which it can also be read: the next checkpoint tries again.
 */
export function checkpoint(db: DatabaseSync): number {
  try {
    const { log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as Record<
      string,
      number
    >;
    return Number(log) - Number(checkpointed);
  } catch {
    return 0;
  }
}

/** Opens the file for reading; it must exist. Readers never wait for the writer. */
export function openForReading(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 2500 });
  db.exec('PRAGMA query_only = ON; PRAGMA mmap_size = 268435456;');
  return db;
}
