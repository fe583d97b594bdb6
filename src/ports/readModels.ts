import type { JsonObject, Position } from './eventLog.ts';

/** One row of a read model. */
export interface Row {
  /** Unique in its read model. */
  id: string;
  /** What a page lists together, such as one workspace's patients. */
  partition: string;
  /** The row's place in its partition; unique there, and never changing. */
  order: number;
  /** Position of the last event folded into the row: a write that carries an older or equal one changes nothing. */
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
   * Writes a batch, then the checkpoint. A row is written only when its `position` is above the stored one's, and
   * the checkpoint only when it rises, so repeating a batch, wholly or in part, changes nothing.
   */
  write(model: string, rows: Row[], checkpoint: Position): Promise<void>;

  /** The position up to which a read model holds everything; 0 when it holds nothing. */
  checkpoint(model: string): Promise<Position>;

  /** Remembers an event that a projection could not take. Parking it again changes nothing. */
  park(model: string, event: ParkedEvent): Promise<void>;

  /** Parked events of a read model by rising position, at most 1,000. */
  parked(model: string): Promise<ParkedEvent[]>;

  close(): Promise<void>;
}
