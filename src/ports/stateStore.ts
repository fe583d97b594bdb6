import type { z } from 'zod';

/** A table of small rows: its name, which holds its version (`sessions_v1`), and the shape of their bodies. */
export interface StateTable<Body extends object> {
  name: string;
  /** Every body that is read is checked against it. */
  body: z.ZodType<Body>;
}

export interface StateRow<Body extends object> {
  /** Unique in its table. */
  id: string;
  /** What a page lists together, such as one webhook's attempts. */
  partition: string;
  /** The row's place in its partition; unique there, and never changing. */
  order: number;
  /** Says which of two writes of the row is the newer one; those of one revision are equal. A safe integer. */
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

/**
 * Small state that is no truth of the log, but must outlive a crash: how far webhooks have come, their attempts, sessions
 * of the dashboard. A write that was answered is durable. Unlike the read models it cannot be rebuilt; whoever keeps
 * something here says what happens when it is lost.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is away or does not answer within three seconds.
 */
export interface StateStore {
  /** The rows with these ids; absent ones are left out. */
  load<Body extends object>(table: StateTable<Body>, ids: string[]): Promise<StateRow<Body>[]>;

  /** Rows of one partition by rising `order`. */
  page<Body extends object>(table: StateTable<Body>, query: StateQuery): Promise<StateRow<Body>[]>;

  /** Rows of a table by rising id, after the one of an id; default: from the first. */
  scan<Body extends object>(table: StateTable<Body>, query: StateScan): Promise<StateRow<Body>[]>;

  /** Writes rows, each unless one with the same or a higher `revision` is there. Any number of writers may do so at once. */
  save<Body extends object>(table: StateTable<Body>, rows: StateRow<Body>[]): Promise<void>;

  /**
   * Writes a row where the stored one of its id has exactly the revision `expected`; `undefined`: where there is none.
   * False, and nothing is written, where that does not hold. Of several callers with the same expectation one succeeds.
   */
  swap<Body extends object>(
    table: StateTable<Body>,
    row: StateRow<Body>,
    expected: number | undefined,
  ): Promise<boolean>;

  /** Removes the rows with these ids whose revision is not above `upTo`; absent ones are no error. */
  remove<Body extends object>(table: StateTable<Body>, ids: string[], upTo: number): Promise<void>;

  /** Removes every row whose revision is below `before`, some at a time, so that no other caller waits for it. */
  prune<Body extends object>(table: StateTable<Body>, before: number): Promise<void>;

  /**
   * Takes the bytes of what was removed or replaced out of the store's files, where it has some of its own. True when none is
   * left there; false while readers hold them: then it is called again.
   */
  purge(): Promise<boolean>;

  /** Resolves when the store answers. */
  check(): Promise<void>;

  close(): Promise<void>;
}
