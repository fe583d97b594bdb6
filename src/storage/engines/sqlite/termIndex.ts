import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery } from '../../readModels.ts';
import { quoted } from './rowTable.ts';

/** Characters that are not part of a word for FTS5's tokenizer `ascii`, and upper-case letters, which it would fold. */
const apart = /[^0-9a-z\u0080-\uffff]/g;
/** Offset of the replacements for such characters: Unicode's private use area. */
const PRIVATE_USE = 0xe000;
/** Not used by any row: positions start at 0. */
const NO_ENTRY = -1;
/** Number of an index's pages that one step of a merge writes, which takes some ten milliseconds. */
const MERGED_PAGES = 200;

/** Returns the name of the index of terms beside a table of rows; whatever happens to one has to happen to the other. */
export function termsBeside(table: string): string {
  return `${table} terms`;
}

/** Creates the index of a table's terms. Its entries are numbered by the rows' `since`. */
export function createTermIndex(db: DatabaseSync, table: string): void {
  const index = quoted(termsBeside(table));
  // Terms are in the rows: the index contains only where each one is found, and removes deleted entries at once.
  db.exec(`CREATE VIRTUAL TABLE ${index} USING fts5
      (terms, content = '', columnsize = 0, detail = none, tokenize = 'ascii');
    INSERT INTO ${index} (${index}, rank) VALUES ('secure-delete', 1)`);
}

/** Empties the index of a table's terms. */
export function clearTermIndex(db: DatabaseSync, table: string): void {
  const index = quoted(termsBeside(table));
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
export function entryText(partition: string, terms: string): string {
  return (JSON.parse(terms) as string[]).map((term) => wordOf(partition, term)).join(' ');
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
  return `${partition} ${term}`.replace(apart, (one) => String.fromCharCode(PRIVATE_USE + one.charCodeAt(0)));
}
