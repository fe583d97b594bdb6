import type { Position } from './event.ts';

/** Places of the log from `from` to `to`, both included. */
export interface PositionRange {
  from: Position;
  to: Position;
}

/** A record or document that was shown, by its ids. */
export interface ShownThing {
  kind: string;
  /** The caller's id; of a document, that of its encounter. */
  record_id: string;
  document_id?: string;
}

/** What of the log left the service: for the audit trail, so that it can be told who has seen a record. */
export interface Shown {
  /**
   * Where in the log it lies, rising: the events that were sent; of a list, the first event of each record. What else of
   * the kind lies between may not have been shown.
   */
  ranges: PositionRange[];
  /** How many events or records; left out where they were not counted. */
  count?: number;
  /** Types of events, as the log has them, that alone were sent; left out for all. */
  event_types?: string[];
  /** What was shown, each by its ids; then there are no ranges. */
  things?: ShownThing[];
  /** What of the events was sent; left out for all. */
  view?: 'reference' | 'deidentified';
}

/**
 * The ranges with one more, rising and apart from each other; when that makes more than `most`, those that lie closest
 * become one.
 */
export function withRange(
  ranges: readonly PositionRange[],
  added: PositionRange,
  most: number,
): PositionRange[] {
  const apart: PositionRange[] = [];
  for (const range of [...ranges, added].toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1);
    if (last && range.from <= last.to + 1) last.to = Math.max(last.to, range.to);
    else apart.push({ ...range });
  }
  if (apart.length <= most) return apart;
  const gaps = apart.slice(1).map(({ from }, index) => from - (apart[index] as PositionRange).to);
  const closest = gaps.indexOf(Math.min(...gaps));
  const [first, second] = apart.splice(closest, 2) as [PositionRange, PositionRange];
  apart.splice(closest, 0, { from: first.from, to: second.to });
  return apart;
}
