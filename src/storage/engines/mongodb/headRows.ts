import type { HeadsQuery } from '../../readModels.ts';
import type { MongoConnection } from './MongoConnection.ts';
import { pageRows, rowsOf, type StoredRow } from './storedRows.ts';

/** If lists have no more rows than this on average, a single query finds the heads of all. */
const SHORT_LIST = 2;
/** Otherwise this many lists are read concurrently. */
const LISTS_AT_ONCE = 16;

/** Returns the first rows on each of some lists of one partition, by ascending order. */
export async function headRows(
  connection: MongoConnection,
  collection: string,
  { partition, lists, limit }: HeadsQuery,
): Promise<StoredRow[][]> {
  const most = SHORT_LIST * lists.length + limit;
  const found = await connection.call((db) =>
    rowsOf(db, collection)
      .find(
        { 'state.partition': partition, 'state.lists': { $exists: true, $in: lists } },
        { limit: most, batchSize: most + 1 },
      )
      .toArray(),
  );
  const heads: StoredRow[][] = [];
  if (found.length < most) {
    const byList = new Map(lists.map((list) => [list, [] as StoredRow[]]));
    for (const row of found.toSorted((a, b) => a.order - b.order)) {
      for (const list of row.state.lists ?? []) byList.get(list)?.push(row);
    }
    for (const rows of byList.values()) heads.push(rows.slice(0, limit));
    return heads;
  }
  for (let at = 0; at < lists.length; at += LISTS_AT_ONCE) {
    const reading = lists.slice(at, at + LISTS_AT_ONCE);
    heads.push(
      ...(await Promise.all(
        reading.map((list) => pageRows(connection, collection, { partition, list, limit })),
      )),
    );
  }
  return heads;
}
