import { KEPT_EVERY, keptStateId, keptStatesModel } from '../../../../projections/records.ts';
import { erasureStep } from '../../../domain/events/payloads.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';

/** Where the states of records come from: without read models, from the events alone. */
export interface StatePorts {
  eventLog: EventLog;
  readModels?: ReadModels | undefined;
}

/** States loaded at once. */
const AT_ONCE = 16;

/**
 * Resolves with the latest state of a record among those that the read model keeps for which `isWanted` holds, so that only what came
 * after it is to be folded; undefined where there is none. `isWanted` holds up to some version. Only what is still in the log
 * counts: the read model may not have an erasure yet. Rejects with `unreadable` and `unavailable`; not where only the read model is away.
 */
export async function keptState(
  { eventLog, readModels }: StatePorts,
  stream: string,
  isWanted: (state: RecordState) => boolean,
): Promise<RecordState | undefined> {
  if (readModels === undefined) return undefined;
  try {
    const found = await findLast(async (places) => {
      const ids = places.map((place) => keptStateId(stream, place * KEPT_EVERY));
      const rows = new Map((await readModels.load(keptStatesModel, ids)).map((row) => [row.id, row.body]));
      return ids.map((id) => rows.get(id));
    }, isWanted);
    if (found === undefined) return undefined;
    const [event] = await eventLog.readStream(stream, { from: found.version - 1, limit: 1 });
    return event?.revision === found.version - 1 && !erasureStep(event) ? found : undefined;
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

type Kept = RecordState | Record<never, never> | undefined;

/** Searches for the last place, from 1 on, with a wanted state: first at ever greater distances, then in between. */
async function findLast(
  load: (places: number[]) => Promise<Kept[]>,
  isWanted: (state: RecordState) => boolean,
): Promise<RecordState | undefined> {
  let found: RecordState | undefined;
  let [low, high] = [0, 2 ** AT_ONCE];
  let places = Array.from({ length: AT_ONCE }, (_, at) => 2 ** at);
  while (places.length > 0) {
    const kept = await load(places);
    for (const [index, place] of places.entries()) {
      const state = kept[index];
      if (state === undefined || ('version' in state && !isWanted(state))) {
        high = place;
        break;
      }
      low = place;
      if ('version' in state) found = state;
    }
    places = low === 0 ? [] : between(low, high);
  }
  return found;
}

/** Returns places between two, evenly spaced. */
function between(low: number, high: number): number[] {
  const step = Math.max(1, Math.ceil((high - low) / (AT_ONCE + 1)));
  const places: number[] = [];
  for (let place = low + step; place < high; place += step) places.push(place);
  return places;
}
