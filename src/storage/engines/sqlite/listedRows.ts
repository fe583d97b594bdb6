import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { columns, quoted, type Statement, type StoredRow, scanQuery } from './rowTable.ts';

/** A row of a table whose rows are, or may be, listed. */
export interface ListedRow extends StoredRow {
  /** JSON; null when the row has none. */
  lists: string | null;
}

/** Where a row was listed before a write. */
export interface Place {
  partition: string;
  sequence: number;
  position: number;
  lists: string | null;
}

/** The statements of a table whose rows are also found by their last change, and on lists. */
export interface ListedStatements {
  load: Statement;
  page: Statement;
  scan: Statement;
  list: Statement;
  countList: Statement;
  changes: Statement;
  update: Statement;
  place: Statement;
  upsert: Statement;
  enlist: Statement;
  delist: Statement;
}

/** Returns the name of the table of list members beside a table of rows; whatever happens to one has to happen to the other. */
export function listsBeside(table: string): string {
  return `${table} lists`;
}

/** Returns the queries that read the rows of a listed table, with further columns if given. */
export function listedQueries(
  name: string,
  further = '',
): Record<'load' | 'page' | 'scan' | 'list' | 'changes', string> {
  const table = quoted(name);
  const listed = `${columns}, lists${further}`;
  return {
    load: `SELECT ${listed} FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`,
    page: `SELECT ${listed} FROM ${table} WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
    scan: scanQuery(name, listed),
    list: `SELECT ${listed.replace(/\w+/g, 'listed.$&')}
      FROM ${quoted(listsBeside(name))} AS entry CROSS JOIN ${table} AS listed
        ON listed.partition = entry.partition AND listed.sequence = entry.sequence
      WHERE entry.partition = ? AND entry.list = ? AND entry.sequence > ? ORDER BY entry.sequence LIMIT ?`,
    changes: `SELECT ${listed} FROM ${table}
      WHERE partition = ? AND lists IS NOT NULL AND position > ? AND position < ?
      ORDER BY position DESC LIMIT ?`,
  };
}

/** Prepares the statements of a table of listed rows. */
export function prepareListed(db: DatabaseSync, name: string): ListedStatements {
  const table = quoted(name);
  const lists = quoted(listsBeside(name));
  const { load, page, scan, list, changes } = listedQueries(name);
  const reading = {
    load: db.prepare(load),
    page: db.prepare(page),
    scan: db.prepare(scan),
    list: db.prepare(list),
    changes: db.prepare(changes),
  };
  for (const statement of Object.values(reading)) statement.setReturnArrays(true);
  return {
    ...reading,
    countList: prepareCountList(db, name),
    // Most rows stay on the same lists.
    update: db.prepare(
      `UPDATE ${table} SET position = ?, body = ?
       WHERE id = ? AND partition = ? AND lists IS ? AND position < ?`,
    ),
    place: db.prepare(`SELECT partition, sequence, position, lists FROM ${table} WHERE id = ?`),
    upsert: db.prepare(
      `INSERT INTO ${table} (${columns}, lists) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
         partition = excluded.partition, position = excluded.position, body = excluded.body, lists = excluded.lists`,
    ),
    enlist: db.prepare(`INSERT OR IGNORE INTO ${lists} (partition, list, sequence) VALUES (?, ?, ?)`),
    delist: db.prepare(`DELETE FROM ${lists} WHERE partition = ? AND list = ? AND sequence = ?`),
  };
}

/** Prepares the statement that counts the rows on a list, up to a limit. */
export function prepareCountList(db: DatabaseSync, name: string): Statement {
  const lists = quoted(listsBeside(name));
  return db.prepare(
    `SELECT count(*) AS count FROM (SELECT 1 FROM ${lists} WHERE partition = ? AND list = ? LIMIT ?)`,
  );
}

/** Makes the rows of a table listed. */
export function addLists(db: DatabaseSync, name: string): void {
  // An index keeps its name when its table is renamed, so the name must be one that no other table uses.
  db.exec(`ALTER TABLE ${quoted(name)} ADD COLUMN lists TEXT;
    CREATE INDEX ${quoted(`by change ${randomUUID()}`)} ON ${quoted(name)} (partition, position)
      WHERE lists IS NOT NULL;
    CREATE TABLE ${quoted(listsBeside(name))} (
      partition TEXT, list TEXT, sequence INTEGER, PRIMARY KEY (partition, list, sequence)
    ) WITHOUT ROWID`);
}

/** Writes rows, skipping each one for which the same or a higher version is stored. */
export function writeListed(statements: ListedStatements, rows: ListedRow[]): void {
  for (const row of rows) {
    const { id, partition, version, body, lists } = row;
    const { changes } = statements.update.run(version, body, id, partition, lists, version);
    if (changes === 0) put(statements, row);
  }
}

/** Writes a row that is new, or whose lists changed. */
function put(statements: ListedStatements, row: ListedRow): void {
  const { id, partition, order, version, body, lists } = row;
  const before = statements.place.get(id) as Place | undefined;
  if (before && before.position >= version) return;
  statements.upsert.run(id, partition, order, version, body, lists);
  moveBetweenLists(statements, before, row);
}

/** Removes a row from the lists that it has left, and adds it to those that it has joined. */
export function moveBetweenLists(
  { enlist, delist }: Pick<ListedStatements, 'enlist' | 'delist'>,
  before: Omit<Place, 'position'> | undefined,
  { partition, order, lists }: Pick<ListedRow, 'partition' | 'order' | 'lists'>,
): void {
  const left = new Set(namesIn(before?.lists));
  const joined = new Set(namesIn(lists));
  const stays = (list: string) => before?.partition === partition && left.has(list) && joined.has(list);
  for (const list of left) {
    if (before && !stays(list)) delist.run(before.partition, list, before.sequence);
  }
  for (const list of joined) {
    if (!stays(list)) enlist.run(partition, list, before?.sequence ?? order);
  }
}

function namesIn(lists: string | null | undefined): string[] {
  return lists ? JSON.parse(lists) : [];
}
