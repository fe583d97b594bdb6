import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../../errors.ts';
import type { Position } from '../../ports/eventLog.ts';
import type { PageQuery, ParkedEvent, ReadModels, Row } from '../../ports/readModels.ts';

const FILE_CHECK_MS = 500;

interface Statements {
  existing: ReturnType<DatabaseSync['prepare']>;
  load: ReturnType<DatabaseSync['prepare']>;
  page: ReturnType<DatabaseSync['prepare']>;
  upsert: ReturnType<DatabaseSync['prepare']>;
}

/**
 * Read models in one SQLite file, a table each. The file may be deleted at any time, also under a running service:
 * it is made anew, and the next write is refused once, so that the projector starts again from the checkpoint.
 */
export class SqliteReadModels implements ReadModels {
  readonly #path: string;
  #db: DatabaseSync;
  #inode: number | undefined;
  #nextFileCheck = 0;
  #statements = new Map<string, Statements>();

  constructor(path: string) {
    this.#path = path;
    this.#db = this.#open();
  }

  async existing(model: string, ids: string[]): Promise<Set<string>> {
    const rows = this.#model(model).existing.all(JSON.stringify(ids));
    return new Set(rows.map((row) => row.id as string));
  }

  async load(model: string, ids: string[]): Promise<Row[]> {
    return this.#model(model).load.all(JSON.stringify(ids)).map(toRow);
  }

  async page(model: string, { partition, after = -1, limit }: PageQuery): Promise<Row[]> {
    return this.#model(model).page.all(partition, after, limit).map(toRow);
  }

  async write(model: string, rows: Row[], checkpoint: Position): Promise<void> {
    this.#checkFile(0);
    const { upsert } = this.#model(model);
    this.#transaction(() => {
      for (const row of rows) {
        upsert.run(row.id, row.partition, row.order, row.position, JSON.stringify(row.body));
      }
      this.#db
        .prepare(
          `INSERT INTO checkpoints (model, position) VALUES (?, ?)
           ON CONFLICT (model) DO UPDATE SET position = max(position, excluded.position)`,
        )
        .run(model, checkpoint);
    });
  }

  async checkpoint(model: string): Promise<Position> {
    this.#checkFile(FILE_CHECK_MS);
    const row = this.#db.prepare('SELECT position FROM checkpoints WHERE model = ?').get(model);
    return (row?.position as number | undefined) ?? 0;
  }

  async park(model: string, { position, eventId, reason }: ParkedEvent): Promise<void> {
    this.#db
      .prepare('INSERT OR IGNORE INTO parked (model, position, event_id, reason) VALUES (?, ?, ?, ?)')
      .run(model, position, eventId, reason);
  }

  async parked(model: string): Promise<ParkedEvent[]> {
    const rows = this.#db
      .prepare('SELECT position, event_id, reason FROM parked WHERE model = ? ORDER BY position LIMIT 1000')
      .all(model);
    return rows.map((row) => ({
      position: row.position as number,
      eventId: row.event_id as string,
      reason: row.reason as string,
    }));
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #open(): DatabaseSync {
    mkdirSync(dirname(this.#path), { recursive: true });
    const db = new DatabaseSync(this.#path, { timeout: 2500 });
    // All of it can be rebuilt, so a crash may cost the last commits, never the file's order (WAL).
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
      CREATE TABLE IF NOT EXISTS checkpoints (model TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS parked (
        model TEXT, position INTEGER, event_id TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (model, position)
      ) WITHOUT ROWID;`);
    this.#inode = this.#currentInode();
    return db;
  }

  #currentInode(): number | undefined {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino;
  }

  #checkFile(everyMs: number): void {
    const now = Date.now();
    if (now < this.#nextFileCheck && everyMs > 0) return;
    this.#nextFileCheck = now + everyMs;
    if (this.#currentInode() === this.#inode) return;
    this.#db.close();
    this.#statements.clear();
    this.#db = this.#open();
    throw unavailable('read model store');
  }

  #model(model: string): Statements {
    this.#checkFile(FILE_CHECK_MS);
    let statements = this.#statements.get(model);
    if (statements === undefined) {
      statements = this.#prepare(model);
      this.#statements.set(model, statements);
    }
    return statements;
  }

  #prepare(model: string): Statements {
    const table = `"model_${model.replaceAll('"', '""')}"`;
    const index = `"model_${model.replaceAll('"', '""')}_pages"`;
    this.#db.exec(`
      CREATE TABLE IF NOT EXISTS ${table} (
        id TEXT PRIMARY KEY, partition TEXT NOT NULL, sequence INTEGER NOT NULL, position INTEGER NOT NULL, body TEXT NOT NULL
      );
      CREATE INDEX IF NOT EXISTS ${index} ON ${table} (partition, sequence);`);
    const columns = 'id, partition, sequence, position, body';
    return {
      existing: this.#db.prepare(`SELECT id FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`),
      load: this.#db.prepare(`SELECT ${columns} FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`),
      page: this.#db.prepare(
        `SELECT ${columns} FROM ${table} WHERE partition = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
      ),
      upsert: this.#db.prepare(
        `INSERT INTO ${table} (${columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
           partition = excluded.partition, position = excluded.position, body = excluded.body
         WHERE excluded.position > ${table}.position`,
      ),
    };
  }

  #transaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }
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
