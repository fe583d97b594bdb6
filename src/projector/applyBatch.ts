import { modelName, type Projection } from '../../projections/projection.ts';
import type { EventBatch, RecordedEvent } from '../ports/eventLog.ts';
import type { ReadModels, Row } from '../ports/readModels.ts';

/** A read model that is being built: a projection's own one, or another beside it. */
export interface Target {
  projection: Projection;
  model: string;
}

/** The projection's own read model. */
export function ownTarget(projection: Projection): Target {
  return { projection, model: modelName(projection) };
}

export interface ApplyPorts {
  readModels: ReadModels;
  /** Told of an event that a projection could not take, with the error. */
  onParked(model: string, event: Pick<RecordedEvent, 'id' | 'position'>, error: unknown): void;
}

/**
 * Folds a batch, of events that the projection wants, and writes its rows and the checkpoint. An event that cannot be
 * folded is parked. Rejects with `unavailable`.
 */
export async function applyBatch(
  { projection, model }: Target,
  ports: ApplyPorts,
  batch: EventBatch,
): Promise<void> {
  const rows = await loadRows(projection, ports.readModels, model, batch.events);
  const changed = new Map<string, Row>();
  const completed: Row[] = [];
  const park = async (event: Pick<RecordedEvent, 'id' | 'position'>, error: unknown) => {
    const reason = parkReason(error);
    await ports.readModels.park(model, { position: event.position, eventId: event.id, reason });
    ports.onParked(model, event, error);
  };
  for (const event of batch.unreadable ?? []) await park(event, new UnreadableEventError());
  for (const event of batch.events) {
    try {
      const row = rows.get(projection.rowId(event));
      if (row && row.position >= event.position) continue;
      const [next, ...more] = [projection.evolve(row, event)].flat() as [Row, ...Row[]];
      rows.set(next.id, next);
      changed.set(next.id, next);
      completed.push(...more);
    } catch (error) {
      await park(event, error);
    }
  }
  // Before the rows that they came out of: where a batch was cut off, it is repeated up to those rows' positions.
  if (completed.length > 0) await ports.readModels.write(model, completed, 0);
  await ports.readModels.write(model, [...changed.values()], batch.position);
}

async function loadRows(
  projection: Projection,
  readModels: ReadModels,
  model: string,
  events: RecordedEvent[],
): Promise<Map<string, Row>> {
  if (events.length === 0) return new Map();
  const ids = new Set(events.map((event) => projection.rowId(event)));
  const rows = await readModels.load(model, [...ids]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The log holds an event whose bytes it cannot read. */
class UnreadableEventError extends Error {
  override name = 'UnreadableEvent';
}

/** Error messages may hold data, so only the kind of error is kept. */
function parkReason(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
