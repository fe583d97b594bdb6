import type { ErasedEvent, RecordedEvent, UnreadableEvent } from '../src/events/event.ts';
import type { ListedEvent } from '../src/events/recordErased.ts';
import type { ModelName, Row } from '../src/ports/readModels.ts';

/** Pure code that folds events into one read model, whose rows have such bodies. */
export interface Projection<Body extends object = object> {
  name: string;
  /** Rises when `evolve` changes its meaning, or `eventTypes` grows; the read model is then built anew under its new name. */
  version: number;
  /** The types of events that it takes; left out: every event, also of types that only a newer version knows. */
  eventTypes?: string[];
  /** Id of the one row that an event changes. */
  rowId(event: RecordedEvent): string;
  /**
   * The row after the event; in an array, behind it, further rows that the event completes, whole and without regard to what
   * stood in their place. Throws when the event cannot be taken; it is then parked.
   */
  evolve(row: Row<Body> | undefined, event: RecordedEvent): Row<Body> | [Row<Body>, ...Row<Body>[]];
  /**
   * What a projection makes of the places of events that were erased before it came to them, if it makes anything of them: as
   * `rowId` and `evolve`. A projection that has it takes every event. `listed` is what a tombstone says of the event, where that
   * can be told; undefined instead of a row leaves everything as it is.
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
   * Of a projection that has a row for each stream, named by it: the row of a stream with an event that was parked. It is
   * `incomplete`, keeps its place in lists, and holds nothing, so that nothing is folded over the gap.
   */
  incomplete?(row: Row<Body> | undefined, event: UnreadableEvent): Row<Body>;
}

/** The body of a row whose stream has an event that was parked: what the stream says has to be read from the log. */
export interface Incomplete {
  incomplete: true;
}

export const incompleteBody: Incomplete = { incomplete: true };

/** Whether the row says only that its stream has an event that was parked. */
export function isIncomplete({ body }: Pick<Row, 'body'>): boolean {
  return 'incomplete' in body;
}

/** What a row holds; undefined where it holds nothing, or there is none. */
export function bodyOf<Body extends object>(row: Row<Body | Incomplete> | undefined): Body | undefined {
  return row === undefined || isIncomplete(row) ? undefined : (row.body as Body);
}

/** The read model of a projection, as stores name it. */
export function modelName<Body extends object>({ name, version }: Projection<Body>): ModelName<Body> {
  return `${name}_v${version}`;
}
