import type { Origin } from '../origin.ts';
import type { Value } from './Segment.ts';

/** What a message says about a field, and where. */
export class Told<Of = Exclude<Value, undefined>> {
  readonly value: Of;
  readonly origin: Origin;

  constructor(value: Of, origin: Origin) {
    this.value = value;
    this.origin = origin;
  }
}

/**
 * Returns what is said at a place (in the form of `Segment.at`); undefined for nothing. `setting`: the source's
 * setting that determined it.
 */
export function told<Of>(
  value: Of | undefined,
  at: string | undefined,
  setting?: string,
): Told<Of> | undefined {
  if (value === undefined) return undefined;
  return new Told(value, { ...(at !== undefined && { at }), ...(setting !== undefined && { setting }) });
}

/** Returns what is said, unless it clears. */
export function unlessCleared<Of>(one: Told<Of> | undefined): Told<NonNullable<Of>> | undefined {
  return one?.value == null ? undefined : (one as Told<NonNullable<Of>>);
}
