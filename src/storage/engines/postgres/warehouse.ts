import pg from 'pg';
import { ServiceError, unavailableError } from '../../../platform/errors.ts';
import type {
  ColumnType,
  Table,
  TableChanges,
  TableRow,
  Warehouse,
  WarehouseState,
} from '../../warehouse.ts';

/** Where the state is, among the tables. */
const STATE = 'warehouse_state';
const ROWS_AT_ONCE = 2_000;
const CONNECT_MS = 10_000;

const types: Record<ColumnType, string> = {
  text: 'text',
  boolean: 'boolean',
  integer: 'integer',
  bigint: 'bigint',
  timestamp: 'timestamptz',
};

/** SQLSTATE: a table or schema of this name exists. */
const EXISTS = ['42P06', '42P07'];

/** A warehouse of tables in a schema of a PostgreSQL database. A commit is a transaction, which also has the state. */
export class PostgresWarehouse implements Warehouse {
  readonly format = 'postgres';
  readonly #client: pg.Client;
  readonly #schema: string;

  private constructor(client: pg.Client, schema: string) {
    this.#client = client;
    this.#schema = schema;
  }

  /** Connects to the database at a URL. `schema` need not exist. Rejects with `unavailable`. */
  static async open(url: string, schema: string): Promise<PostgresWarehouse> {
    return orUnavailable(async () => {
      const client = new pg.Client({
        ...{ connectionString: url, connectionTimeoutMillis: CONNECT_MS },
        // A host that is gone answers nothing, ever.
        keepAlive: true,
      });
      // Whatever uses the connection next rejects.
      client.on('error', () => undefined);
      await client.connect();
      return new PostgresWarehouse(client, schema);
    });
  }

  state(): Promise<WarehouseState | undefined> {
    return orUnavailable(async () => {
      const { rows } = await this.#client.query('SELECT to_regclass($1) AS found', [this.#name(STATE)]);
      if (rows[0].found === null) return undefined;
      const state = await this.#client.query(`SELECT * FROM ${this.#name(STATE)}`);
      return { ...state.rows[0], position: Number(state.rows[0].position) };
    });
  }

  async commit(
    tables: readonly Table[],
    changes: ReadonlyMap<string, TableChanges>,
    state: WarehouseState,
  ): Promise<void> {
    const before = await this.state();
    await orUnavailable(async () => {
      await this.#client.query('BEGIN');
      try {
        if (before === undefined) await this.#create(tables);
        for (const table of tables) {
          const ofTable = changes.get(table.name);
          if (ofTable) await this.#apply(table, ofTable);
        }
        await this.#saveState(state, before?.position);
        await this.#client.query('COMMIT');
      } catch (error) {
        await this.#client.query('ROLLBACK').catch(() => undefined);
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }

  #name(table: string): string {
    return `${pg.escapeIdentifier(this.#schema)}.${pg.escapeIdentifier(table)}`;
  }

  async #create(tables: readonly Table[]): Promise<void> {
    await this.#client.query(`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(this.#schema)}`);
    for (const { name, columns } of tables) {
      const defined = columns.map(
        (one, index) =>
          `${pg.escapeIdentifier(one.name)} ${types[one.type]}${index === 0 ? ' PRIMARY KEY' : ''}`,
      );
      await this.#client.query(`CREATE TABLE ${this.#name(name)} (${defined.join(', ')})`);
    }
    await this.#client.query(
      `CREATE TABLE ${this.#name(STATE)} (log text, workspace text, view text, schema text, position bigint)`,
    );
  }

  async #apply(table: Table, changes: TableChanges): Promise<void> {
    const rows: TableRow[] = [];
    const gone: string[] = [];
    for (const [key, row] of changes) {
      if (row === null) gone.push(String(key));
      else rows.push(row);
    }
    const [key = '', ...others] = table.columns.map(({ name }) => pg.escapeIdentifier(name));
    const name = this.#name(table.name);
    const insert =
      `INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, $1) ` +
      `ON CONFLICT (${key}) DO UPDATE SET ${others.map((one) => `${one} = excluded.${one}`).join(', ')}`;
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      const some = rows.slice(from, from + ROWS_AT_ONCE).map((row) => recordOf(table, row));
      await this.#client.query(insert, [JSON.stringify(some)]);
    }
    const type = types[table.columns[0]?.type ?? 'text'];
    if (gone.length > 0)
      await this.#client.query(`DELETE FROM ${name} WHERE ${key} = ANY($1::${type}[])`, [gone]);
  }

  /** Rejects with `conflict` when another process has committed since. */
  async #saveState(
    { log, workspace, view, schema, position }: WarehouseState,
    before: number | undefined,
  ): Promise<void> {
    const { rowCount } = await this.#client.query(
      before === undefined
        ? `INSERT INTO ${this.#name(STATE)} VALUES ($1, $2, $3, $4, $5)`
        : `UPDATE ${this.#name(STATE)} SET log = $1, workspace = $2, view = $3, schema = $4, position = $5 WHERE position = ${before}`,
      [log, workspace, view, schema, position],
    );
    if (rowCount !== 1) throw new ServiceError('conflict', 'Another process has written this warehouse.');
  }
}

function recordOf({ columns }: Table, row: TableRow): Record<string, unknown> {
  return Object.fromEntries(
    columns.map(({ name }, index) => {
      const cell = row[index];
      return [name, typeof cell === 'bigint' ? Number(cell) : cell];
    }),
  );
}

async function orUnavailable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const { code = 'unknown' } = error as { code?: string };
    if (EXISTS.includes(code))
      throw new ServiceError(
        'conflict',
        'The schema has tables of these names that are not of a warehouse. Name another database.',
      );
    // Its own message may have values of rows.
    throw unavailableError('warehouse', undefined, `PostgreSQL, or the way to it, failed with ${code}.`);
  }
}
