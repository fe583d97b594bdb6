import { PASSWORDS_AT_ONCE } from '../modules/auth/passwords.ts';
import { MOST_EXPORTS, MOST_VERIFICATIONS } from '../modules/integrity/jobs.ts';
import { MOST_ANALYSES } from '../modules/readiness/jobs.ts';
import { type SharedFlag, SharedPlaces } from '../platform/threads/semaphore.ts';
import { type CountsMemory, SharedCounts } from '../storage/engines/memory/rateLimiter.ts';

/** What the threads that answer requests share; it is passed to each of them. */
export interface SharedMemory {
  /** For the `SharedFlag` that is raised when something waits for read models. */
  awaited: SharedArrayBuffer;
  counts: CountsMemory;
  /** For `SharedPlaces`. */
  passwords: SharedArrayBuffer;
  exports: SharedArrayBuffer;
  verifications: SharedArrayBuffer;
  analyses: SharedArrayBuffer;
}

/** For expensive work: the places shared by all threads of the process. */
export interface TaskPlaces {
  exports: SharedPlaces;
  verifications: SharedPlaces;
  analyses: SharedPlaces;
}

export function sharedMemory(threads: number, awaited: SharedFlag): SharedMemory {
  return {
    awaited: awaited.buffer,
    counts: SharedCounts.memory(),
    passwords: SharedPlaces.bufferFor(threads),
    exports: SharedPlaces.bufferFor(threads),
    verifications: SharedPlaces.bufferFor(threads),
    analyses: SharedPlaces.bufferFor(threads),
  };
}

/** Returns the places of one of the threads; the first one has the number 0. */
export function sharedPlaces(
  { passwords, exports, verifications, analyses }: SharedMemory,
  thread: number,
): TaskPlaces & { passwords: SharedPlaces } {
  return {
    passwords: new SharedPlaces(PASSWORDS_AT_ONCE, passwords, thread),
    exports: new SharedPlaces(MOST_EXPORTS, exports, thread),
    verifications: new SharedPlaces(MOST_VERIFICATIONS, verifications, thread),
    analyses: new SharedPlaces(MOST_ANALYSES, analyses, thread),
  };
}
