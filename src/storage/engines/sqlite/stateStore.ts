import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  StateQuery,
  StateRow,
  StateScan,
  StateStore,
  StateTable,
  StateWrite,
} from '../../stateStore.ts';
import { STORE_FORMAT } from '../../storeFormat.ts';
import { SqliteFile } from './file.ts';
import {
  checkedOrEarlierBody,
  type OwnRowStatements,
  PRUNED_AT_ONCE,
  prepareOwnRows,
  preparePrune,
  type StoredRow,
  scanRows,
  toStoredRow,
  withChecksum,
  writeRows,
} from './rows.ts';

/** State in one SQLite file, with a table for each; acknowledged writes are on disk. A deleted file is not recreated. */
export class SqliteStateStore implements StateStore {
  readonly isTransactional = true;
  readonly isOrdered = true;
  readonly #file: SqliteFile;
  readonly #tables = new Map<string, OwnRowStatements>();

  /** Opens the file, creating it and its folder when they do not exist. */
  constructor(path: string) {
    this.#file = new SqliteFile({
      path,
      store: 'state store',
      // Rows of messages and their links lie all over the file: a page that changes often is copied back once.
      setUp: (db) => db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 8000'),
      onReset: () => this.#tables.clear(),
    });
  }

  async load<Body extends object>(table: StateTable<Body>, ids: string[]): Promise<StateRow<Body>[]> {
    return this.#rows(table, ({ load }) => load.all(JSON.stringify(ids)));
  }

  async page<Body extends object>(
    table: StateTable<Body>,
    { partition, after = -1, limit }: StateQuery,
  ): Promise<StateRow<Body>[]> {
    return this.#rows(table, ({ page }) => page.all(partition, after, limit));
  }

  async scan<Body extends object>(table: StateTable<Body>, query: StateScan): Promise<StateRow<Body>[]> {
    return this.#rows(table, (statements) => scanRows(statements, query));
  }

  async save<Body extends object>(table: StateTable<Body>, rows: StateRow<Body>[]): Promise<void> {
    if (rows.length === 0) return;
    this.#file.transaction((db) => writeRows(this.#table(db, table), rows.map(toStored)));
  }

  async swap<Body extends object>(
    table: StateTable<Body>,
    row: StateRow<Body>,
    expected: number | undefined,
  ): Promise<boolean> {
    return this.write([{ table, swap: row, expected }]);
  }

  async write(writes: readonly StateWrite[]): Promise<boolean> {
    return this.#file.transaction((db) => writes.every((one) => writeOne(this.#table(db, one.table), one)));
  }

  async remove<Body extends object>(table: StateTable<Body>, ids: string[], upTo: number): Promise<void> {
    if (ids.length > 0) this.#file.run((db) => this.#table(db, table).remove.run(JSON.stringify(ids), upTo));
  }

  async prune<Body extends object>(table: StateTable<Body>, before: number): Promise<void> {
    for (let removed = PRUNED_AT_ONCE; removed === PRUNED_AT_ONCE; await nextTurn()) {
      const { changes } = this.#file.run((db) => {
        this.#table(db, table);
        return preparePrune(db, tableName(table)).run(before);
      });
      removed = Number(changes);
    }
  }

  /** Commits together what is called in `work`, and is not awaited there: nothing of it is durable before this returns. Throws `unavailable`. */
  group(work: () => void): void {
    this.#file.group(work);
  }

  purge(signal?: AbortSignal): Promise<void> {
    return this.#file.purge(signal);
  }

  async check(): Promise<void> {
    this.#file.transaction((db) => db.exec(`PRAGMA user_version = ${STORE_FORMAT}`));
  }

  async close(): Promise<void> {
    this.#file.close();
  }

  #rows<Body extends object>(
    table: StateTable<Body>,
    read: (statements: OwnRowStatements) => unknown[],
  ): StateRow<Body>[] {
    return this.#file.run((db) => read(this.#table(db, table)).map((row) => toRow(table, row)));
  }

  #table(db: DatabaseSync, table: { name: string }): OwnRowStatements {
    let statements = this.#tables.get(table.name);
    if (statements === undefined) {
      statements = prepareOwnRows(db, tableName(table));
      this.#tables.set(table.name, statements);
    }
    return statements;
  }
}

/** Returns false for a swap that fails. */
function writeOne(statements: OwnRowStatements, write: StateWrite): boolean {
  if ('save' in write) writeRows(statements, write.save.map(toStored));
  else if ('remove' in write) statements.remove.run(JSON.stringify(write.remove), write.upTo);
  else {
    const { id, partition, order, version, body } = toStored(write.swap);
    const { changes } =
      write.expected === undefined
        ? statements.insert.run(id, partition, order, version, body)
        : statements.swap.run(partition, version, body, id, write.expected);
    return Number(changes) === 1;
  }
  return true;
}

function tableName({ name }: { name: string }): string {
  return `state_${name}`;
}

function toStored<Body extends object>({ revision: version, body, ...row }: StateRow<Body>): StoredRow {
  return { ...row, version, body: withChecksum({ id: row.id, version }, JSON.stringify(body)) };
}

function toRow<Body extends object>(table: StateTable<Body>, stored: unknown): StateRow<Body> {
  const { version: revision, body, ...row } = toStoredRow(stored);
  const parsed = checkedOrEarlierBody({ id: row.id, version: revision }, body);
  return { ...row, revision, body: table.body.parse(parsed) };
}
