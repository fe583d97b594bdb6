import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';

/** Requests come first: where all processors are busy, this thread waits. Linux has a priority for each thread. */
export function yieldToRequests(): void {
  try {
    setPriority(
      Number(basename(readlinkSync('/proc/thread-self'))),
      constants.priority.PRIORITY_BELOW_NORMAL,
    );
  } catch {
    // Elsewhere all threads are equal, which only costs speed.
  }
}
