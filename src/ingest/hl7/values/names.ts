import type { Repetition, Segment, Value } from '../message/Segment.ts';

/** HL7 table 0200. */
const LEGAL = 'L';

/** A person's name, with where it stands. */
export interface Name {
  first: Value;
  last: Value;
  repetition: number;
}

/** The legal name of a field of names (XPN), or the first one. */
export function nameOf(segment: Segment | undefined, field: number): Name {
  const names: readonly Repetition[] = segment?.repetitions(field) ?? [];
  const name = names.find((one) => one.value(7) === LEGAL) ?? names[0];
  return { first: name?.value(2), last: name?.value(1), repetition: name?.number ?? 1 };
}
