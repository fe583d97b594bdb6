import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';

/** How often to check whether it is still the same log. */
const LOOK_MS = 1_000;

/**
 * Rejects with `unavailable` when the log at its address has become another one; otherwise resolves at the signal.
 */
export async function whileSameLog(eventLog: EventLog, signal: AbortSignal): Promise<void> {
  const identity = await eventLog.identity();
  while (!signal.aborted) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted && (await eventLog.identity()) !== identity) throw unavailable('event log');
  }
}
