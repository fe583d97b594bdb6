import type { RecordedEvent } from '../src/ports/eventLog.ts';
import type { Row } from '../src/ports/readModels.ts';

/** Pure code that folds events into one read model. */
export interface Projection {
  name: string;
  /** Rises when `evolve` changes its meaning; the read model is then built anew under its new name. */
  version: number;
  eventTypes: string[];
  /** Id of the one row that an event changes. */
  rowId(event: RecordedEvent): string;
  /**
   * The row after the event; in an array, behind it, further rows that the event completes and that no event changes
   * again. Throws when the event cannot be taken; it is then parked.
   */
  evolve(row: Row | undefined, event: RecordedEvent): Row | [Row, ...Row[]];
}

/** The read model of a projection, as stores name it. */
export function modelName({ name, version }: Pick<Projection, 'name' | 'version'>): string {
  return `${name}_v${version}`;
}
