import { eventIdTime } from './eventIdTime.ts';

/** Maximum clock difference between logs and generators of event ids. */
const CLOCKS_APART_MS = 600_000;

/**
 * Returns a time, in milliseconds since 1970, before which no event with this id was recorded; 0 if the id does not tell: it is
 * not of version 7, or came from a clock that ran ahead (a process's ids never decrease, even when its clock is set back).
 */
export function recordedNoEarlier(id: string): number {
  const made = eventIdTime(id);
  return made > Date.now() ? 0 : made - CLOCKS_APART_MS;
}
