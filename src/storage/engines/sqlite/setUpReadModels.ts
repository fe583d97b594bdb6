import type { DatabaseSync } from 'node:sqlite';

/** Sets up the settings and shared tables of the read models' file. */
export function setUpReadModels(db: DatabaseSync): void {
  // All of it can be rebuilt, so a crash may cost the last commits, but never the file's consistency (WAL).
  db.exec(`PRAGMA synchronous = OFF; PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 8000;
    CREATE TABLE IF NOT EXISTS checkpoints (
      model TEXT PRIMARY KEY, position INTEGER NOT NULL, log TEXT
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS parked (
      model TEXT, position INTEGER, event_id TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (model, position)
    ) WITHOUT ROWID;`);
  addLogColumn(db);
}

/** Files of earlier versions do not say which log they belong to. */
function addLogColumn(db: DatabaseSync): void {
  const columns = db.prepare('PRAGMA table_info (checkpoints)');
  const isThere = () => columns.all().some(({ name }) => name === 'log');
  if (isThere()) return;
  db.exec('BEGIN IMMEDIATE');
  if (!isThere()) db.exec('ALTER TABLE checkpoints ADD COLUMN log TEXT');
  db.exec('COMMIT');
}
