import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailable } from '../../errors.ts';
import type { Position } from '../../ports/eventLog.ts';
import type { PageQuery, ParkedEvent, ReadModels, Row } from '../../ports/readModels.ts';
import { fileIdentity, openReadModelFile } from './readModelFile.ts';
import {
  type CheckpointStatements,
  PRUNED_AT_ONCE,
  prepareCheckpoints,
  prepareModel,
  preparePrune,
  type ReadModelStatements,
  rowsTable,
} from './readModelTable.ts';

const STORE = 'read model store';
const FILE_CHECK_MS = 500;

/**
 * Read models in one SQLite file, a table each. The file may be deleted at any time, also under a running service: it
 * is made anew, empty, and writers are refused until they have read their checkpoint again.
 */
export class SqliteReadModels implements ReadModels {
  readonly #path: string;
  #db: DatabaseSync;
  #checkpoints: CheckpointStatements;
  #file: number | undefined;
  #nextFileCheck = 0;
  readonly #models = new Map<string, ReadModelStatements>();
  /** The checkpoints that this instance last read or wrote. */
  readonly #seen = new Map<string, Position>();

  /** Opens the file, and makes it and its folder when they are not there. */
  constructor(path: string) {
    this.#path = path;
    this.#db = openReadModelFile(path);
    this.#checkpoints = prepareCheckpoints(this.#db);
    this.#file = fileIdentity(path);
  }

  async existing(model: string, ids: string[]): Promise<Set<string>> {
    const rows = this.#run(() => this.#model(model).existing.all(JSON.stringify(ids)));
    return new Set(rows.map((row) => row.id as string));
  }

  async load(model: string, ids: string[]): Promise<Row[]> {
    return this.#run(() => this.#model(model).load.all(JSON.stringify(ids))).map(toRow);
  }

  async page(model: string, { partition, after = -1, limit }: PageQuery): Promise<Row[]> {
    return this.#run(() => this.#model(model).page.all(partition, after, limit)).map(toRow);
  }

  async write(model: string, rows: Row[], checkpoint: Position): Promise<void> {
    const position = this.#transaction(() => {
      const before = this.#checkpoint(model);
      if (before < (this.#seen.get(model) ?? 0)) {
        this.#seen.delete(model);
        throw unavailable(STORE);
      }
      this.#upsert(model, rows);
      const after = Math.max(before, checkpoint);
      this.#checkpoints.set.run(model, after);
      return after;
    });
    this.#seen.set(model, position);
  }

  async save(model: string, rows: Row[]): Promise<void> {
    if (rows.length > 0) this.#transaction(() => this.#upsert(model, rows));
  }

  async swap(model: string, row: Row, expected: Position | undefined): Promise<boolean> {
    const { id, partition, order, position } = row;
    const body = JSON.stringify(row.body);
    const { changes } = this.#transaction(() => {
      // Prepared anew: another process may have dropped the table, and that is what this call is to tell.
      const { insert, swap } = prepareModel(this.#db, model);
      if (expected === undefined) return insert.run(id, partition, order, position, body);
      return swap.run(partition, position, body, id, expected);
    });
    return Number(changes) === 1;
  }

  async remove(model: string, ids: string[], upTo: Position): Promise<void> {
    if (ids.length > 0) this.#run(() => this.#model(model).remove.run(JSON.stringify(ids), upTo));
  }

  async prune(model: string, before: Position): Promise<void> {
    for (let removed = PRUNED_AT_ONCE; removed === PRUNED_AT_ONCE; await nextTurn()) {
      const { changes } = this.#run(() => {
        this.#model(model);
        return preparePrune(this.#db, model).run(before);
      });
      removed = Number(changes);
    }
  }

  async checkpoint(model: string): Promise<Position> {
    const position = this.#run(() => this.#checkpoint(model));
    this.#seen.set(model, position);
    return position;
  }

  async begin(model: string, log: string): Promise<void> {
    this.#transaction(() => {
      this.#model(model);
      // Emptied and not dropped: other processes go on reading it.
      this.#db.exec(`DELETE FROM ${rowsTable(model)}`);
      this.#db.prepare('DELETE FROM parked WHERE model = ?').run(model);
      this.#db
        .prepare('INSERT OR REPLACE INTO checkpoints (model, position, log) VALUES (?, 0, ?)')
        .run(model, log);
    });
    this.#seen.delete(model);
  }

  async builtFrom(model: string): Promise<string | undefined> {
    const row = this.#run(() => this.#checkpoints.get.get(model));
    return (row?.log as string | null | undefined) ?? undefined;
  }

  async park(model: string, { position, eventId, reason }: ParkedEvent): Promise<void> {
    this.#run(() =>
      this.#db
        .prepare('INSERT OR IGNORE INTO parked (model, position, event_id, reason) VALUES (?, ?, ?, ?)')
        .run(model, position, eventId, reason),
    );
  }

  async parked(model: string): Promise<ParkedEvent[]> {
    const rows = this.#run(() =>
      this.#db
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
    return this.#run(() => this.#model(model).count.get())?.count as number;
  }

  async replace(model: string, byModel: string): Promise<void> {
    this.#transaction(() => {
      if (this.#checkpoints.get.get(byModel) === undefined) return;
      this.#model(byModel);
      this.#dropRows(model);
      this.#db.exec(`ALTER TABLE ${rowsTable(byModel)} RENAME TO ${rowsTable(model)}`);
      for (const table of ['checkpoints', 'parked']) {
        this.#db.prepare(`UPDATE ${table} SET model = ? WHERE model = ?`).run(model, byModel);
      }
    });
    this.#forget(model, byModel);
  }

  async drop(model: string): Promise<void> {
    this.#transaction(() => this.#dropRows(model));
    this.#forget(model);
  }

  async acquireLease(name: string, owner: string, forMs: number): Promise<boolean> {
    // All who share the file share the machine's clock. A term that has yet to begin means that it was set back.
    const now = Date.now();
    const { changes } = this.#run(() =>
      this.#db
        .prepare(
          `INSERT INTO leases (name, owner, taken_at, for_ms) VALUES (:name, :owner, :now, :forMs)
           ON CONFLICT (name) DO UPDATE SET owner = :owner, taken_at = :now, for_ms = :forMs
           WHERE leases.owner = :owner OR :now < taken_at OR :now >= taken_at + leases.for_ms`,
        )
        .run({ name, owner, now, forMs }),
    );
    return Number(changes) === 1;
  }

  async releaseLease(name: string, owner: string): Promise<void> {
    this.#run(() => this.#db.prepare('DELETE FROM leases WHERE name = ? AND owner = ?').run(name, owner));
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #model(model: string): ReadModelStatements {
    let statements = this.#models.get(model);
    if (statements === undefined) {
      statements = prepareModel(this.#db, model);
      this.#models.set(model, statements);
    }
    return statements;
  }

  #upsert(model: string, rows: Row[]): void {
    const { update, upsert } = this.#model(model);
    for (const { id, partition, order, position, body } of rows) {
      const text = JSON.stringify(body);
      const { changes } = update.run(position, text, id, partition, position);
      if (changes === 0) upsert.run(id, partition, order, position, text);
    }
  }

  #checkpoint(model: string): Position {
    const row = this.#checkpoints.get.get(model);
    return (row?.position as number | undefined) ?? 0;
  }

  #dropRows(model: string): void {
    this.#db.exec(`DROP TABLE IF EXISTS ${rowsTable(model)}`);
    for (const table of ['checkpoints', 'parked']) {
      this.#db.prepare(`DELETE FROM ${table} WHERE model = ?`).run(model);
    }
  }

  #forget(...models: string[]): void {
    for (const model of models) {
      this.#models.delete(model);
      this.#seen.delete(model);
    }
  }

  #transaction<Result>(work: () => Result): Result {
    this.#nextFileCheck = 0;
    return this.#run(() => {
      this.#db.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        this.#db.exec('COMMIT');
        return result;
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        throw error;
      }
    });
  }

  #run<Result>(work: () => Result): Result {
    try {
      this.#reopenWhenDeleted();
      return work();
    } catch (error) {
      // Their tables may have been rolled back, or dropped by somebody else.
      this.#models.clear();
      throw isStoreError(error) ? unavailable(STORE, error) : error;
    }
  }

  #reopenWhenDeleted(): void {
    const now = performance.now();
    if (now < this.#nextFileCheck) return;
    if (fileIdentity(this.#path) !== this.#file) {
      const gone = this.#db;
      this.#db = openReadModelFile(this.#path);
      this.#checkpoints = prepareCheckpoints(this.#db);
      this.#file = fileIdentity(this.#path);
      this.#models.clear();
      gone.close();
    }
    this.#nextFileCheck = now + FILE_CHECK_MS;
  }
}

/** An error of SQLite or of the file system. */
function isStoreError(error: unknown): boolean {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  return code === 'ERR_SQLITE_ERROR' || syscall !== undefined;
}

function toRow(row: Record<string, unknown>): Row {
  return {
    id: row.id as string,
    partition: row.partition as string,
    order: row.sequence as number,
    position: row.position as number,
    body: JSON.parse(row.body as string),
  };
}
