import type { JsonObject, Position } from '../../../domain/events/event.ts';

/**
 * Notes of what was removed, by all processes. Its events have no workspace, so they belong to nobody; nor does the name have a
 * dot.
 */
export const ERASURES_STREAM = 'erasures';

/** States that the events of a stream before a revision were removed; `first` and `last` are their first and last positions. */
export interface Erasure {
  stream: string;
  before: number;
  first: Position;
  last: Position;
}

/** Returns the note in an event of the notes' stream; undefined when it is not one. */
export function toErasure({ stream, before, first, last }: JsonObject): Erasure | undefined {
  if (typeof stream !== 'string' || typeof before !== 'number') return undefined;
  if (typeof first !== 'number' || typeof last !== 'number') return undefined;
  return { stream, before, first, last };
}
