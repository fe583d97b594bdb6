import type { Connection } from './Connection.ts';
import { readPages } from './readPages.ts';
import type { CallOptions, Found, SearchQuery } from './types.ts';

/**
 * Records and documents that hold every word of `q`, what fits best first; pages come as they are needed, and `limit` is how many are
 * fetched at once. Each page is one entry of the audit trail.
 */
export function searchRecords(
  connection: Connection,
  q: string,
  { signal, ...query }: CallOptions & SearchQuery = {},
): AsyncIterable<Found> {
  return readPages((page_token) =>
    connection.call(
      (api) => api.POST('/integration/search', { body: { q, ...query, ...(page_token && { page_token }) } }),
      { signal },
    ),
  );
}
