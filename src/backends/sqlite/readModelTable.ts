import type { DatabaseSync } from 'node:sqlite';

type Statement = ReturnType<DatabaseSync['prepare']>;

export interface ReadModelStatements {
  existing: Statement;
  load: Statement;
  page: Statement;
  count: Statement;
  upsert: Statement;
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
    upsert: db.prepare(
      `INSERT INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
         partition = excluded.partition, position = excluded.position, body = excluded.body
       WHERE excluded.position > ${table}.position`,
    ),
  };
}
