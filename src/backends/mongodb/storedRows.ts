import type { Collection, CreateIndexesOptions, Db, Filter, IndexSpecification } from 'mongodb';
import type { Position } from '../../events/event.ts';
import type { ChangesQuery, SearchQuery, SearchTerms, TermPattern } from '../../ports/readModels.ts';
import { INDEX_MS, type MongoConnection } from './MongoConnection.ts';

/** Rows of one bulk write: small enough that each is answered well within the time of a call. */
const BATCH_ROWS = 200;
/** Rows that one call of `pruneRows` removes. */
const PRUNED_AT_ONCE = 1_000;

/** A row as a document of its collection. */
export interface StoredRow {
  _id: string;
  order: number;
  /** `position`, which says which of two writes is the newer one, is first: documents are compared field by field. */
  state: {
    position: Position;
    partition: string;
    /** JSON: BSON would change lone surrogates, which a caller's strings may hold. */
    body: string;
    lists?: readonly string[];
    search?: SearchTerms;
  };
}

export interface RowQuery {
  partition: string;
  list?: string;
  after?: number;
  limit: number;
}

export function rowsOf(db: Db, collection: string): Collection<StoredRow> {
  return db.collection(collection);
}

/** Makes the index of pages; it makes the collection, too. */
export async function indexRows(connection: MongoConnection, collection: string): Promise<void> {
  await index(connection, collection, { 'state.partition': 1, order: 1 });
}

const hasLists = { 'state.lists': { $exists: true } };

/** Makes the indexes of lists and changes, of the rows that have lists. */
export async function indexLists(connection: MongoConnection, collection: string): Promise<void> {
  const only = { partialFilterExpression: hasLists };
  await index(connection, collection, { 'state.partition': 1, 'state.lists': 1, order: 1 }, only);
  await index(connection, collection, { 'state.partition': 1, 'state.position': 1 }, only);
}

const hasTerms = { 'state.search': { $exists: true } };

/** Makes the index of terms, of the rows that have some. */
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

/** The rows with these ids. */
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

/** Rows of one partition, or on one of its lists, by rising order. */
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

/** Rows by rising id, after the one of an id, if given. */
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

/** How many rows of one partition there are, or on one of its lists; counted no further than `limit`. */
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

/** Rows of one partition that have lists, by falling position. */
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

/** What a query for rows by their terms asks the collection for. */
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

/** A beginning is a pattern that is anchored, and has no other special character: so it is a range of the index. */
function wantedTerm(pattern: TermPattern): string | RegExp {
  return 'term' in pattern
    ? pattern.term
    : new RegExp(`^${pattern.beginning.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`);
}

/** Rows of some partitions by their terms, by falling `since`. */
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

/** Writes rows, each unless a newer state of it is there. */
export async function writeRows(
  connection: MongoConnection,
  collection: string,
  rows: StoredRow[],
): Promise<void> {
  // In one order whoever writes: servers that lock rows would let two writers wait for each other.
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

/** Removes all rows whose position is below `before`; it makes the index that it needs. */
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
 * Writes a row unless a newer state of it is there. Filtered by `_id` alone, so that it is one look into that index, and
 * so that the server itself repeats one of two upserts that insert the same row at once.
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
