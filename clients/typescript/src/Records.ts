import type { Connection } from './Connection.ts';
import { type List, readPages } from './readPages.ts';
import {
  type CallOptions,
  type Kind,
  type ListQuery,
  type PatchOf,
  type PatchOptions,
  type Payer,
  type ReadQuery,
  type RecordOf,
  type RecordVersion,
  recordPaths,
  type ViewOf,
  type WriteOptions,
  type WriteQuery,
  type Written,
} from './types.ts';
import { writeParts } from './writeParts.ts';

/** The records of one kind. */
export class Records<K extends Kind> {
  readonly #connection: Connection;
  /** All kinds have the same requests; those of payers stand for them. */
  readonly #path: typeof recordPaths.payer;

  constructor(connection: Connection, kind: K) {
    this.#connection = connection;
    this.#path = recordPaths[kind] as typeof recordPaths.payer;
  }

  /** Creates a record, or updates the one of its id: a field that is left out keeps its value, and `null` clears it. */
  upsert(record: RecordOf<K>, options: WriteOptions & WriteQuery = {}): Promise<Written> {
    const { query, headers, call } = writeParts(options);
    return this.#connection.call(
      (api) => api.POST(this.#path, { params: { query }, headers, body: record as Payer }),
      call,
    );
  }

  /** Changes fields of a record that is there; objects are merged, and `null` clears a field. Rejects with the code `not_found`. */
  patch(id: string, changes: PatchOf<K>, options: PatchOptions & WriteQuery = {}): Promise<Written> {
    const { query, headers, call } = writeParts(options);
    return this.#connection.call(
      async (api) =>
        api.PATCH(`${this.#path}/{id}`, {
          params: { path: { id }, query },
          headers: { 'Content-Type': 'application/merge-patch+json', ...headers },
          body: changes as PatchOf<'payer'>,
        }),
      call,
    );
  }

  /** The record of an id: as it is, or as it was. Rejects with the code `not_found`, or `gone` when it was erased. */
  read(id: string, { signal, ...query }: CallOptions & ReadQuery = {}): Promise<ViewOf<K>> {
    return this.#connection.call(
      async (api) => api.GET(`${this.#path}/{id}`, { params: { path: { id }, query } }),
      { signal },
    ) as Promise<ViewOf<K>>;
  }

  /**
   * All records, in the order of their creation; `limit` is how many are fetched at once. Rejects at the end with the code
   * `unreadable` where the service could not read some of them.
   */
  list({ signal, ...query }: CallOptions & ListQuery<K> = {} as CallOptions & ListQuery<K>): List<ViewOf<K>> {
    const pages = readPages(
      this.#connection,
      (api, place) => api.GET(this.#path, { params: { query: { ...query, ...place } } }),
      { signal },
    );
    return pages as List<unknown> as List<ViewOf<K>>;
  }

  /** Every version of a record, newest first: who sent it, and what it changed. Rejects with the code `not_found`. */
  history(id: string, { signal, limit }: CallOptions & { limit?: number } = {}): List<RecordVersion> {
    return readPages(
      this.#connection,
      (api, place) =>
        api.GET(`${this.#path}/{id}/history`, {
          params: { path: { id }, query: { ...(limit && { limit }), ...place } },
        }),
      { signal },
    );
  }
}
