import type { Position } from '../domain/events/event.ts';
import { ServiceError } from '../platform/errors.ts';

const LAST_ORDER = Number.MAX_SAFE_INTEGER;
/** How many rows of one millisecond are kept apart. */
const A_MILLISECOND = 1_000;

/** Computes the `order` of rows in state store partitions that are sorted by time. */
export class RowOrder {
  /** Starts at a different value in each process. */
  #count = Math.floor(Math.random() * A_MILLISECOND);

  /** Rows later than this moment (milliseconds since 1970) sort before the returned order. */
  static newestBefore(ms: number): number {
    return LAST_ORDER - ms * A_MILLISECOND;
  }

  /** Returns an order before those of earlier moments. */
  newestFirst(ms: number): number {
    return LAST_ORDER - this.oldestFirst(ms);
  }

  /** Returns an order after those of earlier moments. */
  oldestFirst(ms: number): number {
    this.#count = (this.#count + 1) % A_MILLISECOND;
    return ms * A_MILLISECOND + this.#count;
  }
}

/** The error for a writer whose read model was reset: dropped, replaced, or its store lost its last writes. */
export function setBack(): ServiceError {
  return new ServiceError('conflict', 'The read model was reset. Continue from its checkpoint.');
}

/** Whether a write was refused because the read model was reset. */
export function isSetBack(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'conflict';
}

declare const bodyOf: unique symbol;

/** Name of a read model: its projection's name and version (`records_v2`). The type carries the type of the row bodies. */
export type ModelName<Body extends object = object> = string & { readonly [bodyOf]?: Body };

/** One row of a read model. */
export interface Row<Body extends object = object> {
  /** Unique in its read model. */
  id: string;
  /** Groups the rows that a page lists together, such as one workspace's patients. */
  partition: string;
  /** The row's place in its partition; unique there, and immutable. */
  order: number;
  /** Position of the last event folded into the row; it identifies the contents: rows with the same id and position are equal. */
  position: Position;
  body: Body;
  /**
   * The lists of its partition that include the row, each named once. A row that has this property, even if empty, is also found
   * by `changes`.
   */
  lists?: readonly string[];
  /** The terms by which `search` finds the row. */
  search?: SearchTerms;
}

/** Search terms of a row. */
export interface SearchTerms {
  /** Each listed once: any text without control characters and lone surrogates, compared as is. */
  terms: readonly string[];
  /**
   * Position of the event that gave the row these terms. No other row of the read model has it; as long as it is unchanged, so
   * are the terms.
   */
  since: Position;
}

/** An exact term, or any term with this beginning. */
export type TermPattern = { term: string } | { beginning: string };

export interface SearchQuery {
  partitions: readonly string[];
  /** For each word, the row must have a term that matches one of the patterns. An empty list finds nothing. */
  words: readonly (readonly TermPattern[])[];
  /** Only rows whose `search.since` is below this position; default: from the last. */
  below?: Position | undefined;
  limit: number;
}

export interface PageQuery {
  partition: string;
  /** Only rows on this list; default: all rows of the partition. */
  list?: string;
  /** Rows after this `order`; default: from the first. */
  after?: number;
  limit: number;
}

export interface HeadsQuery {
  partition: string;
  /** Each listed once. */
  lists: readonly string[];
  /** Per list. */
  limit: number;
}

export interface ChangesQuery {
  partition: string;
  /** Only rows whose position is above this one; default: all. */
  above?: Position | undefined;
  /** Only rows whose position is below this one; default: from the last change. */
  below?: Position | undefined;
  limit: number;
}

export interface ScanQuery {
  /** Rows after this id; default: from the first. */
  after?: string | undefined;
  limit: number;
}

/** What is written to a read model in one go. */
export interface RowBatch {
  model: ModelName;
  rows: Row[];
  /** The position up to which the read model is then complete; 0 leaves the current one. */
  checkpoint: Position;
}

/** An event that a projection could not process; it was skipped. */
export interface ParkedEvent {
  position: Position;
  eventId: string;
  reason: string;
}

/**
 * The read models: rows that projections derive from the log. Everything can be deleted, and is then rebuilt.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is unreachable or does not answer within three seconds.
 */
export interface ReadModels {
  /** Returns the rows with these ids, omitting missing ones. Rows may lag behind the log. */
  load<Body extends object>(model: ModelName<Body>, ids: string[]): Promise<Row<Body>[]>;

  /** Returns rows of one partition, or on one of its lists, by ascending `order`. */
  page<Body extends object>(model: ModelName<Body>, query: PageQuery): Promise<Row<Body>[]>;

  /** Returns the first rows on each of some lists of one partition, by ascending `order`; results are in the order of `lists`. */
  heads<Body extends object>(model: ModelName<Body>, query: HeadsQuery): Promise<Row<Body>[][]>;

  /** Counts the rows of one partition, or on one of its lists, up to `limit`. */
  countPage(model: ModelName, query: Omit<PageQuery, 'after'>): Promise<number>;

  /** Returns rows of one partition that have `lists`, by descending `position`: most recently changed first. */
  changes<Body extends object>(model: ModelName<Body>, query: ChangesQuery): Promise<Row<Body>[]>;

  /** Searches some partitions by term, by descending `search.since`: rows with the most recently changed terms first. */
  search<Body extends object>(model: ModelName<Body>, query: SearchQuery): Promise<Row<Body>[]>;

  /** Returns rows of all partitions by ascending id, as the store orders ids. */
  scan<Body extends object>(model: ModelName<Body>, query: ScanQuery): Promise<Row<Body>[]>;

  /**
   * Writes the batches in order, for each the rows and then the checkpoint; a store with transactions writes all or nothing. A
   * row never replaces one with a higher `position`, and a checkpoint is written only when it rises, so repeating a batch, wholly
   * or in part, changes nothing.
   *
   * Rejects with `conflict`, and leaves the checkpoint, when a read model was reset to before the checkpoint that this instance
   * last read or wrote: dropped, replaced, or its store lost its last writes. The writer then rereads the checkpoint and
   * continues from there.
   */
  write(...batches: RowBatch[]): Promise<void>;

  /**
   * The position up to which a read model is complete; 0 when it is empty. `isAwaited`: whether the caller waits for it to advance, for
   * those who pass that on to the projector; default: yes.
   */
  checkpoint(model: ModelName, options?: { isAwaited?: boolean }): Promise<Position>;

  /**
   * Empties a read model, to be built from the first event of the log with the given identity, which is stored with the
   * checkpoint. A writer whose read model was reset is refused as by `write`.
   */
  begin(model: ModelName, log: string): Promise<void>;

  /** Identity of the log from which a read model is built; undefined when it was not begun. */
  builtFrom(model: ModelName): Promise<string | undefined>;

  /** Records an event that a projection could not process. Parking it again changes nothing. */
  park(model: ModelName, event: ParkedEvent): Promise<void>;

  /** Returns the parked events of a read model by ascending position, at most 1,000. */
  parked(model: ModelName): Promise<ParkedEvent[]>;

  /** Counts the rows of a read model. May take long with millions of rows. */
  count(model: ModelName): Promise<number>;

  /**
   * Replaces `model` with `byModel`: the rows, checkpoint, log identity and parked events of `byModel` become those of `model`,
   * whose previous ones are removed. Can be repeated after an interruption; changes nothing when `byModel` was never written.
   */
  replace(model: ModelName, byModel: ModelName): Promise<void>;

  /** Removes a read model with its checkpoint and parked events; a missing one is not an error. */
  drop(model: ModelName): Promise<void>;

  /**
   * Removes the bytes of removed or replaced data from the store's files, if it has files of its own; others can read and write
   * meanwhile. One process at a time does so. Rejects with `unavailable` when readers hold the files for more than ten seconds, and
   * at the signal.
   */
  purge(signal?: AbortSignal): Promise<void>;

  close(): Promise<void>;
}
