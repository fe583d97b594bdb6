import { modelName, type Projection } from '../../projections/projection.ts';
import type { EventBatch, EventLog, RecordedEvent } from '../ports/eventLog.ts';
import type { ReadModels, Row } from '../ports/readModels.ts';

export interface ProjectorPorts {
  eventLog: EventLog;
  readModels: ReadModels;
  /** Told of an event that a projection could not take, with the error. */
  onParked(model: string, event: RecordedEvent, error: unknown): void;
}

/**
 * Folds the log into one read model, from its checkpoint on, until the signal. Rejects when a store is away; calling
 * it again goes on from the checkpoint, which is read anew because a store that failed over may have lost it.
 */
export async function project(
  projection: Projection,
  ports: ProjectorPorts,
  signal: AbortSignal,
): Promise<void> {
  const model = modelName(projection);
  const after = await ports.readModels.checkpoint(model);
  const filter = { eventTypes: projection.eventTypes };
  for await (const batch of ports.eventLog.follow({ after, filter, signal })) {
    await applyBatch(projection, ports, batch);
  }
}

/** Folds one batch and writes its rows and the checkpoint. An event that cannot be folded is parked. */
export async function applyBatch(
  projection: Projection,
  ports: ProjectorPorts,
  batch: EventBatch,
): Promise<void> {
  const model = modelName(projection);
  const ids = [...new Set(batch.events.map((event) => projection.rowId(event)))];
  const loaded = ids.length === 0 ? [] : await ports.readModels.load(model, ids);
  const rows = new Map(loaded.map((row) => [row.id, row]));
  const changed = new Map<string, Row>();
  for (const event of batch.events) {
    const row = rows.get(projection.rowId(event));
    if (row && row.position >= event.position) continue;
    try {
      const next = projection.evolve(row, event);
      rows.set(next.id, next);
      changed.set(next.id, next);
    } catch (error) {
      await ports.readModels.park(model, {
        position: event.position,
        eventId: event.id,
        reason: parkReason(error),
      });
      ports.onParked(model, event, error);
    }
  }
  await ports.readModels.write(model, [...changed.values()], batch.position);
}

/** Error messages may hold data, so only the kind of error is kept. */
function parkReason(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
