import type { Position } from '../domain/events/event.ts';

/** `timestamp`: UTC, to the millisecond. */
export type ColumnType = 'text' | 'boolean' | 'integer' | 'bigint' | 'timestamp';

export interface Column {
  name: string;
  type: ColumnType;
}

/** A value of a column; `bigint` for that type, `number` for `integer`, `Date` for `timestamp`. */
export type Cell = string | boolean | number | bigint | Date | null;

/** The cells in the order of the table's columns; the first is the key, and not `null`. */
export type TableRow = readonly Cell[];

export interface Table {
  name: string;
  columns: readonly Column[];
  /**
   * `current`: the key is a text, and a row may be replaced. `log`: the key is the position of an event; a row is never replaced, but
   * may be removed.
   */
  type: 'current' | 'log';
}

/** For each key, the row that it has from now on; `null`: none. For a `log` table, the key of each of its events, so that they count. */
export type TableChanges = Map<string | bigint, TableRow | null>;

/** What a warehouse was made from; it is never continued from anything else. */
export interface WarehouseOrigin {
  /** The identity of the event log. */
  log: string;
  workspace: string;
  /** `full`, or another view with the epoch of the hashes: `deidentified 1`. */
  view: string;
  /** All tables with all columns, as a digest. */
  schema: string;
}

/** How far a warehouse has come. */
export interface WarehouseState extends WarehouseOrigin {
  /** All events up to it are contained. */
  position: Position;
}

/** A lock on a folder. The operating system keeps it until it is released or the process ends: one that is suspended has it still. */
export interface FolderLock {
  /** False once its file was deleted or replaced, as when somebody emptied the folder. */
  isHeld(): boolean;
  release(): void;
}

/**
 * Tables outside the service that are derived from its log, for analysis with SQL. Each commit is atomic: whatever ends the process, the
 * tables are those of one position, once the warehouse is opened again. All methods reject with `unavailable` when the place of the
 * warehouse cannot be reached.
 */
export interface Warehouse {
  /** The format of its tables, for the audit trail. */
  readonly format: 'parquet' | 'postgres';
  /** Undefined for an empty place. Rejects with `conflict` where there is something else. */
  state(): Promise<WarehouseState | undefined>;
  /**
   * Applies changes to the tables of these names, and moves to the state. What the tables then contain depends only on the state's
   * position, not on the commits that led there.
   */
  commit(
    tables: readonly Table[],
    changes: ReadonlyMap<string, TableChanges>,
    state: WarehouseState,
  ): Promise<void>;
  close(): Promise<void>;
}
