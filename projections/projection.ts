import type { ErasedEvent, RecordedEvent, UnreadableEvent } from '../src/domain/events/event.ts';
import type { ListedEvent } from '../src/domain/events/payloads.ts';
import type { ModelName, Row } from '../src/storage/readModels.ts';

/** Pure code that folds events into one read model, with the given type of row bodies. */
export interface Projection<Body extends object = object> {
  name: string;
  /** What its read model is for, as operators read it. */
  purpose: string;
  /**
   * Incremented when the meaning of `evolve` changes, or `eventTypes` grows; the read model is then rebuilt under its new name.
   */
  version: number;
  /** The types of events that it takes; if omitted: every event, including types that only a newer version knows. */
  eventTypes?: string[];
  /** Returns the id of the one row that an event changes. */
  rowId(event: RecordedEvent): string;
  /**
   * Returns the row after the event; in an array, it is followed by further rows that the event completes, whole and regardless
   * of any previous row in their place. Throws when the event cannot be processed; it is then parked.
   */
  evolve(row: Row<Body> | undefined, event: RecordedEvent): Row<Body> | [Row<Body>, ...Row<Body>[]];
  /**
   * Returns rows that an event completes, whatever is known of its own row, and also where the stream has a parked event: what is
   * derived from erased events goes in any case.
   */
  emptied?(event: RecordedEvent): Row<Body>[];
  /**
   * How a projection handles the places of events that were erased before it reached them, if it does: as `rowId` and `evolve`. A
   * projection that has it takes every event. `listed` is what a tombstone says about the event, if known; undefined instead of a
   * row leaves everything as it is.
   */
  erased?: {
    rowId(event: ErasedEvent): string;
    evolve(
      row: Row<Body> | undefined,
      event: ErasedEvent,
      listed?: ListedEvent,
    ): Row<Body> | [Row<Body>, ...Row<Body>[]] | undefined;
  };
  /**
   * For a projection that has a row for each stream, named by it: returns the row of a stream with a parked event. It is
   * `incomplete`, keeps its place in lists, and contains nothing, so that nothing is folded over the gap.
   */
  incomplete?(row: Row<Body> | undefined, event: UnreadableEvent): Row<Body>;
}

/** The body of a row whose stream has a parked event: the stream's state has to be read from the log. */
export interface Incomplete {
  incomplete: true;
}

export const incompleteBody: Incomplete = { incomplete: true };

/** Whether the row says only that its stream has a parked event. */
export function isIncomplete({ body }: Pick<Row, 'body'>): boolean {
  return 'incomplete' in body;
}

/** Returns the contents of a row; undefined if it has none, or does not exist. */
export function bodyOf<Body extends object>(row: Row<Body | Incomplete> | undefined): Body | undefined {
  return row === undefined || isIncomplete(row) ? undefined : (row.body as Body);
}

/** Returns the name of a projection's read model in stores. */
export function modelName<Body extends object>({ name, version }: Projection<Body>): ModelName<Body> {
  return `${name}_v${version}`;
}

/** Returns the name of the read model that is built alongside another one, to take its place. */
export function rebuildOf<Body extends object>(model: ModelName<Body>): ModelName<Body> {
  return `${model}_rebuild`;
}

/**
 * The read model of the readiness worklist. No projection builds it: a row is based on several records, so `updateWorklist`
 * evaluates it. The number is incremented when the form of its rows changes; the read model is then rebuilt.
 */
export const readinessModel: ModelName = 'readiness_v9';
