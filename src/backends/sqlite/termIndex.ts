import type { DatabaseSync } from 'node:sqlite';
import type { SearchQuery } from '../../ports/readModels.ts';
import { quoted } from './rowTable.ts';

/** What no word is made of for FTS5's tokenizer `ascii`, and upper-case letters, which it would fold. */
const apart = /[^0-9a-z\u0080-\uffff]/g;
/** Stands in front of what stands for such a character: the private use area of Unicode. */
const PRIVATE_USE = 0xe000;
/** Of no row: positions begin at 0. */
const NO_ENTRY = -1;

/** The index of terms beside a table of rows; what befalls the one has to befall the other. */
export function termsBeside(table: string): string {
  return `${table} terms`;
}

/** Makes the index of the terms of a table's rows. Its entries bear the `since` of the rows. */
export function createTermIndex(db: DatabaseSync, table: string): void {
  const index = quoted(termsBeside(table));
  // Terms are in the rows: the index holds nothing but where each is found, and takes out what is removed at once.
  db.exec(`CREATE VIRTUAL TABLE ${index} USING fts5
      (terms, content = '', columnsize = 0, detail = none, tokenize = 'ascii');
    INSERT INTO ${index} (${index}, rank) VALUES ('secure-delete', 1)`);
}

/** Empties the index of terms of a table's rows. */
export function clearTermIndex(db: DatabaseSync, table: string): void {
  const index = quoted(termsBeside(table));
  db.exec(`INSERT INTO ${index} (${index}) VALUES ('delete-all')`);
}

/**
 * Writes every index of terms of a file anew. The words by which FTS5 finds its pages stay when what stood there is removed; when
 * all is written into one part, there are none but of what is there.
 */
export function rewriteTermIndexes(db: DatabaseSync): void {
  const indexes = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'")
    .all();
  for (const { name } of indexes) {
    const index = quoted(String(name));
    // An index that is one part already would be left as it is.
    db.exec(`INSERT INTO ${index} (rowid, terms) VALUES (${NO_ENTRY}, 'x');
      INSERT INTO ${index} (${index}) VALUES ('optimize');
      INSERT INTO ${index} (${index}, rowid, terms) VALUES ('delete', ${NO_ENTRY}, 'x')`);
  }
}

/** The text of an entry: the terms of a row of a partition, given in JSON. */
export function entryText(partition: string, terms: string): string {
  return (JSON.parse(terms) as string[]).map((term) => wordOf(partition, term)).join(' ');
}

/** What the index is asked for by a query that has words and partitions. */
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

/** A term within its partition, as one word for FTS5. Different ones give different words, and beginnings stay such. */
function wordOf(partition: string, term: string): string {
  return `${partition} ${term}`.replace(apart, (one) => String.fromCharCode(PRIVATE_USE + one.charCodeAt(0)));
}
