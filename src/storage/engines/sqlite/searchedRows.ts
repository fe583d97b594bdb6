import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import {
  type ListedRow,
  listedQueries,
  listsBeside,
  moveBetweenLists,
  type Place,
  prepareCountList,
} from './listedRows.ts';
import { columns, quoted, type Statement } from './rowTable.ts';
import { createTermIndex, entryText, termsBeside } from './termIndex.ts';

/** A row of a table whose rows are also found by terms. */
export interface SearchedRow extends ListedRow {
  since: number | null;
  /** JSON. */
  terms: string | null;
}

/** The statements of a table whose rows are also on lists, and found by terms. */
export interface SearchedStatements {
  load: Statement;
  page: Statement;
  scan: Statement;
  list: Statement;
  countList: Statement;
  changes: Statement;
  search: Statement;
  update: Statement;
  place: Statement;
  upsert: Statement;
  enlist: Statement;
  delist: Statement;
  enter: Statement;
  leave: Statement;
}

/** An entry of a row in the index of terms. */
interface Entry {
  since: number;
  text: string;
}

type SearchedPlace = Place & Pick<SearchedRow, 'since' | 'terms'>;

/**
 * Returns the query for a table's rows by terms; its parameters are the index query, the exclusive upper bound of `since`, and
 * the limit.
 */
export function searchQuery(name: string): string {
  const index = quoted(termsBeside(name));
  return `SELECT ${`${columns}, lists, since, terms`.replace(/\w+/g, 'found.$&')}
    FROM ${index} CROSS JOIN ${quoted(name)} AS found ON found.since = ${index}.rowid
    WHERE ${index} MATCH ? AND ${index}.rowid < ? ORDER BY ${index}.rowid DESC LIMIT ?`;
}

/** Prepares the statements of a table of rows that are found by terms. */
export function prepareSearched(db: DatabaseSync, name: string): SearchedStatements {
  const table = quoted(name);
  const lists = quoted(listsBeside(name));
  const index = quoted(termsBeside(name));
  const { load, page, scan, list, changes } = listedQueries(name, ', since, terms');
  const reading = {
    load: db.prepare(load),
    page: db.prepare(page),
    scan: db.prepare(scan),
    list: db.prepare(list),
    changes: db.prepare(changes),
    search: db.prepare(searchQuery(name)),
  };
  for (const statement of Object.values(reading)) statement.setReturnArrays(true);
  return {
    ...reading,
    countList: prepareCountList(db, name),
    // Most rows keep their terms.
    update: db.prepare(
      `UPDATE ${table} SET position = ?, body = ?
       WHERE id = ? AND partition = ? AND lists IS ? AND since IS ? AND position < ?`,
    ),
    place: db.prepare(`SELECT partition, sequence, position, lists, since, terms FROM ${table} WHERE id = ?`),
    upsert: db.prepare(
      `INSERT INTO ${table} (${columns}, lists, since, terms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET partition = excluded.partition, position = excluded.position,
         body = excluded.body, lists = excluded.lists, since = excluded.since, terms = excluded.terms`,
    ),
    enlist: db.prepare(`INSERT OR IGNORE INTO ${lists} (partition, list, sequence) VALUES (?, ?, ?)`),
    delist: db.prepare(`DELETE FROM ${lists} WHERE partition = ? AND list = ? AND sequence = ?`),
    enter: db.prepare(`INSERT INTO ${index} (rowid, terms) VALUES (?, ?)`),
    leave: db.prepare(`INSERT INTO ${index} (${index}, rowid, terms) VALUES ('delete', ?, ?)`),
  };
}

/** Makes the listed rows of a table searchable by terms. */
export function addTerms(db: DatabaseSync, name: string): void {
  // An index keeps its name when its table is renamed, so the name must be one that no other table uses.
  db.exec(`ALTER TABLE ${quoted(name)} ADD COLUMN since INTEGER;
    ALTER TABLE ${quoted(name)} ADD COLUMN terms TEXT;
    CREATE INDEX ${quoted(`by since ${randomUUID()}`)} ON ${quoted(name)} (since)`);
  createTermIndex(db, name);
}

/** Writes rows, skipping each one for which the same or a higher version is stored. */
export function writeSearched(statements: SearchedStatements, rows: SearchedRow[]): void {
  const left: Entry[] = [];
  const joined: Entry[] = [];
  for (const row of rows) {
    const { id, partition, order, version, body, lists, since, terms } = row;
    const { changes } = statements.update.run(version, body, id, partition, lists, since, version);
    if (changes > 0) continue;
    const before = statements.place.get(id) as SearchedPlace | undefined;
    if (before && before.position >= version) continue;
    statements.upsert.run(id, partition, order, version, body, lists, since, terms);
    moveBetweenLists(statements, before, row);
    if (before?.partition === partition && before.since === since) continue;
    left.push(...entryOf(before));
    joined.push(...entryOf(row));
  }
  // FTS5 gathers entries with ascending numbers, and writes what it has gathered when another one comes.
  const rising = (entries: Entry[]) => entries.sort((a, b) => a.since - b.since);
  for (const { since, text } of rising(left)) statements.leave.run(since, text);
  for (const { since, text } of rising(joined)) statements.enter.run(since, text);
}

/** Returns the index entry of a row that has terms. */
function entryOf(row: Pick<SearchedRow, 'partition' | 'since' | 'terms'> | undefined): Entry[] {
  if (row === undefined || row.since === null || row.terms === null) return [];
  return [{ since: row.since, text: entryText(row.partition, row.terms) }];
}
