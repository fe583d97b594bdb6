import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery, SearchTerms } from '../../readModels.ts';
import { columns, quoted, type Statement, type StoredRow, scanQuery } from './rows.ts';

/** A row of a table whose rows are, or may be, listed. */
interface ListedRow extends StoredRow {
  /** JSON; null when the row has none. */
  lists: string | null;
}

/** Where a row was listed before a write. */
interface Place {
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
export function listTable(table: string): string {
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
      FROM ${quoted(listTable(name))} AS entry CROSS JOIN ${table} AS listed
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
  const lists = quoted(listTable(name));
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
function prepareCountList(db: DatabaseSync, name: string): Statement {
  const lists = quoted(listTable(name));
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
    CREATE TABLE ${quoted(listTable(name))} (
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
function moveBetweenLists(
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

/** Characters that are not part of a word for FTS5's tokenizer `ascii`, and upper-case letters, which it would fold. */
const apart = /[^0-9a-z\u0080-\uffff]/g;
/** Offset of the replacements for such characters: Unicode's private use area. */
const PRIVATE_USE = 0xe000;
/** Not used by any row: positions start at 0. */
const NO_ENTRY = -1;
/** Number of an index's pages that one step of a merge writes, which takes some ten milliseconds. */
const MERGED_PAGES = 50;

/** Returns the name of the index of terms beside a table of rows; whatever happens to one has to happen to the other. */
export function termIndex(table: string): string {
  return `${table} terms`;
}

/** Creates the index of a table's terms. Its entries are numbered by the rows' `since`. */
function createTermIndex(db: DatabaseSync, table: string): void {
  const index = quoted(termIndex(table));
  // Terms are in the rows: the index contains only where each one is found, and removes deleted entries at once.
  db.exec(`CREATE VIRTUAL TABLE ${index} USING fts5
      (terms, content = '', columnsize = 0, detail = none, tokenize = 'ascii');
    INSERT INTO ${index} (${index}, rank) VALUES ('secure-delete', 1)`);
}

/** Empties the index of a table's terms. */
export function clearTermIndex(db: DatabaseSync, table: string): void {
  const index = quoted(termIndex(table));
  db.exec(`INSERT INTO ${index} (${index}) VALUES ('delete-all')`);
}

/**
 * Yields the steps that write every index of terms in a file into one part, each a short transaction. The words by which FTS5 finds
 * its pages remain when their entries are removed; of the parts that are merged, only those of existing entries are left.
 */
export function* mergeTermIndexes(db: DatabaseSync): Generator<() => void> {
  const indexes = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'")
    .all();
  const total = db.prepare('SELECT total_changes() AS changes');
  for (const { name } of indexes) {
    const index = quoted(String(name));
    const command = (text: string, rank: number) =>
      db.exec(`INSERT INTO ${index} (${index}, rank) VALUES ('${text}', ${rank})`);
    // An index that already is a single part would be left as it is.
    yield () => db.exec(`INSERT INTO ${index} (rowid, terms) VALUES (${NO_ENTRY}, 'x')`);
    yield () => command('merge', -MERGED_PAGES);
    for (let changes = 2; changes > 1; ) {
      yield () => {
        const before = Number(total.get()?.changes);
        command('merge', MERGED_PAGES);
        changes = Number(total.get()?.changes) - before;
      };
    }
    yield () => db.exec(`INSERT INTO ${index} (${index}, rowid, terms) VALUES ('delete', ${NO_ENTRY}, 'x')`);
  }
}

/** Returns the text of an entry: the terms of a partition's row, given in JSON. */
function entryText(partition: string, terms: string): string {
  const begin = inWord(`${partition} `);
  return (JSON.parse(terms) as string[]).map((term) => begin + inWord(term)).join(' ');
}

/** Returns the index query for a search with words and partitions. */
export function matchText({ partitions, words }: Pick<SearchQuery, 'partitions' | 'words'>): string {
  return words
    .map((patterns) => {
      const any = patterns.flatMap((pattern) =>
        partitions.map((partition) =>
          'term' in pattern
            ? `"${wordOf(partition, pattern.term)}"`
            : `"${wordOf(partition, pattern.beginning)}" *`,
        ),
      );
      return `(${any.join(' OR ')})`;
    })
    .join(' AND ');
}

/**
 * Returns a term within its partition, as one word for FTS5. Different terms give different words, and beginnings stay
 * beginnings.
 */
function wordOf(partition: string, term: string): string {
  return inWord(`${partition} ${term}`);
}

function inWord(text: string): string {
  // Most terms have none of these characters: looking for them costs a fraction of replacing.
  return text.search(apart) < 0
    ? text
    : text.replace(apart, (one) => String.fromCharCode(PRIVATE_USE + one.charCodeAt(0)));
}

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
  insert: Statement;
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
function searchQuery(name: string): string {
  const index = quoted(termIndex(name));
  return `SELECT ${`${columns}, lists, since, terms`.replace(/\w+/g, 'found.$&')}
    FROM ${index} CROSS JOIN ${quoted(name)} AS found ON found.since = ${index}.rowid
    WHERE ${index} MATCH ? AND ${index}.rowid < ? ORDER BY ${index}.rowid DESC LIMIT ?`;
}

/** Prepares the statements of a table of rows that are found by terms. */
export function prepareSearched(db: DatabaseSync, name: string): SearchedStatements {
  const table = quoted(name);
  const lists = quoted(listTable(name));
  const index = quoted(termIndex(name));
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
    insert: db.prepare(
      `INSERT OR IGNORE INTO ${table} (${columns}, lists, since, terms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
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
    // Its first event: nothing is there, unless the batch is repeated.
    const isNew =
      order === version &&
      statements.insert.run(id, partition, order, version, body, lists, since, terms).changes > 0;
    if (isNew) {
      moveBetweenLists(statements, undefined, row);
      joined.push(...entryOf(row));
      continue;
    }
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

const TEXT = Symbol('text');

type WithText = SearchTerms & { [TEXT]?: string };

/** Returns the terms of a row from its table's JSON: most rows are rewritten with the same ones, which are never parsed. */
export function storedTerms(text: string, since: number): SearchTerms {
  let parsed: string[] | undefined;
  const search = {
    get terms() {
      parsed ??= JSON.parse(text) as string[];
      return parsed;
    },
    since,
  };
  return Object.defineProperty(search, TEXT, { value: text });
}

/** Returns the form of terms in a table: JSON. */
export function termsText(search: WithText): string {
  return search[TEXT] ?? JSON.stringify(search.terms);
}
