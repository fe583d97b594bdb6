import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { encounterReadinessTypes } from '../events/encounterReadiness.ts';
import type { Position, RecordedEvent } from '../events/event.ts';
import { erasureStep, tombstoneTypes } from '../events/recordErased.ts';
import type { EventBatch, EventLog } from '../ports/eventLog.ts';
import type { StateTable } from '../ports/stateStore.ts';
import { ErasureRefused } from './ErasureRefused.ts';
import { eraseLate, possiblyLate } from './eraseLate.ts';
import { type ErasurePorts, finishErasure } from './finishErasure.ts';
import { PurgePace } from './PurgePace.ts';
import { purgeErased } from './purgeErased.ts';

/** How often the log is looked at: following it would cost the projector of every event. */
const LOOK_EVERY_MS = 1_000;
/** How far the log goes on, in positions, before the place is saved without an erasure. */
const PLACE_EVERY = 10_000;

/** What may come behind the erasure of its encounter. */
const lateTypes: readonly string[] = ['DocumentUploaded', ...encounterReadinessTypes];
const isLateType = ({ type }: RecordedEvent) => lateTypes.includes(type);

/** Up to where in each log, by its identity, erasures are complete. */
const placeTable: StateTable<{ position: Position }> = {
  name: 'erasures_v1',
  body: z.object({ position: z.number() }),
};

/**
 * Finishes every erasure that the log tells of, also those that another process began and did not live to finish, and erases
 * what came behind that of its encounter, until the signal, and takes their bytes out of the files of the stores.
 * A lost place only makes it look again at what is complete. Rejects with `unavailable`.
 */
export async function completeErasures(ports: ErasurePorts, signal: AbortSignal): Promise<void> {
  const { eventLog, stateStore } = ports;
  const log = await eventLog.identity();
  const [row] = await stateStore.load(placeTable, [log]);
  const isPlace = row !== undefined && (await eventLog.hasPosition(row.body.position));
  const after = isPlace ? row.body.position : 0;
  if (row && !isPlace) await stateStore.remove(placeTable, [log], row.revision);
  let saved = after;
  let toPurge = false;
  const pace = new PurgePace();
  for await (const { events, position, caughtUp } of looks(eventLog, after, signal)) {
    const late = await possiblyLate(ports, events.filter(isLateType), position);
    for (const event of events) toPurge = (await complete(ports, event, late)) || toPurge;
    if (!caughtUp || (toPurge ? !pace.isDue : position <= saved + PLACE_EVERY)) continue;
    if (toPurge) await pace.during(purgeErased(ports));
    toPurge = false;
    saved = position;
    const place = { id: log, partition: log, order: 0, revision: position, body: { position } };
    await stateStore.save(placeTable, [place]);
  }
}

/** Does what an event asks for, and says whether something was erased. */
async function complete(
  ports: ErasurePorts,
  event: RecordedEvent,
  late: ReadonlySet<RecordedEvent>,
): Promise<boolean> {
  if (isLateType(event)) return late.has(event) && eraseLate(ports, event);
  if (erasureStep(event) !== 'done') return false;
  try {
    await finishErasure(ports, event);
    return true;
  } catch (error) {
    if (error instanceof ErasureRefused) return false;
    throw error;
  }
}

/** Batches of tombstones, and of what may be late, after a position, at every look at least one, until the signal. */
async function* looks(eventLog: EventLog, after: Position, signal: AbortSignal): AsyncGenerator<EventBatch> {
  const filter = { eventTypes: [...tombstoneTypes, ...lateTypes] };
  for (let position = after; !signal.aborted; ) {
    for await (const batch of eventLog.follow({ after: position, filter, signal })) {
      position = batch.position;
      yield batch;
      if (batch.caughtUp) break;
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}
