import { type CountsMemory, SharedCounts } from '../../backends/SharedCounts.ts';
import { MOST_EXPORTS } from '../../evidence/export/Exports.ts';
import { MOST_VERIFICATIONS } from '../../evidence/verification/Verifications.ts';
import { PASSWORDS_AT_ONCE } from '../../principals/users/password.ts';
import type { SharedFlag } from '../../threads/SharedFlag.ts';
import { SharedPlaces } from '../../threads/SharedPlaces.ts';

/** What the threads that answer requests have in common; it is handed to each of them. */
export interface SharedMemory {
  /** Of the `SharedFlag` that something waits for read models. */
  awaited: SharedArrayBuffer;
  counts: CountsMemory;
  /** Of `SharedPlaces`. */
  passwords: SharedArrayBuffer;
  exports: SharedArrayBuffer;
  verifications: SharedArrayBuffer;
}

export function sharedMemory(threads: number, awaited: SharedFlag): SharedMemory {
  return {
    awaited: awaited.buffer,
    counts: SharedCounts.memory(),
    passwords: SharedPlaces.bufferFor(threads),
    exports: SharedPlaces.bufferFor(threads),
    verifications: SharedPlaces.bufferFor(threads),
  };
}

/** The places of one of the threads; the first one has the number 0. */
export function sharedPlaces({ passwords, exports, verifications }: SharedMemory, thread: number) {
  return {
    passwords: new SharedPlaces(PASSWORDS_AT_ONCE, passwords, thread),
    exports: new SharedPlaces(MOST_EXPORTS, exports, thread),
    verifications: new SharedPlaces(MOST_VERIFICATIONS, verifications, thread),
  };
}
