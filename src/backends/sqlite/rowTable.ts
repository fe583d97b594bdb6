import type { DatabaseSync } from 'node:sqlite';

/** Rows that one statement of `preparePrune` removes. */
export const PRUNED_AT_ONCE = 1_000;

export type Statement = ReturnType<DatabaseSync['prepare']>;

/** What a table holds in each of its rows; `version` says which of two writes is the newer one. */
export interface StoredRow {
  id: string;
  partition: string;
  order: number;
  version: number;
  /** JSON behind its checksum (`withChecksum`). */
  body: string;
}

export interface RowStatements {
  load: Statement;
  page: Statement;
  countPage: Statement;
  update: Statement;
  upsert: Statement;
}

export interface OwnRowStatements extends RowStatements {
  scan: Statement;
  insert: Statement;
  swap: Statement;
  remove: Statement;
}

/** What `toStoredRow` takes of a row. */
export const columns = 'id, partition, sequence, position, body';

/** A table's name, quoted. */
export function quoted(table: string): string {
  return `"${table.replaceAll('"', '""')}"`;
}

/** The statements of a table of rows, which is made when it is not there. */
export function prepareRows(db: DatabaseSync, name: string): RowStatements {
  const table = quoted(name);
  // The constraint is there for its index, which, unlike one that is made by itself, is renamed with the table.
  db.exec(`CREATE TABLE IF NOT EXISTS ${table} (
    id TEXT PRIMARY KEY, partition TEXT NOT NULL, sequence INTEGER NOT NULL, position INTEGER NOT NULL,
    body TEXT NOT NULL, UNIQUE (partition, sequence, id))`);
  const load = db.prepare(`SELECT ${columns} FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`);
  const page = db.prepare(
    `SELECT ${columns} FROM ${table} WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
  );
  for (const reading of [load, page]) reading.setReturnArrays(true);
  return {
    load,
    page,
    countPage: db.prepare(
      `SELECT count(*) AS count FROM (SELECT 1 FROM ${table} WHERE partition = ? LIMIT ?)`,
    ),
    // Most rows stay where they are listed: the index of lists is then left alone.
    update: db.prepare(
      `UPDATE ${table} SET position = ?, body = ? WHERE id = ? AND partition = ? AND position < ?`,
    ),
    upsert: db.prepare(
      `INSERT INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
         partition = excluded.partition, position = excluded.position, body = excluded.body
       WHERE excluded.position > ${table}.position`,
    ),
  };
}

/** The statements of a table whose rows somebody writes and removes by himself, not by folding the log. */
export function prepareOwnRows(db: DatabaseSync, name: string): OwnRowStatements {
  const rows = prepareRows(db, name);
  const table = quoted(name);
  const scan = db.prepare(`SELECT ${columns} FROM ${table} WHERE ? IS NULL OR id > ? ORDER BY id LIMIT ?`);
  scan.setReturnArrays(true);
  return {
    ...rows,
    scan,
    insert: db.prepare(`INSERT OR IGNORE INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?)`),
    swap: db.prepare(
      `UPDATE ${table} SET partition = ?, position = ?, body = ? WHERE id = ? AND position = ?`,
    ),
    remove: db.prepare(`DELETE FROM ${table} WHERE id IN (SELECT value FROM json_each(?)) AND position <= ?`),
  };
}

/** The statement that removes some of the rows below a version; it makes the index that it needs. */
export function preparePrune(db: DatabaseSync, name: string): Statement {
  const table = quoted(name);
  db.exec(`CREATE INDEX IF NOT EXISTS ${quoted(`${name}_by_position`)} ON ${table} (position)`);
  return db.prepare(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE position < ? LIMIT ${PRUNED_AT_ONCE})`,
  );
}

/** Writes rows, each unless one of the same or a higher version is there. */
export function writeRows({ update, upsert }: RowStatements, rows: StoredRow[]): void {
  for (const { id, partition, order, version, body } of rows) {
    const { changes } = update.run(version, body, id, partition, version);
    if (changes === 0) upsert.run(id, partition, order, version, body);
  }
}

/** The row that `load` or `page` gave; they give arrays, which cost less than objects. */
export function toStoredRow(row: unknown): StoredRow {
  const [id, partition, order, version, body] = row as [string, string, number, number, string];
  return { id, partition, order, version, body };
}
