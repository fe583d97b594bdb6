import type { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../../domain/events/event.ts';
import {
  type ChangesQuery,
  type HeadsQuery,
  type ModelName,
  type PageQuery,
  type ParkedEvent,
  type ReadModels,
  type Row,
  type RowBatch,
  type ScanQuery,
  type SearchQuery,
  setBack,
} from '../../readModels.ts';
import { SqliteFile } from './file.ts';
import {
  addLists,
  addTerms,
  clearTermIndex,
  type ListedStatements,
  listTable,
  matchText,
  prepareListed,
  prepareSearched,
  type SearchedRow,
  type SearchedStatements,
  storedTerms,
  termIndex,
  termsText,
  writeListed,
  writeSearched,
} from './queries.ts';
import {
  checkedBody,
  prepareRows,
  quoted,
  type RowStatements,
  type Statement,
  scanRows,
  toStoredRow,
  withChecksum,
  writeRows,
} from './rows.ts';

/** The table of a read model's rows, with the tables for its lists and terms, once a row has some. */
class ModelTable {
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
    this.#prepareColumns();
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
    if (this.#withLists()) this.#db.exec(`DELETE FROM ${quoted(listTable(this.#name))}`);
    if (this.#withTerms()) clearTermIndex(this.#db, this.#name);
  }

  /** Renames the table, and those beside it, for another read model, which has none. It cannot be used after that. */
  rename(model: string): void {
    const to = tableOf(model);
    const besides = [
      ...(this.#withLists() ? [listTable] : []),
      ...(this.#withTerms() ? [termIndex] : []),
      (table: string) => table,
    ];
    for (const beside of besides) {
      this.#db.exec(`ALTER TABLE ${quoted(beside(this.#name))} RENAME TO ${quoted(beside(to))}`);
    }
  }

  #addLists(): void {
    if (this.#withLists()) return;
    addLists(this.#db, this.#name);
    this.#prepareColumns();
  }

  #addTerms(): void {
    if (this.#withTerms()) return;
    this.#addLists();
    addTerms(this.#db, this.#name);
    this.#prepareColumns();
  }

  /** Undefined when no row has lists or terms; another process may since have written the first one. */
  #withLists(): SearchedStatements | ListedStatements | undefined {
    if (!this.#listed) this.#prepareColumns();
    return this.#searched ?? this.#listed;
  }

  #withTerms(): SearchedStatements | undefined {
    if (!this.#searched) this.#prepareColumns();
    return this.#searched;
  }

  /** Many rows have neither, and every read needs to know: the columns are read only when the file's schema has changed. */
  #prepareColumns(): void {
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
function hasModelTable(db: DatabaseSync, model: string): boolean {
  const tables = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  return tables.get(tableOf(model)) !== undefined;
}

/** Removes the table of a read model with those beside it; a missing one is not an error. */
function dropModelTable(db: DatabaseSync, model: string): void {
  const table = tableOf(model);
  for (const name of [table, listTable(table), termIndex(table)]) {
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
function toRow<Body extends object>(stored: unknown): Row<Body> {
  const { id, partition, order, version: position, body } = toStoredRow(stored);
  const [lists, since, terms] = (stored as (string | number | null)[]).slice(5);
  return {
    ...{ id, partition, order, position },
    body: checkedBody<Body>({ id, version: position }, body),
    ...(typeof lists === 'string' && { lists: JSON.parse(lists) }),
    ...(typeof since === 'number' && { search: storedTerms(String(terms), since) }),
  };
}

/** Sets up the settings and shared tables of the read models' file. */
function setUpReadModels(db: DatabaseSync): void {
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

const STORE = 'read model store';

interface CheckpointStatements {
  get: Statement;
  set: Statement;
}

/**
 * Read models in one SQLite file, with a table for each. The file may be deleted at any time, even while the service is running:
 * it is recreated, empty, and writers are refused until they have read their checkpoint again.
 */
export class SqliteReadModels implements ReadModels {
  readonly #file: SqliteFile;
  readonly #models = new Map<string, ModelTable>();
  #checkpoints: CheckpointStatements | undefined;
  /** The checkpoints last read or written by this instance. */
  readonly #seen = new Map<string, Position>();

  /** Opens the file, creating it and its folder when they do not exist. */
  constructor(path: string) {
    const onReset = () => {
      // Their tables may have been rolled back, or dropped by someone else.
      this.#models.clear();
      this.#checkpoints = undefined;
    };
    this.#file = new SqliteFile({ path, store: STORE, isDerived: true, setUp: setUpReadModels, onReset });
  }

  async load<Body extends object>(model: ModelName<Body>, ids: string[]): Promise<Row<Body>[]> {
    return this.#rows(model, (table) => table.load(ids));
  }

  async page<Body extends object>(model: ModelName<Body>, query: PageQuery): Promise<Row<Body>[]> {
    return this.#rows(model, (table) => table.page(query));
  }

  async heads<Body extends object>(model: ModelName<Body>, query: HeadsQuery): Promise<Row<Body>[][]> {
    return this.#file.run((db) => {
      const found = this.#model(db, model).heads(query);
      return found.map((rows) => rows.map(toRow<Body>));
    });
  }

  async countPage(model: ModelName, query: Omit<PageQuery, 'after'>): Promise<number> {
    return this.#file.run((db) => this.#model(db, model).countPage(query));
  }

  async changes<Body extends object>(model: ModelName<Body>, query: ChangesQuery): Promise<Row<Body>[]> {
    return this.#rows(model, (table) => table.changes(query));
  }

  async search<Body extends object>(model: ModelName<Body>, query: SearchQuery): Promise<Row<Body>[]> {
    return this.#rows(model, (table) => table.search(query));
  }

  async scan<Body extends object>(model: ModelName<Body>, query: ScanQuery): Promise<Row<Body>[]> {
    return this.#rows(model, (table) => table.scan(query));
  }

  async write(...batches: RowBatch[]): Promise<void> {
    const reached = this.#file.transaction((db) => batches.map((batch) => this.#write(db, batch)));
    for (const [at, { model }] of batches.entries()) this.#seen.set(model, reached[at] as Position);
  }

  async checkpoint(model: string): Promise<Position> {
    const position = this.#file.run((db) => this.#checkpoint(db, model));
    this.#seen.set(model, position);
    return position;
  }

  async begin(model: string, log: string): Promise<void> {
    this.#file.transaction((db) => {
      this.#model(db, model).clear();
      db.prepare('DELETE FROM parked WHERE model = ?').run(model);
      db.prepare('INSERT OR REPLACE INTO checkpoints (model, position, log) VALUES (?, 0, ?)').run(
        model,
        log,
      );
    });
    this.#seen.delete(model);
  }

  async builtFrom(model: string): Promise<string | undefined> {
    const row = this.#file.run((db) => this.#checkpointsOf(db).get.get(model));
    return (row?.log as string | null | undefined) ?? undefined;
  }

  async park(model: string, { position, eventId, reason }: ParkedEvent): Promise<void> {
    this.#file.run((db) =>
      db
        .prepare('INSERT OR IGNORE INTO parked (model, position, event_id, reason) VALUES (?, ?, ?, ?)')
        .run(model, position, eventId, reason),
    );
  }

  async parked(model: string): Promise<ParkedEvent[]> {
    const rows = this.#file.run((db) =>
      db
        .prepare('SELECT position, event_id, reason FROM parked WHERE model = ? ORDER BY position LIMIT 1000')
        .all(model),
    );
    return rows.map((row) => ({
      position: row.position as number,
      eventId: row.event_id as string,
      reason: row.reason as string,
    }));
  }

  async count(model: string): Promise<number> {
    // Commands count on a full disk, too: nothing is created for it.
    return this.#file.run((db) => (hasModelTable(db, model) ? this.#model(db, model).count() : 0));
  }

  async replace(model: string, byModel: string): Promise<void> {
    this.#file.transaction((db) => {
      if (this.#checkpointsOf(db).get.get(byModel) === undefined) return;
      dropRows(db, model);
      this.#model(db, byModel).rename(model);
      for (const table of ['checkpoints', 'parked']) {
        db.prepare(`UPDATE ${table} SET model = ? WHERE model = ?`).run(model, byModel);
      }
    });
    // Whoever wrote the earlier rows with this object has to learn of it: what was last seen of them stays.
    this.#models.delete(model);
    this.#forget(byModel);
  }

  async drop(model: string): Promise<void> {
    this.#file.transaction((db) => dropRows(db, model));
    this.#forget(model);
  }

  purge(signal?: AbortSignal): Promise<void> {
    return this.#file.purge(signal);
  }

  async close(): Promise<void> {
    this.#file.close();
  }

  #rows<Body extends object>(model: ModelName<Body>, read: (table: ModelTable) => unknown[]): Row<Body>[] {
    return this.#file.run((db) => read(this.#model(db, model)).map(toRow<Body>));
  }

  #model(db: DatabaseSync, model: string): ModelTable {
    let table = this.#models.get(model);
    if (table === undefined) {
      table = new ModelTable(db, model);
      this.#models.set(model, table);
    }
    return table;
  }

  #checkpointsOf(db: DatabaseSync): CheckpointStatements {
    this.#checkpoints ??= {
      get: db.prepare('SELECT position, log FROM checkpoints WHERE model = ?'),
      set: db.prepare(
        `INSERT INTO checkpoints (model, position) VALUES (?, ?)
         ON CONFLICT (model) DO UPDATE SET position = excluded.position`,
      ),
    };
    return this.#checkpoints;
  }

  #checkpoint(db: DatabaseSync, model: string): Position {
    const row = this.#checkpointsOf(db).get.get(model);
    return (row?.position as number | undefined) ?? 0;
  }

  /** Writes a batch; returns the checkpoint. */
  #write(db: DatabaseSync, { model, rows, checkpoint }: RowBatch): Position {
    const before = this.#checkpoint(db, model);
    if (before < (this.#seen.get(model) ?? 0)) {
      this.#seen.delete(model);
      throw setBack();
    }
    this.#model(db, model).write(rows);
    const after = Math.max(before, checkpoint);
    this.#checkpointsOf(db).set.run(model, after);
    return after;
  }

  #forget(model: string): void {
    this.#models.delete(model);
    this.#seen.delete(model);
  }
}

function dropRows(db: DatabaseSync, model: string): void {
  dropModelTable(db, model);
  for (const table of ['checkpoints', 'parked']) {
    db.prepare(`DELETE FROM ${table} WHERE model = ?`).run(model);
  }
}
