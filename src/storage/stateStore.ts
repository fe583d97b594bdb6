import type { z } from 'zod';

/** A table of small rows: its name, which includes its version (`sessions_v1`), and the schema of its bodies. */
export interface StateTable<Body extends object> {
  name: string;
  /** Every body that is read is validated against it. */
  body: z.ZodType<Body>;
}

export interface StateRow<Body extends object> {
  /** Unique in its table. */
  id: string;
  /** Groups the rows that a page lists together, such as one webhook's attempts. */
  partition: string;
  /** The row's place in its partition; unique there, and immutable. */
  order: number;
  /** Tells which of two writes of the row is newer; writes with the same revision are equal. A safe integer. */
  revision: number;
  body: Body;
}

export interface StateQuery {
  partition: string;
  /** Rows after this `order`; default: from the first. */
  after?: number;
  limit: number;
}

export interface StateScan {
  after?: string | undefined;
  limit: number;
}

/** One of several writes that are carried out together. */
export type StateWrite = { table: { name: string } } & (
  | { save: StateRow<object>[] }
  /** As `swap`: the row, and the revision that it replaces. */
  | { swap: StateRow<object>; expected: number | undefined }
  | { remove: string[]; upTo: number }
);

/**
 * Small state that is not derived from the log but must survive a crash: the progress of webhooks, their attempts, dashboard
 * sessions. An acknowledged write is durable. Unlike the read models it cannot be rebuilt; code that stores something here
 * documents what happens if it is lost.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is unreachable or does not answer within three seconds.
 */
export interface StateStore {
  /** Whether others see all of what a `write` has written, or nothing. */
  readonly isTransactional: boolean;
  /** Whether every call sees what earlier calls of this process write, also where they have not resolved. */
  readonly isOrdered: boolean;

  /** Returns the rows with these ids, omitting missing ones. */
  load<Body extends object>(table: StateTable<Body>, ids: string[]): Promise<StateRow<Body>[]>;

  /** Returns rows of one partition by ascending `order`. */
  page<Body extends object>(table: StateTable<Body>, query: StateQuery): Promise<StateRow<Body>[]>;

  /** Returns rows of a table by ascending id, after the given id; default: from the first. */
  scan<Body extends object>(table: StateTable<Body>, query: StateScan): Promise<StateRow<Body>[]>;

  /**
   * Writes rows, skipping each one for which the same or a higher `revision` is stored. Any number of writers may do so at once.
   */
  save<Body extends object>(table: StateTable<Body>, rows: StateRow<Body>[]): Promise<void>;

  /**
   * Writes a row if the stored row with its id has exactly the revision `expected`, or, for `undefined`, if there is none.
   * Otherwise returns false and writes nothing. Of several callers with the same expectation, one succeeds.
   */
  swap<Body extends object>(
    table: StateTable<Body>,
    row: StateRow<Body>,
    expected: number | undefined,
  ): Promise<boolean>;

  /**
   * Carries out writes in their order, up to a swap that fails; resolves with false then. Costs no more than a single one where
   * the engine has transactions; elsewhere a crash may leave the first of them. With `mayWait`, they may wait some milliseconds for
   * other calls, to share their commit.
   */
  write(writes: readonly StateWrite[], options?: { mayWait?: boolean }): Promise<boolean>;

  /** Removes the rows with these ids whose revision is not above `upTo`; missing ones are not an error. */
  remove<Body extends object>(table: StateTable<Body>, ids: string[], upTo: number): Promise<void>;

  /** Removes every row whose revision is below `before`, in small batches, so that no other caller is held up. */
  prune<Body extends object>(table: StateTable<Body>, before: number): Promise<void>;

  /**
   * Removes the bytes of removed or replaced data from the store's files, if it has files of its own; others can read and write
   * meanwhile. One process at a time does so. Rejects with `unavailable` when readers hold the files for more than ten seconds, and
   * at the signal.
   */
  purge(signal?: AbortSignal): Promise<void>;

  /** Resolves when the store is reachable and writable. Rejects with `unavailable`. */
  check(): Promise<void>;

  close(): Promise<void>;
}
