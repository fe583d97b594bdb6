import type { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../events/event.ts';
import { setBack } from '../../ports/readModelRefusals.ts';
import type {
  ChangesQuery,
  ModelName,
  PageQuery,
  ParkedEvent,
  ReadModels,
  Row,
  RowBatch,
} from '../../ports/readModels.ts';
import {
  addLists,
  isListed,
  type ListedRow,
  type ListedStatements,
  listsBeside,
  prepareListed,
  toListedRow,
  writeListed,
} from './listedRows.ts';
import { prepareRows, quoted, type RowStatements, type Statement, writeRows } from './rowTable.ts';
import { SqliteFile } from './SqliteFile.ts';
import { setUpReadModels } from './setUpReadModels.ts';

const STORE = 'read model store';

interface ModelStatements {
  rows: RowStatements;
  /** Of a read model that has rows with lists. */
  listed: ListedStatements | undefined;
  count: Statement;
}

interface CheckpointStatements {
  get: Statement;
  set: Statement;
}

/**
 * Read models in one SQLite file, a table each. The file may be deleted at any time, also under a running service: it
 * is made anew, empty, and writers are refused until they have read their checkpoint again.
 */
export class SqliteReadModels implements ReadModels {
  readonly #file: SqliteFile;
  readonly #models = new Map<string, ModelStatements>();
  #checkpoints: CheckpointStatements | undefined;
  /** The checkpoints that this instance last read or wrote. */
  readonly #seen = new Map<string, Position>();

  /** Opens the file, and makes it and its folder when they are not there. */
  constructor(path: string) {
    const onReset = () => {
      // Their tables may have been rolled back, or dropped by somebody else.
      this.#models.clear();
      this.#checkpoints = undefined;
    };
    this.#file = new SqliteFile({ path, store: STORE, setUp: setUpReadModels, onReset });
  }

  async load<Body extends object>(model: ModelName<Body>, ids: string[]): Promise<Row<Body>[]> {
    return this.#file
      .run((db) => {
        const { rows, listed } = this.#model(db, model);
        return (listed ?? rows).load.all(JSON.stringify(ids));
      })
      .map(toRow<Body>);
  }

  async page<Body extends object>(
    model: ModelName<Body>,
    { partition, list, after = -1, limit }: PageQuery,
  ): Promise<Row<Body>[]> {
    return this.#file
      .run((db) => {
        if (list !== undefined) return this.#listed(db, model)?.list.all(partition, list, after, limit) ?? [];
        const { rows, listed } = this.#model(db, model);
        return (listed ?? rows).page.all(partition, after, limit);
      })
      .map(toRow<Body>);
  }

  async changes<Body extends object>(
    model: ModelName<Body>,
    { partition, above = -1, below = Number.MAX_SAFE_INTEGER, limit }: ChangesQuery,
  ): Promise<Row<Body>[]> {
    return this.#file
      .run((db) => this.#listed(db, model)?.changes.all(partition, above, below, limit) ?? [])
      .map(toRow<Body>);
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
      this.#model(db, model);
      // Emptied and not dropped: other processes go on reading it.
      db.exec(`DELETE FROM ${quoted(tableOf(model))}`);
      if (this.#listed(db, model)) db.exec(`DELETE FROM ${quoted(listsBeside(tableOf(model)))}`);
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
    return this.#file.run((db) => this.#model(db, model).count.get())?.count as number;
  }

  async replace(model: string, byModel: string): Promise<void> {
    this.#file.transaction((db) => {
      if (this.#checkpointsOf(db).get.get(byModel) === undefined) return;
      this.#model(db, byModel);
      dropRows(db, model);
      const [from, to] = [tableOf(byModel), tableOf(model)];
      db.exec(`ALTER TABLE ${quoted(from)} RENAME TO ${quoted(to)}`);
      if (isListed(db, to)) {
        db.exec(`ALTER TABLE ${quoted(listsBeside(from))} RENAME TO ${quoted(listsBeside(to))}`);
      }
      for (const table of ['checkpoints', 'parked']) {
        db.prepare(`UPDATE ${table} SET model = ? WHERE model = ?`).run(model, byModel);
      }
    });
    this.#forget(model, byModel);
  }

  async drop(model: string): Promise<void> {
    this.#file.transaction((db) => dropRows(db, model));
    this.#forget(model);
  }

  async purge(): Promise<boolean> {
    return this.#file.purge();
  }

  async close(): Promise<void> {
    this.#file.close();
  }

  #model(db: DatabaseSync, model: string): ModelStatements {
    let statements = this.#models.get(model);
    if (statements === undefined) {
      statements = prepareModel(db, model);
      this.#models.set(model, statements);
    }
    return statements;
  }

  /** Undefined where no row has lists; another process may have written the first one meanwhile. */
  #listed(db: DatabaseSync, model: string): ListedStatements | undefined {
    const statements = this.#model(db, model);
    if (!statements.listed && isListed(db, tableOf(model))) {
      statements.listed = prepareListed(db, tableOf(model));
    }
    return statements.listed;
  }

  #writeRows(db: DatabaseSync, model: string, rows: Row[]): void {
    const stored = rows.map(toStored);
    let listed = this.#listed(db, model);
    if (!listed && rows.some(({ lists }) => lists)) {
      addLists(db, tableOf(model));
      listed = this.#listed(db, model);
    }
    if (listed) writeListed(listed, stored);
    else writeRows(this.#model(db, model).rows, stored);
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
    this.#writeRows(db, model, rows);
    const after = Math.max(before, checkpoint);
    this.#checkpointsOf(db).set.run(model, after);
    return after;
  }

  #forget(...models: string[]): void {
    for (const model of models) {
      this.#models.delete(model);
      this.#seen.delete(model);
    }
  }
}

/** The name of the table of a read model's rows. */
function tableOf(model: string): string {
  return `model_${model}`;
}

function prepareModel(db: DatabaseSync, model: string): ModelStatements {
  const table = tableOf(model);
  return {
    rows: prepareRows(db, table),
    listed: isListed(db, table) ? prepareListed(db, table) : undefined,
    count: db.prepare(`SELECT count(*) AS count FROM ${quoted(table)}`),
  };
}

function dropRows(db: DatabaseSync, model: string): void {
  db.exec(`DROP TABLE IF EXISTS ${quoted(tableOf(model))};
    DROP TABLE IF EXISTS ${quoted(listsBeside(tableOf(model)))}`);
  for (const table of ['checkpoints', 'parked']) {
    db.prepare(`DELETE FROM ${table} WHERE model = ?`).run(model);
  }
}

function toStored({ id, partition, order, position: version, body, lists }: Row): ListedRow {
  return {
    id,
    partition,
    order,
    version,
    body: JSON.stringify(body),
    lists: lists === undefined ? null : JSON.stringify(lists),
  };
}

function toRow<Body extends object>(stored: unknown): Row<Body> {
  const { id, partition, order, version: position, body, lists } = toListedRow(stored);
  const row = { id, partition, order, position, body: JSON.parse(body) };
  return lists === null ? row : { ...row, lists: JSON.parse(lists) };
}
