import type { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../events/event.ts';

/**
 * The positions that a restored log has left out: those behind its last event from before, which another course of the log may have
 * used, up to the event that tells of the restore. There are no others: rows are numbered one by one, and none is deleted.
 */
export class PositionGaps {
  /** By rising position: the last event before each gap, and the first one behind it. */
  readonly #gaps: { after: Position; position: Position }[];

  constructor(db: DatabaseSync) {
    const rows = db.prepare('SELECT after, position FROM restores ORDER BY position').all();
    this.#gaps = rows as unknown as { after: Position; position: Position }[];
  }

  /** Of a position that was left out, the last one before the gap; undefined of any other. */
  lastBefore(position: Position): Position | undefined {
    return this.#gaps.find((gap) => position > gap.after && position < gap.position)?.after;
  }

  /** Whether a position is one of those that were left out. */
  include(position: Position): boolean {
    return this.lastBefore(position) !== undefined;
  }

  /** The place that is so many positions behind another one, those that were left out not counted. */
  placeBehind(after: Position, count: number): Position {
    let place = after + count;
    for (const gap of this.#gaps) {
      if (after <= gap.after && place > gap.after) place += gap.position - gap.after - 1;
    }
    return place;
  }
}
