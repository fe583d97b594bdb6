import type { JsonObject, Position } from './eventLog.ts';

/** One row of a read model. */
export interface Row {
  /** Unique in its read model. */
  id: string;
  /** What a page lists together, such as one workspace's patients. */
  partition: string;
  /** The row's place in its partition; unique there, and never changing. */
  order: number;
  /** Position of the last event folded into the row; it says all: rows of one id and position are equal. */
  position: Position;
  body: JsonObject;
}

export interface PageQuery {
  partition: string;
  /** Rows after this `order`; default: from the first. */
  after?: number;
  limit: number;
}

/** An event that a projection could not take; it was left out and the projection went on. */
export interface ParkedEvent {
  position: Position;
  eventId: string;
  reason: string;
}

/**
 * The read models: rows that projections derive from the log. All of it can be deleted and is then rebuilt.
 * A read model is named by its projection and that one's version (`records_v1`).
 *
 * Methods reject with `ServiceError('unavailable')` when the store is away or does not answer within three seconds.
 */
export interface ReadModels {
  /** Which of these ids have a row. Rows may lag behind the log: a yes is certain, a no is not. */
  existing(model: string, ids: string[]): Promise<Set<string>>;

  /** The rows with these ids; absent ones are left out. */
  load(model: string, ids: string[]): Promise<Row[]>;

  /** Rows of one partition by rising `order`. */
  page(model: string, query: PageQuery): Promise<Row[]>;

  /**
   * Writes a batch, then the checkpoint. A row never takes the place of one with a higher `position`, and the
   * checkpoint is written only when it rises, so repeating a batch, wholly or in part, changes nothing.
   *
   * Rejects with `unavailable`, and leaves the checkpoint, when the read model was set back behind the checkpoint that
   * this instance last read or wrote: dropped, replaced, or its store lost its last writes. The writer then reads the
   * checkpoint again and goes on from there.
   */
  write(model: string, rows: Row[], checkpoint: Position): Promise<void>;

  /**
   * Writes rows, each unless one with the same or a higher `position` is there, and leaves the checkpoint: for rows that
   * do not come from folding the log. Any number of writers may do so at once.
   */
  save(model: string, rows: Row[]): Promise<void>;

  /**
   * Writes a row where the stored one of its id has exactly the position `expected`; `undefined`: where there is none.
   * False, and nothing is written, where that does not hold. Of several callers with the same expectation one succeeds.
   */
  swap(model: string, row: Row, expected: Position | undefined): Promise<boolean>;

  /** Removes the rows with these ids whose position is not above `upTo`; absent ones are no error. */
  remove(model: string, ids: string[], upTo: Position): Promise<void>;

  /** Removes every row whose position is below `before`, some at a time, so that no other caller waits for it. */
  prune(model: string, before: Position): Promise<void>;

  /** The position up to which a read model holds everything; 0 when it holds nothing. */
  checkpoint(model: string): Promise<Position>;

  /**
   * Empties a read model, to be built from the first event on of the log with that identity, which it remembers with its
   * checkpoint. Who writes it is refused as by `write` when it was set back.
   */
  begin(model: string, log: string): Promise<void>;

  /** Identity of the log that a read model was begun from; undefined when it was not begun. */
  builtFrom(model: string): Promise<string | undefined>;

  /** Remembers an event that a projection could not take. Parking it again changes nothing. */
  park(model: string, event: ParkedEvent): Promise<void>;

  /** Parked events of a read model by rising position, at most 1,000. */
  parked(model: string): Promise<ParkedEvent[]>;

  /** How many rows a read model has. May take long when there are millions. */
  count(model: string): Promise<number>;

  /**
   * Puts `byModel` in the place of `model`: its rows, checkpoint, log and parked events become those of `model`, whose
   * earlier ones go. Can be repeated when it was cut off; changes nothing when `byModel` was never written.
   */
  replace(model: string, byModel: string): Promise<void>;

  /** Removes a read model with its checkpoint and parked events; one that is not there is no error. */
  drop(model: string): Promise<void>;

  /**
   * Takes or renews a lease; true when `owner` holds it for `forMs` from the moment of the call. The owner renews well
   * before that is over. Another owner gets it at the earliest `forMs` after the last renewal, when it keeps asking at
   * short intervals. Clocks of different machines are never compared.
   */
  acquireLease(name: string, owner: string, forMs: number): Promise<boolean>;

  /** Gives a lease back; nothing happens when `owner` does not hold it. */
  releaseLease(name: string, owner: string): Promise<void>;

  close(): Promise<void>;
}
