import { mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Tells a file from another one of the same name; undefined when there is none. */
export function fileIdentity(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** Opens the file of the read models, and makes it and its folder when they are not there. */
export function openReadModelFile(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true });
  if (fileIdentity(path) === undefined) {
    // Left by a deleted file, and possibly still mapped by who has it open: a new file must not take them over.
    for (const leftover of [`${path}-wal`, `${path}-shm`]) rmSync(leftover, { force: true });
  }
  const db = new DatabaseSync(path, { timeout: 2500 });
  try {
    // All of it can be rebuilt, so a crash may cost the last commits, never the file's order (WAL).
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 8000;
      CREATE TABLE IF NOT EXISTS checkpoints (
        model TEXT PRIMARY KEY, position INTEGER NOT NULL, log TEXT
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS parked (
        model TEXT, position INTEGER, event_id TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (model, position)
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS leases (
        name TEXT PRIMARY KEY, owner TEXT NOT NULL, taken_at INTEGER NOT NULL, for_ms INTEGER NOT NULL
      ) WITHOUT ROWID;`);
    addLogColumn(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Files of earlier versions do not say of which log they are. */
function addLogColumn(db: DatabaseSync): void {
  const columns = db.prepare('PRAGMA table_info (checkpoints)');
  const isThere = () => columns.all().some(({ name }) => name === 'log');
  if (isThere()) return;
  db.exec('BEGIN IMMEDIATE');
  if (!isThere()) db.exec('ALTER TABLE checkpoints ADD COLUMN log TEXT');
  db.exec('COMMIT');
}
