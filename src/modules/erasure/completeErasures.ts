import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { encounterReadinessTypes } from '../../domain/events/encounterReadiness.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, tombstoneTypes } from '../../domain/events/recordErased.ts';
import { asUnreadable, ServiceError, UnreadableError } from '../../platform/errors.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import type { StateRow, StateTable } from '../../storage/stateStore.ts';
import { ErasureRefused } from './ErasureRefused.ts';
import { eraseLate, possiblyLate } from './eraseLate.ts';
import { type ErasurePorts, finishErasure } from './finishErasure.ts';
import { PurgePace } from './PurgePace.ts';
import { purgeErased, purgesTable } from './purgeErased.ts';

/** How often the log is polled: following it would cost the projector time for every event. */
const LOOK_EVERY_MS = 1_000;
/** How many positions the log advances before the place is saved without an erasure. */
const PLACE_EVERY = 10_000;

/** Event types that may be appended after the erasure of their encounter. */
const lateTypes: readonly string[] = ['DocumentUploaded', ...encounterReadinessTypes];
const isLateType = ({ type }: RecordedEvent) => lateTypes.includes(type);

/** How far erasures are complete in each log, by the log's identity. */
const placeTable: StateTable<{ position: Position }> = {
  name: 'erasures_v1',
  body: z.object({ position: z.number() }),
};

/**
 * Until the signal, completes every erasure in the log, including those that another process began and did not survive to finish,
 * erases what was appended after the erasure of its encounter, and purges the bytes from the stores' files. If the place is lost,
 * completed erasures are just checked again. `onFailure` is called for one that comes to an event that cannot be read: the next
 * call begins with it again, and the others are completed; and for a purge that failed, which alone is repeated. Rejects with
 * `unavailable`.
 */
export async function completeErasures(
  ports: ErasurePorts,
  signal: AbortSignal,
  onFailure: (error: ServiceError) => void = () => undefined,
): Promise<void> {
  const { eventLog, stateStore } = ports;
  const log = await eventLog.identity();
  const [row] = await stateStore.load(placeTable, [log]);
  const isPlace = row !== undefined && (await eventLog.hasPosition(row.body.position));
  const after = isPlace ? row.body.position : 0;
  if (row && !isPlace) {
    for (const table of [placeTable, purgesTable])
      await stateStore.remove(table, [log], Number.MAX_SAFE_INTEGER);
  }
  // The place is saved after a purge.
  if (isPlace) await stateStore.save(purgesTable, [placeRow(log, after)]);
  let saved = after;
  /** Everything up to here is complete. */
  let reached = after;
  let isWhole = true;
  let toPurge = false;
  const pace = new PurgePace();
  for await (const { events, position, caughtUp } of looks(eventLog, after, signal)) {
    const late = await possiblyLate(ports, events.filter(isLateType), position);
    for (const event of events) {
      const isErased = await complete(ports, event, late).catch(asUnreadable);
      if (isErased instanceof UnreadableError) {
        isWhole = false;
        onFailure(isErased);
      }
      // Of what cannot be read as a whole, the rest is erased.
      toPurge = isErased !== false || toPurge;
    }
    if (isWhole) reached = position;
    if (!caughtUp || (toPurge ? !pace.isDue : position <= saved + PLACE_EVERY)) continue;
    if (toPurge) {
      const failure = await pace.during(purgeErased(ports, signal)).catch(asUnavailable);
      if (signal.aborted) return;
      if (failure) {
        onFailure(failure);
        continue;
      }
      await stateStore.save(purgesTable, [placeRow(log, position)]);
    }
    toPurge = false;
    saved = position;
    if (reached > after) await stateStore.save(placeTable, [placeRow(log, reached)]);
  }
}

function placeRow(log: string, position: Position): StateRow<{ position: Position }> {
  return { id: log, partition: log, order: 0, revision: position, body: { position } };
}

/** Returns an error that a repeat may overcome; throws any other. */
function asUnavailable(error: unknown): ServiceError {
  if (error instanceof ServiceError && error.code === 'unavailable') return error;
  throw error;
}

/** Does what an event requires, and returns whether something was erased. */
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

/** Yields batches of tombstones, and of events that may be late, after a position, at least one per poll, until the signal. */
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
