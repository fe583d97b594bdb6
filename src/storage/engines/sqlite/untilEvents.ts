import { setTimeout as sleep } from 'node:timers/promises';
import type { FollowOptions } from '../../eventLog.ts';

/** How often to check whether there are events. */
const LOOK_MS = 20;
/** For how long events gather even if they are awaited: many who wait would otherwise make each batch a single event. */
const LEAST_MS = 5;

/**
 * How a follower that has caught up waits: resolves when there are events, according to `isThere`, which is asked each time that
 * they have gathered; or at the signal.
 */
export async function untilEvents(
  isThere: () => boolean,
  { gather, signal }: Pick<FollowOptions, 'gather' | 'signal'>,
): Promise<void> {
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => undefined);
  do {
    const begun = performance.now();
    await (gather?.(signal) ?? pause(LOOK_MS));
    const rest = begun + LEAST_MS - performance.now();
    if (rest > 0) await pause(rest);
  } while (!signal.aborted && !isThere());
}
