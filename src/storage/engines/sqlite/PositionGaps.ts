import type { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../../domain/events/event.ts';

/**
 * The positions omitted by a restored log: those after its last original event, which another continuation of the log may have
 * used, up to the event that records the restore. There are no others: rows are numbered consecutively, and none is deleted.
 */
export class PositionGaps {
  /** By ascending position: the last event before each gap, and the first one after it. */
  readonly #gaps: { after: Position; position: Position }[];

  constructor(db: DatabaseSync) {
    const rows = db.prepare('SELECT after, position FROM restores ORDER BY position').all();
    this.#gaps = rows as unknown as { after: Position; position: Position }[];
  }

  /** For an omitted position, returns the last one before the gap; undefined for any other. */
  lastBefore(position: Position): Position | undefined {
    return this.#gaps.find((gap) => position > gap.after && position < gap.position)?.after;
  }

  /** Whether a position was omitted. */
  include(position: Position): boolean {
    return this.lastBefore(position) !== undefined;
  }

  /** Returns the position `count` places after another one, not counting omitted ones. */
  placeBehind(after: Position, count: number): Position {
    let place = after + count;
    for (const gap of this.#gaps) {
      if (after <= gap.after && place > gap.after) place += gap.position - gap.after - 1;
    }
    return place;
  }
}
