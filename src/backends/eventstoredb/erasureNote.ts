import type { JsonObject, Position } from '../../events/event.ts';

/**
 * Notes of what was removed, by all processes. Its events have no workspace, so they are nobody's; nor has the name a dot.
 */
export const ERASURES_STREAM = 'erasures';

/** That the events of a stream before a revision were removed; their positions begin and end so. */
export interface Erasure {
  stream: string;
  before: number;
  first: Position;
  last: Position;
}

/** The note that an event of the notes' stream holds; undefined when it holds none. */
export function toErasure({ stream, before, first, last }: JsonObject): Erasure | undefined {
  if (typeof stream !== 'string' || typeof before !== 'number') return undefined;
  if (typeof first !== 'number' || typeof last !== 'number') return undefined;
  return { stream, before, first, last };
}
