import type { Collection, Db } from 'mongodb';
import type { Position } from '../../ports/eventLog.ts';
import type { Row } from '../../ports/readModels.ts';
import type { MongoConnection } from './MongoConnection.ts';

/** Rows of one bulk write: small enough that each is answered well within the time of a call. */
const BATCH_ROWS = 200;
/** Rows that one call of `prune` removes. */
const PRUNED_AT_ONCE = 1_000;

/** A row as a document of its read model's collection. */
export interface StoredRow {
  _id: string;
  order: number;
  /** `position` is first: documents are compared field by field, so the newer state is the greater one. */
  state: {
    position: Position;
    partition: string;
    /** JSON: BSON would change lone surrogates, which a caller's strings may hold. */
    body: string;
  };
}

/** The collection of a read model's rows. */
export function rowsName(model: string): string {
  return `rows.${model}`;
}

export function rowsOf(db: Db, model: string): Collection<StoredRow> {
  return db.collection(rowsName(model));
}

/** Writes rows, each unless a newer state of it is there. */
export async function writeRows(connection: MongoConnection, model: string, rows: Row[]): Promise<void> {
  for (let start = 0; start < rows.length; start += BATCH_ROWS) {
    const writes = rows.slice(start, start + BATCH_ROWS).map(keepNewest);
    await connection.call((db) => rowsOf(db, model).bulkWrite(writes, { ordered: false }));
  }
}

/** See `ReadModels.remove`. */
export async function removeRows(
  connection: MongoConnection,
  model: string,
  ids: string[],
  upTo: Position,
): Promise<void> {
  for (let start = 0; start < ids.length; start += BATCH_ROWS) {
    const filter = { _id: { $in: ids.slice(start, start + BATCH_ROWS) }, 'state.position': { $lte: upTo } };
    await connection.call((db) => rowsOf(db, model).deleteMany(filter));
  }
}

/** See `ReadModels.prune`; it makes the index that it needs. */
export async function pruneRows(connection: MongoConnection, model: string, before: Position): Promise<void> {
  await connection.call((db) => rowsOf(db, model).createIndex({ 'state.position': 1 }));
  const below = { 'state.position': { $lt: before } };
  for (let found = PRUNED_AT_ONCE; found === PRUNED_AT_ONCE; ) {
    const ids = await connection.call((db) =>
      rowsOf(db, model)
        .find(below, { projection: { _id: 1 }, limit: PRUNED_AT_ONCE, batchSize: PRUNED_AT_ONCE + 1 })
        .map(({ _id }) => _id)
        .toArray(),
    );
    await removeRows(connection, model, ids, before - 1);
    found = ids.length;
  }
}

/**
 * Writes a row unless a newer state of it is there. Filtered by `_id` alone, so that it is one look into that index, and
 * so that the server itself repeats one of two upserts that insert the same row at once.
 */
function keepNewest({ id, partition, order, position, body }: Row) {
  return {
    updateOne: {
      filter: { _id: id },
      update: {
        $max: { state: { position, partition, body: JSON.stringify(body) } },
        $setOnInsert: { order },
      },
      upsert: true,
    },
  };
}

/** The row that a document holds. */
export function toRow({ _id: id, order, state: { position, partition, body } }: StoredRow): Row {
  return { id, partition, order, position, body: JSON.parse(body) };
}
