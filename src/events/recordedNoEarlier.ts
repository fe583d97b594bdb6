import { eventIdTime } from './eventIdTime.ts';

/** The clocks of logs and of those who make event ids differ by less. */
const CLOCKS_APART_MS = 600_000;

/**
 * The moment, in milliseconds since 1970, before which no event of this id was recorded; 0 where its id does not tell: it is
 * not of version 7, or was made by a clock that went ahead (the ids of a process never fall, also when its clock is set back).
 */
export function recordedNoEarlier(id: string): number {
  const made = eventIdTime(id);
  return made > Date.now() ? 0 : made - CLOCKS_APART_MS;
}
