import type { DatabaseSync } from 'node:sqlite';

/** Rows that one statement of `preparePrune` removes. */
export const PRUNED_AT_ONCE = 1_000;

type Statement = ReturnType<DatabaseSync['prepare']>;

export interface ReadModelStatements {
  existing: Statement;
  load: Statement;
  page: Statement;
  count: Statement;
  update: Statement;
  upsert: Statement;
  insert: Statement;
  swap: Statement;
  remove: Statement;
}

export interface CheckpointStatements {
  get: Statement;
  set: Statement;
}

/** The statements of the checkpoints of all read models. */
export function prepareCheckpoints(db: DatabaseSync): CheckpointStatements {
  return {
    get: db.prepare('SELECT position, log FROM checkpoints WHERE model = ?'),
    set: db.prepare(
      `INSERT INTO checkpoints (model, position) VALUES (?, ?)
       ON CONFLICT (model) DO UPDATE SET position = excluded.position`,
    ),
  };
}

/** The table of a read model's rows, quoted. */
export function rowsTable(model: string): string {
  return `"model_${model.replaceAll('"', '""')}"`;
}

/** The statements of a read model, whose table is made when it is not there. */
export function prepareModel(db: DatabaseSync, model: string): ReadModelStatements {
  const table = rowsTable(model);
  // The constraint is there for its index, which, unlike one that is made by itself, is renamed with the table.
  db.exec(`CREATE TABLE IF NOT EXISTS ${table} (
    id TEXT PRIMARY KEY, partition TEXT NOT NULL, sequence INTEGER NOT NULL, position INTEGER NOT NULL,
    body TEXT NOT NULL, UNIQUE (partition, sequence, id))`);
  const columns = 'id, partition, sequence, position, body';
  return {
    existing: db.prepare(`SELECT id FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`),
    load: db.prepare(`SELECT ${columns} FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`),
    page: db.prepare(
      `SELECT ${columns} FROM ${table} WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
    ),
    count: db.prepare(`SELECT count(*) AS count FROM ${table}`),
    // Most rows stay where they are listed: the index of lists is then left alone.
    update: db.prepare(
      `UPDATE ${table} SET position = ?, body = ? WHERE id = ? AND partition = ? AND position < ?`,
    ),
    upsert: db.prepare(
      `INSERT INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
         partition = excluded.partition, position = excluded.position, body = excluded.body
       WHERE excluded.position > ${table}.position`,
    ),
    insert: db.prepare(`INSERT OR IGNORE INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?)`),
    swap: db.prepare(
      `UPDATE ${table} SET partition = ?, position = ?, body = ? WHERE id = ? AND position = ?`,
    ),
    remove: db.prepare(`DELETE FROM ${table} WHERE id IN (SELECT value FROM json_each(?)) AND position <= ?`),
  };
}

/** The statement that removes some of the rows below a position; it makes the index that it needs. */
export function preparePrune(db: DatabaseSync, model: string): Statement {
  const table = rowsTable(model);
  const index = rowsTable(`${model}_by_position`);
  db.exec(`CREATE INDEX IF NOT EXISTS ${index} ON ${table} (position)`);
  return db.prepare(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE position < ? LIMIT ${PRUNED_AT_ONCE})`,
  );
}
