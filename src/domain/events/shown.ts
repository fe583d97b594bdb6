import type { Position } from './event.ts';

/** Positions in the log from `from` to `to`, both inclusive. */
export interface PositionRange {
  from: Position;
  to: Position;
}

/** A record or document that was shown, by its ids. */
export interface ShownThing {
  kind: string;
  /** The caller's id; for a document, that of its encounter. */
  record_id: string;
  document_id?: string;
}

/** What left the service, in terms of the log: lets the audit trail tell who has seen a record. */
export interface Shown {
  /**
   * Its places in the log, ascending: for events, those that were sent; for a list, each record's first event. Others of the kind
   * between them may not have been shown.
   */
  ranges: PositionRange[];
  /** Number of events or records; absent if not counted. */
  count?: number;
  /** Set if only events of these types, as named in the log, were sent. */
  event_types?: string[];
  /** What was shown, by id; there are no ranges then. */
  things?: ShownThing[];
  /** Which view of the events was sent; absent for the full events. */
  view?: 'reference' | 'deidentified';
}

/** Returns the ranges with one added, ascending and disjoint; if that makes more than `most`, the closest ones are merged. */
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
