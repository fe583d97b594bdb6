import type { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../../domain/events/event.ts';
import { setBack } from '../../readModelRefusals.ts';
import type {
  ChangesQuery,
  HeadsQuery,
  ModelName,
  PageQuery,
  ParkedEvent,
  ReadModels,
  Row,
  RowBatch,
  ScanQuery,
  SearchQuery,
} from '../../readModels.ts';
import { dropModelTable, hasModelTable, ModelTable, toRow } from './ModelTable.ts';
import type { Statement } from './rowTable.ts';
import { SqliteFile } from './SqliteFile.ts';
import { setUpReadModels } from './setUpReadModels.ts';

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
