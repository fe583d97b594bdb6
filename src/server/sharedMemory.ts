import { PASSWORDS_AT_ONCE } from '../modules/auth/passwords.ts';
import { MOST_EXPORTS, MOST_VERIFICATIONS } from '../modules/integrity/jobs.ts';
import { MOST_ANALYSES } from '../modules/readiness/jobs.ts';
import { type SharedFlag, SharedSemaphore } from '../platform/threads/semaphore.ts';
import { type CountsMemory, SharedCounts } from '../storage/engines/memory/rateLimiter.ts';

/** What the threads that answer requests share; it is passed to each of them. */
export interface SharedMemory {
  /** For the `SharedFlag` that is raised when something waits for read models. */
  awaited: SharedArrayBuffer;
  counts: CountsMemory;
  /** For `SharedSemaphore`. */
  passwords: SharedArrayBuffer;
  exports: SharedArrayBuffer;
  verifications: SharedArrayBuffer;
  analyses: SharedArrayBuffer;
}

/** For expensive work: the places shared by all threads of the process. */
export interface ConcurrencyLimits {
  exports: SharedSemaphore;
  verifications: SharedSemaphore;
  analyses: SharedSemaphore;
}

export function sharedMemory(threads: number, awaited: SharedFlag): SharedMemory {
  return {
    awaited: awaited.buffer,
    counts: SharedCounts.memory(),
    passwords: SharedSemaphore.bufferFor(threads),
    exports: SharedSemaphore.bufferFor(threads),
    verifications: SharedSemaphore.bufferFor(threads),
    analyses: SharedSemaphore.bufferFor(threads),
  };
}

/** Returns the places of one of the threads; the first one has the number 0. */
export function createSemaphores(
  { passwords, exports, verifications, analyses }: SharedMemory,
  thread: number,
): ConcurrencyLimits & { passwords: SharedSemaphore } {
  return {
    passwords: new SharedSemaphore(PASSWORDS_AT_ONCE, passwords, thread),
    exports: new SharedSemaphore(MOST_EXPORTS, exports, thread),
    verifications: new SharedSemaphore(MOST_VERIFICATIONS, verifications, thread),
    analyses: new SharedSemaphore(MOST_ANALYSES, analyses, thread),
  };
}
