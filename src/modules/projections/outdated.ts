import { setTimeout as sleep } from 'node:timers/promises';
import { setBack } from '../../storage/readModelRefusals.ts';
import type { ParkedEvent, ReadModels } from '../../storage/readModels.ts';

/** How often to check whether a read model is outdated. */
const LOOK_MS = 1_000;

/** Noted with the parked events of a read model, at a position that no event has. */
const OUTDATED: ParkedEvent = { position: -1, eventId: '', reason: 'Outdated' };

type Parking = Pick<ReadModels, 'park' | 'parked'>;

/**
 * Notes that a read model has to be built anew, as what it is based on has changed without an event; its writer then begins it anew.
 * Rejects with `unavailable`.
 */
export function markOutdated(readModels: Parking, model: string): Promise<void> {
  return readModels.park(model, OUTDATED);
}

/** Whether that is noted. Rejects with `unavailable`. */
export async function isOutdated(readModels: Parking, model: string): Promise<boolean> {
  const [first] = await readModels.parked(model);
  return first?.reason === OUTDATED.reason;
}

/** Rejects as `ReadModels.write` does once that is noted, and with `unavailable`; otherwise resolves at the signal. */
export async function untilOutdated(readModels: Parking, model: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (await isOutdated(readModels, model)) throw setBack();
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}
