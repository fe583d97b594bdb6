import type { DatabaseSync } from 'node:sqlite';
import type { ChangesQuery, HeadsQuery, PageQuery, Row, ScanQuery, SearchQuery } from '../../readModels.ts';
import { checkedBody, withChecksum } from './checksum.ts';
import { addLists, type ListedStatements, listsBeside, prepareListed, writeListed } from './listedRows.ts';
import {
  prepareRows,
  quoted,
  type RowStatements,
  type Statement,
  scanRows,
  toStoredRow,
  writeRows,
} from './rowTable.ts';
import {
  addTerms,
  prepareSearched,
  type SearchedRow,
  type SearchedStatements,
  writeSearched,
} from './searchedRows.ts';
import { storedTerms, termsText } from './storedTerms.ts';
import { clearTermIndex, matchText, termsBeside } from './termIndex.ts';

/** The table of a read model's rows, with the tables for its lists and terms, once a row has some. */
export class ModelTable {
  readonly #db: DatabaseSync;
  readonly #name: string;
  readonly #rows: RowStatements;
  readonly #count: Statement;
  readonly #schemaVersion: Statement;
  /** The schema version for which the columns were read. */
  #lookedAt: unknown;
  #listed: ListedStatements | undefined;
  #searched: SearchedStatements | undefined;

  /** Creates the table when it does not exist. */
  constructor(db: DatabaseSync, model: string) {
    this.#db = db;
    this.#name = tableOf(model);
    this.#rows = prepareRows(db, this.#name);
    this.#count = db.prepare(`SELECT count(*) AS count FROM ${quoted(this.#name)}`);
    this.#schemaVersion = db.prepare('PRAGMA schema_version');
    this.#look();
  }

  load(ids: string[]): unknown[] {
    return (this.#withLists() ?? this.#rows).load.all(JSON.stringify(ids));
  }

  page({ partition, list, after = -1, limit }: PageQuery): unknown[] {
    const listed = this.#withLists();
    if (list !== undefined) return listed?.list.all(partition, list, after, limit) ?? [];
    return (listed ?? this.#rows).page.all(partition, after, limit);
  }

  /** Returns the beginnings of lists, in their order. */
  heads({ partition, lists, limit }: HeadsQuery): unknown[][] {
    const listed = this.#withLists();
    return lists.map((list) => listed?.list.all(partition, list, -1, limit) ?? []);
  }

  countPage({ partition, list, limit }: Omit<PageQuery, 'after'>): number {
    if (list === undefined) return counted(this.#rows.countPage.get(partition, limit));
    return counted(this.#withLists()?.countList.get(partition, list, limit));
  }

  changes({ partition, above = -1, below = Number.MAX_SAFE_INTEGER, limit }: ChangesQuery): unknown[] {
    return this.#withLists()?.changes.all(partition, above, below, limit) ?? [];
  }

  search({ below = Number.MAX_SAFE_INTEGER, limit, ...query }: SearchQuery): unknown[] {
    if (query.words.length === 0 || query.partitions.length === 0) return [];
    return this.#withTerms()?.search.all(matchText(query), below, limit) ?? [];
  }

  scan(query: ScanQuery): unknown[] {
    return scanRows(this.#withLists() ?? this.#rows, query);
  }

  write(rows: readonly Row[]): void {
    const stored = rows.map(toStored);
    if (rows.some(({ search }) => search)) this.#addTerms();
    else if (rows.some(({ lists }) => lists)) this.#addLists();
    const listed = this.#withLists();
    if (this.#searched) writeSearched(this.#searched, stored);
    else if (listed) writeListed(this.#listed as ListedStatements, stored);
    else writeRows(this.#rows, stored);
  }

  count(): number {
    return this.#count.get()?.count as number;
  }

  /** Removes all rows. The table stays: other processes continue to read it. */
  clear(): void {
    this.#db.exec(`DELETE FROM ${quoted(this.#name)}`);
    if (this.#withLists()) this.#db.exec(`DELETE FROM ${quoted(listsBeside(this.#name))}`);
    if (this.#withTerms()) clearTermIndex(this.#db, this.#name);
  }

  /** Renames the table, and those beside it, for another read model, which has none. It cannot be used after that. */
  rename(model: string): void {
    const to = tableOf(model);
    const besides = [
      ...(this.#withLists() ? [listsBeside] : []),
      ...(this.#withTerms() ? [termsBeside] : []),
      (table: string) => table,
    ];
    for (const beside of besides) {
      this.#db.exec(`ALTER TABLE ${quoted(beside(this.#name))} RENAME TO ${quoted(beside(to))}`);
    }
  }

  #addLists(): void {
    if (this.#withLists()) return;
    addLists(this.#db, this.#name);
    this.#look();
  }

  #addTerms(): void {
    if (this.#withTerms()) return;
    this.#addLists();
    addTerms(this.#db, this.#name);
    this.#look();
  }

  /** Undefined when no row has lists or terms; another process may since have written the first one. */
  #withLists(): SearchedStatements | ListedStatements | undefined {
    if (!this.#listed) this.#look();
    return this.#searched ?? this.#listed;
  }

  #withTerms(): SearchedStatements | undefined {
    if (!this.#searched) this.#look();
    return this.#searched;
  }

  /** Many rows have neither, and every read needs to know: the columns are read only when the file's schema has changed. */
  #look(): void {
    const version = this.#schemaVersion.get()?.schema_version;
    if (version === this.#lookedAt) return;
    this.#lookedAt = version;
    const columns = this.#db.prepare('SELECT name FROM pragma_table_info(?)').all(this.#name);
    const has = (column: string) => columns.some(({ name }) => name === column);
    if (has('lists')) this.#listed ??= prepareListed(this.#db, this.#name);
    if (has('terms')) this.#searched ??= prepareSearched(this.#db, this.#name);
  }
}

/** Whether the table of a read model exists: it is created with the first use. */
export function hasModelTable(db: DatabaseSync, model: string): boolean {
  const tables = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  return tables.get(tableOf(model)) !== undefined;
}

/** Removes the table of a read model with those beside it; a missing one is not an error. */
export function dropModelTable(db: DatabaseSync, model: string): void {
  const table = tableOf(model);
  for (const name of [table, listsBeside(table), termsBeside(table)]) {
    db.exec(`DROP TABLE IF EXISTS ${quoted(name)}`);
  }
}

function counted(row: Record<string, unknown> | undefined): number {
  return (row?.count as number | undefined) ?? 0;
}

/** Returns the name of the table of a read model's rows. */
function tableOf(model: string): string {
  return `model_${model}`;
}

function toStored({ id, partition, order, position: version, body, lists, search }: Row): SearchedRow {
  return {
    ...{ id, partition, order, version },
    body: withChecksum({ id, version }, JSON.stringify(body)),
    lists: lists === undefined ? null : JSON.stringify(lists),
    since: search?.since ?? null,
    terms: search === undefined ? null : termsText(search),
  };
}

/**
 * Converts a row of a table; the last of its columns exist once a row of the table has had such values. Throws as SQLite does for a damaged
 * page where the row is damaged.
 */
export function toRow<Body extends object>(stored: unknown): Row<Body> {
  const { id, partition, order, version: position, body } = toStoredRow(stored);
  const [lists, since, terms] = (stored as (string | number | null)[]).slice(5);
  return {
    ...{ id, partition, order, position },
    body: checkedBody<Body>({ id, version: position }, body),
    ...(typeof lists === 'string' && { lists: JSON.parse(lists) }),
    ...(typeof since === 'number' && { search: storedTerms(String(terms), since) }),
  };
}
