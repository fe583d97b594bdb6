import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';

/** As SQLite reports a page that is damaged in its structure. */
const SQLITE_CORRUPT = 11;

/** White space of JSON (RFC 8259, 2), which is what a checksum is written in: two bits each. */
const SPACES = [' ', '\t', '\n', '\r'];
const LENGTH = 16;
const spacesOfByte = Array.from({ length: 256 }, (_, byte) =>
  [6, 4, 2, 0].map((shift) => SPACES[(byte >> shift) & 3]).join(''),
);

type Identified = Pick<StoredRow, 'id' | 'version'>;

/**
 * The JSON of a body, an object, behind its checksum: SQLite notices damage to the structure of a page, and none to what a row holds,
 * which would be answered as if it were true. It is still JSON, so that earlier versions of the service can read it.
 */
export function withChecksum(row: Identified, body: string): string {
  return checksumOf(row, body) + body;
}

/** The body of what `withChecksum` made. Throws as SQLite does for a damaged page, also where there is no checksum. */
export function checkedBody<Body>(row: Identified, stored: string): Body {
  if (stored.slice(0, LENGTH) !== checksumOf(row, stored.slice(LENGTH))) throw damaged();
  return parsed(stored);
}

/** The same for a store that cannot be rebuilt: a body without a checksum was written by an earlier version, and is taken as it is. */
export function checkedOrEarlierBody<Body>(row: Identified, stored: string): Body {
  return stored.startsWith('{') ? parsed(stored) : checkedBody(row, stored);
}

function parsed<Body>(stored: string): Body {
  try {
    return JSON.parse(stored) as Body;
  } catch (error) {
    throw damaged(error);
  }
}

function checksumOf({ id, version }: Identified, body: string): string {
  const sum = crc32(body, crc32(`${version} ${id}`));
  const spaces = (shift: number) => spacesOfByte[(sum >>> shift) & 255] as string;
  return spaces(24) + spaces(16) + spaces(8) + spaces(0);
}

function damaged(cause?: unknown): Error {
  const error = new Error('a row is damaged', { cause });
  return Object.assign(error, { code: 'ERR_SQLITE_ERROR', errcode: SQLITE_CORRUPT });
}

/** Number of rows that one statement of `preparePrune` removes. */
export const PRUNED_AT_ONCE = 1_000;

export type Statement = ReturnType<DatabaseSync['prepare']>;

/** The contents of a table's rows; `version` tells which of two writes is newer. */
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
  scan: Statement;
  countPage: Statement;
  update: Statement;
  upsert: Statement;
}

export interface OwnRowStatements extends RowStatements {
  insert: Statement;
  swap: Statement;
  remove: Statement;
}

/** The columns that `toStoredRow` expects. */
export const columns = 'id, partition, sequence, position, body';

/** Returns a table's name, quoted. */
export function quoted(table: string): string {
  return `"${table.replaceAll('"', '""')}"`;
}

/** Returns the query for a table's rows by id; its parameters are those of `scanRows`. */
export function scanQuery(name: string, selected: string): string {
  return `SELECT ${selected} FROM ${quoted(name)} WHERE id >= ? AND id IS NOT ? ORDER BY id LIMIT ?`;
}

/** Returns rows by ascending id, after the given id; default: from the first. */
export function scanRows(
  { scan }: { scan: Statement },
  { after, limit }: { after?: string | undefined; limit: number },
): unknown[] {
  return scan.all(after ?? '', after ?? null, limit);
}

/** Prepares the statements of a table of rows, creating it when it does not exist. */
export function prepareRows(db: DatabaseSync, name: string): RowStatements {
  const table = quoted(name);
  // The constraint is there for its index, which, unlike one created explicitly, is renamed with the table.
  db.exec(`CREATE TABLE IF NOT EXISTS ${table} (
    id TEXT PRIMARY KEY, partition TEXT NOT NULL, sequence INTEGER NOT NULL, position INTEGER NOT NULL,
    body TEXT NOT NULL, UNIQUE (partition, sequence, id))`);
  const load = db.prepare(`SELECT ${columns} FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`);
  const page = db.prepare(
    `SELECT ${columns} FROM ${table} WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
  );
  const scan = db.prepare(scanQuery(name, columns));
  for (const reading of [load, page, scan]) reading.setReturnArrays(true);
  return {
    load,
    page,
    scan,
    countPage: db.prepare(
      `SELECT count(*) AS count FROM (SELECT 1 FROM ${table} WHERE partition = ? LIMIT ?)`,
    ),
    // Most rows stay at their place: the index of pages is then left alone.
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

/** Prepares the statements of a table whose rows are written and removed directly, not by folding the log. */
export function prepareOwnRows(db: DatabaseSync, name: string): OwnRowStatements {
  const rows = prepareRows(db, name);
  const table = quoted(name);
  return {
    ...rows,
    insert: db.prepare(`INSERT OR IGNORE INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?)`),
    swap: db.prepare(
      `UPDATE ${table} SET partition = ?, position = ?, body = ? WHERE id = ? AND position = ?`,
    ),
    remove: db.prepare(`DELETE FROM ${table} WHERE id IN (SELECT value FROM json_each(?)) AND position <= ?`),
  };
}

/** Prepares the statement that removes some of the rows below a version; creates the index that it needs. */
export function preparePrune(db: DatabaseSync, name: string): Statement {
  const table = quoted(name);
  db.exec(`CREATE INDEX IF NOT EXISTS ${quoted(`${name}_by_position`)} ON ${table} (position)`);
  return db.prepare(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE position < ? LIMIT ${PRUNED_AT_ONCE})`,
  );
}

/** Writes rows, skipping each one for which the same or a higher version is stored. */
export function writeRows({ update, upsert }: RowStatements, rows: StoredRow[]): void {
  for (const { id, partition, order, version, body } of rows) {
    // There is hardly ever a row to be updated before the first version.
    const { changes } = version > 1 ? update.run(version, body, id, partition, version) : { changes: 0 };
    if (changes === 0) upsert.run(id, partition, order, version, body);
  }
}

/** Converts a row returned by `load` or `page`; they return arrays, which cost less than objects. */
export function toStoredRow(row: unknown): StoredRow {
  const [id, partition, order, version, body] = row as [string, string, number, number, string];
  return { id, partition, order, version, body };
}
