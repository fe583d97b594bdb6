import type { Repetition, Segment } from './Segment.ts';
import { type Told, told } from './Told.ts';

/** HL7 table 0200. */
const LEGAL = 'L';

/** A person's name, with where it is. */
export interface Name {
  first: Told | undefined;
  last: Told | undefined;
  repetition: number;
}

/** Returns the legal name in a field of names (XPN), or the first one. */
export function nameOf(segment: Segment | undefined, field: number): Name {
  const names: readonly Repetition[] = segment?.repetitions(field) ?? [];
  const name = names.find((one) => one.value(7) === LEGAL) ?? names[0];
  const [first, last] = [told(name?.value(2), name?.at(2)), told(name?.value(1), name?.at(1))];
  return { first, last, repetition: name?.number ?? 1 };
}
