import type { Position } from '../events/event.ts';

declare const bodyOf: unique symbol;

/**
 * Name of a read model: its projection's, and that one's version (`records_v2`). Its type says what the bodies of the rows
 * are.
 */
export type ModelName<Body extends object = object> = string & { readonly [bodyOf]?: Body };

/** One row of a read model. */
export interface Row<Body extends object = object> {
  /** Unique in its read model. */
  id: string;
  /** What a page lists together, such as one workspace's patients. */
  partition: string;
  /** The row's place in its partition; unique there, and never changing. */
  order: number;
  /** Position of the last event folded into the row; it says all: rows of one id and position are equal. */
  position: Position;
  body: Body;
  /**
   * The lists of its partition that the row is on, in its place, each named once. A row that has this, be it empty, is also
   * found by `changes`.
   */
  lists?: readonly string[];
  /** What `search` finds the row by. */
  search?: SearchTerms;
}

/** Words by which a row is found. */
export interface SearchTerms {
  /** Each named once: any text without control characters and lone surrogates, compared as it is. */
  terms: readonly string[];
  /**
   * Position of the event that gave the row these terms. No other row of the read model has it, and where it stays as it is, so
   * do the terms.
   */
  since: Position;
}

/** A term as it is, or any that begins so. */
export type TermPattern = { term: string } | { beginning: string };

export interface SearchQuery {
  partitions: readonly string[];
  /** The row has to have, of each of these, a term for one of the patterns. None of them finds nothing. */
  words: readonly (readonly TermPattern[])[];
  /** Rows whose `search.since` is below this one; default: from the last on. */
  below?: Position | undefined;
  limit: number;
}

export interface PageQuery {
  partition: string;
  /** Only rows on this list; default: all of the partition. */
  list?: string;
  /** Rows after this `order`; default: from the first. */
  after?: number;
  limit: number;
}

export interface HeadsQuery {
  partition: string;
  /** Each named once. */
  lists: readonly string[];
  /** Of each list. */
  limit: number;
}

export interface ChangesQuery {
  partition: string;
  /** Rows whose position is above this one; default: all. */
  above?: Position | undefined;
  /** Rows whose position is below this one; default: from the last change on. */
  below?: Position | undefined;
  limit: number;
}

/** What is written to a read model at once. */
export interface RowBatch {
  model: ModelName;
  rows: Row[];
  /** The position up to which the read model then holds everything; 0 leaves the present one. */
  checkpoint: Position;
}

/** An event that a projection could not take; it was left out and the projection went on. */
export interface ParkedEvent {
  position: Position;
  eventId: string;
  reason: string;
}

/**
 * The read models: rows that projections derive from the log. All of it can be deleted and is then rebuilt.
 *
 * Methods reject with `ServiceError('unavailable')` when the store is away or does not answer within three seconds.
 */
export interface ReadModels {
  /** The rows with these ids; absent ones are left out. Rows may lag behind the log. */
  load<Body extends object>(model: ModelName<Body>, ids: string[]): Promise<Row<Body>[]>;

  /** Rows of one partition, or on one of its lists, by rising `order`. */
  page<Body extends object>(model: ModelName<Body>, query: PageQuery): Promise<Row<Body>[]>;

  /** The first rows on each of some lists of one partition, by rising `order`: of each list in its place among `lists`. */
  heads<Body extends object>(model: ModelName<Body>, query: HeadsQuery): Promise<Row<Body>[][]>;

  /** How many rows of one partition there are, or on one of its lists; counted no further than `limit`. */
  countPage(model: ModelName, query: Omit<PageQuery, 'after'>): Promise<number>;

  /** Rows of one partition that have `lists`, by falling `position`: those first that changed last. */
  changes<Body extends object>(model: ModelName<Body>, query: ChangesQuery): Promise<Row<Body>[]>;

  /** Rows of some partitions by their terms, by falling `search.since`: those first whose terms changed last. */
  search<Body extends object>(model: ModelName<Body>, query: SearchQuery): Promise<Row<Body>[]>;

  /**
   * Writes the batches one after the other, of each the rows and then the checkpoint; a store with transactions writes all
   * of them or none. A row never takes the place of one with a higher `position`, and a checkpoint is written only when it
   * rises, so repeating a batch, wholly or in part, changes nothing.
   *
   * Rejects with `conflict`, and leaves the checkpoint, when a read model was set back behind the checkpoint that
   * this instance last read or wrote: dropped, replaced, or its store lost its last writes. The writer then reads the
   * checkpoint again and goes on from there.
   */
  write(...batches: RowBatch[]): Promise<void>;

  /** The position up to which a read model holds everything; 0 when it holds nothing. */
  checkpoint(model: ModelName): Promise<Position>;

  /**
   * Empties a read model, to be built from the first event on of the log with that identity, which it remembers with its
   * checkpoint. Who writes it is refused as by `write` when it was set back.
   */
  begin(model: ModelName, log: string): Promise<void>;

  /** Identity of the log that a read model was begun from; undefined when it was not begun. */
  builtFrom(model: ModelName): Promise<string | undefined>;

  /** Remembers an event that a projection could not take. Parking it again changes nothing. */
  park(model: ModelName, event: ParkedEvent): Promise<void>;

  /** Parked events of a read model by rising position, at most 1,000. */
  parked(model: ModelName): Promise<ParkedEvent[]>;

  /** How many rows a read model has. May take long when there are millions. */
  count(model: ModelName): Promise<number>;

  /**
   * Puts `byModel` in the place of `model`: its rows, checkpoint, log and parked events become those of `model`, whose
   * earlier ones go. Can be repeated when it was cut off; changes nothing when `byModel` was never written.
   */
  replace(model: ModelName, byModel: ModelName): Promise<void>;

  /** Removes a read model with its checkpoint and parked events; one that is not there is no error. */
  drop(model: ModelName): Promise<void>;

  /**
   * Takes the bytes of what was removed or replaced out of the store's files, where it has some of its own. True when none is
   * left there; false while readers hold them: then it is called again.
   */
  purge(): Promise<boolean>;

  close(): Promise<void>;
}
