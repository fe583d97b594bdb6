import type { Collection, CreateIndexesOptions, Db, Filter, IndexSpecification } from 'mongodb';
import type { Position } from '../../../domain/events/event.ts';
import type { ChangesQuery, SearchQuery, SearchTerms, TermPattern } from '../../readModels.ts';
import { INDEX_MS, type MongoConnection } from './connection.ts';

/** Number of rows per bulk write: small enough for each to be answered well within the time limit of a call. */
const BATCH_ROWS = 200;
/** Number of rows that one call of `pruneRows` removes. */
const PRUNED_AT_ONCE = 1_000;

/** A row as a document in its collection. */
export interface StoredRow {
  _id: string;
  order: number;
  /** `position`, which tells which of two writes is newer, comes first: documents are compared field by field. */
  state: {
    position: Position;
    partition: string;
    /** JSON: BSON would change lone surrogates, which callers' strings may contain. */
    body: string;
    lists?: readonly string[];
    search?: SearchTerms;
  };
}

interface RowQuery {
  partition: string;
  list?: string;
  after?: number;
  limit: number;
}

export function rowsOf(db: Db, collection: string): Collection<StoredRow> {
  return db.collection(collection);
}

/** Creates the index for pages; this also creates the collection. */
export async function indexRows(connection: MongoConnection, collection: string): Promise<void> {
  await index(connection, collection, { 'state.partition': 1, order: 1 });
}

const hasLists = { 'state.lists': { $exists: true } };

/** Creates the indexes for lists and changes, over the rows that have lists. */
export async function indexLists(connection: MongoConnection, collection: string): Promise<void> {
  const only = { partialFilterExpression: hasLists };
  await index(connection, collection, { 'state.partition': 1, 'state.lists': 1, order: 1 }, only);
  await index(connection, collection, { 'state.partition': 1, 'state.position': 1 }, only);
}

const hasTerms = { 'state.search': { $exists: true } };

/** Creates the index for terms, over the rows that have some. */
export async function indexTerms(connection: MongoConnection, collection: string): Promise<void> {
  const keys = { 'state.partition': 1, 'state.search.terms': 1, 'state.search.since': -1 } as const;
  await index(connection, collection, keys, { partialFilterExpression: hasTerms });
}

async function index(
  connection: MongoConnection,
  collection: string,
  keys: IndexSpecification,
  options: CreateIndexesOptions = {},
): Promise<void> {
  await connection.call((db) => rowsOf(db, collection).createIndex(keys, options), INDEX_MS);
}

/** Returns the rows with these ids. */
export function loadRows(
  connection: MongoConnection,
  collection: string,
  ids: string[],
): Promise<StoredRow[]> {
  return connection.call((db) =>
    rowsOf(db, collection)
      .find({ _id: { $in: ids } }, { batchSize: ids.length + 1 })
      .toArray(),
  );
}

/** Returns rows of one partition, or on one of its lists, by ascending order. */
export function pageRows(
  connection: MongoConnection,
  collection: string,
  { partition, list, after = -1, limit }: RowQuery,
): Promise<StoredRow[]> {
  return connection.call((db) =>
    rowsOf(db, collection)
      .find(
        { ...onList({ partition, list }), order: { $gt: after } },
        { sort: { order: 1 }, limit, batchSize: limit + 1 },
      )
      .toArray(),
  );
}

/** Returns rows by ascending id, after the given id, if any. */
export function scanRows(
  connection: MongoConnection,
  collection: string,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<StoredRow[]> {
  const filter: Filter<StoredRow> = after === undefined ? {} : { _id: { $gt: after } };
  return connection.call((db) =>
    rowsOf(db, collection)
      .find(filter, { sort: { _id: 1 }, limit, batchSize: limit + 1 })
      .toArray(),
  );
}

/** Counts the rows of one partition, or on one of its lists, up to `limit`. */
export function countRows(
  connection: MongoConnection,
  collection: string,
  { limit, ...query }: Omit<RowQuery, 'after'>,
): Promise<number> {
  return connection.call((db) => rowsOf(db, collection).countDocuments(onList(query), { limit }));
}

function onList({ partition, list }: { partition: string; list?: string | undefined }): Filter<StoredRow> {
  const listed = list === undefined ? {} : { 'state.lists': { $exists: true, $eq: list } };
  return { 'state.partition': partition, ...listed };
}

/** Returns rows of one partition that have lists, by descending position. */
export function changedRows(
  connection: MongoConnection,
  collection: string,
  { partition, above = -1, below = Number.MAX_SAFE_INTEGER, limit }: ChangesQuery,
): Promise<StoredRow[]> {
  return connection.call((db) =>
    rowsOf(db, collection)
      .find(
        { 'state.partition': partition, ...hasLists, 'state.position': { $gt: above, $lt: below } },
        { sort: { 'state.position': -1 }, limit, batchSize: limit + 1 },
      )
      .toArray(),
  );
}

/** Returns the collection filter for a search by terms. */
export function searchFilter({
  partitions,
  words,
  below = Number.MAX_SAFE_INTEGER,
}: Omit<SearchQuery, 'limit'>): Filter<StoredRow> {
  return {
    'state.partition': { $in: [...partitions] },
    ...hasTerms,
    'state.search.since': { $lt: below },
    $and: words.map((patterns) => ({ 'state.search.terms': { $in: patterns.map(wantedTerm) } })),
  };
}

/** A beginning becomes an anchored pattern without any other special character, which is a range of the index. */
function wantedTerm(pattern: TermPattern): string | RegExp {
  return 'term' in pattern
    ? pattern.term
    : new RegExp(`^${pattern.beginning.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`);
}

/** Returns rows of some partitions by their terms, by descending `since`. */
export async function searchRows(
  connection: MongoConnection,
  collection: string,
  { limit, ...query }: SearchQuery,
): Promise<StoredRow[]> {
  if (query.words.length === 0 || query.partitions.length === 0) return [];
  return connection.call((db) =>
    rowsOf(db, collection)
      .find(searchFilter(query), { sort: { 'state.search.since': -1 }, limit, batchSize: limit + 1 })
      .toArray(),
  );
}

/** Writes rows, skipping those of which a newer state is stored. */
export async function writeRows(
  connection: MongoConnection,
  collection: string,
  rows: StoredRow[],
): Promise<void> {
  // In the same order for all writers: on servers that lock rows, two writers could otherwise wait for each other.
  const sorted = rows.toSorted((a, b) => (a._id < b._id ? -1 : 1));
  for (let start = 0; start < sorted.length; start += BATCH_ROWS) {
    const writes = sorted.slice(start, start + BATCH_ROWS).map(keepNewest);
    await connection.call((db) => rowsOf(db, collection).bulkWrite(writes, { ordered: false }));
  }
}

/** Removes the rows with these ids whose position is not above `upTo`. */
export async function removeRows(
  connection: MongoConnection,
  collection: string,
  ids: string[],
  upTo: Position,
): Promise<void> {
  for (let start = 0; start < ids.length; start += BATCH_ROWS) {
    const filter = { _id: { $in: ids.slice(start, start + BATCH_ROWS) }, 'state.position': { $lte: upTo } };
    await connection.call((db) => rowsOf(db, collection).deleteMany(filter));
  }
}

/** Removes all rows whose position is below `before`; creates the index that it needs. */
export async function pruneRows(
  connection: MongoConnection,
  collection: string,
  before: Position,
): Promise<void> {
  await index(connection, collection, { 'state.position': 1 });
  const below = { 'state.position': { $lt: before } };
  for (let found = PRUNED_AT_ONCE; found === PRUNED_AT_ONCE; ) {
    const ids = await connection.call((db) =>
      rowsOf(db, collection)
        .find(below, { projection: { _id: 1 }, limit: PRUNED_AT_ONCE, batchSize: PRUNED_AT_ONCE + 1 })
        .map(({ _id }) => _id)
        .toArray(),
    );
    await removeRows(connection, collection, ids, before - 1);
    found = ids.length;
  }
}

/**
 * Writes a row unless a newer state of it is stored. Filtered only by `_id`, so that it takes a single lookup in that index, and
 * so that the server itself repeats one of two concurrent upserts that insert the same row.
 */
function keepNewest({ _id, order, state }: StoredRow) {
  return {
    updateOne: {
      filter: { _id },
      update: { $max: { state }, $setOnInsert: { order } },
      upsert: true,
    },
  };
}
