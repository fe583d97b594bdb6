import type { BatchLine } from './batchLine.ts';

/**
 * Longest chain of records referring to each other that is put in order; beyond it, lines fail because what they refer to does
 * not exist.
 */
const MOST_STEPS = 10;

/** A line of a record that refers to others of its kind. */
export interface ReferringLine {
  line: BatchLine;
  id: string;
  /** The ids of those others. */
  to: readonly string[];
}

/**
 * Returns the lines of records that refer to others of their kind, in steps: each record after those that it refers to. Those in
 * a cycle are in the last step.
 */
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
