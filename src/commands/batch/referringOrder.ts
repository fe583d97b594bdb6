import type { BatchLine } from './batchLine.ts';

/** So many records that refer to each other in a row are put in order; more are told that what they refer to is not there. */
const MOST_STEPS = 10;

/** A line of a record that refers to others of its kind. */
export interface ReferringLine {
  line: BatchLine;
  id: string;
  /** The ids of the others. */
  to: readonly string[];
}

/** The lines of records that refer to others of their kind, in steps: each record behind those that it refers to. Those in a circle are in the last. */
export function referringOrder(lines: readonly ReferringLine[]): BatchLine[][] {
  const steps: BatchLine[][] = [];
  for (let left = lines; left.length > 0; ) {
    const waiting = new Set(left.map(({ id }) => id));
    const blocked = new Set(
      left.filter(({ id, to }) => to.some((other) => other !== id && waiting.has(other))).map(({ id }) => id),
    );
    const isLast = steps.length === MOST_STEPS - 1 || blocked.size === waiting.size;
    steps.push(left.filter(({ id }) => isLast || !blocked.has(id)).map(({ line }) => line));
    left = isLast ? [] : left.filter(({ id }) => blocked.has(id));
  }
  return steps;
}
