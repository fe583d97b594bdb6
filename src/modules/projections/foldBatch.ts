import { isIncomplete, modelName, type Projection } from '../../../projections/projection.ts';
import { DamagedEvent } from '../../domain/events/DamagedEvent.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import type { ListedEvent } from '../../domain/events/recordErased.ts';
import type { EventBatch } from '../../storage/eventLog.ts';
import { inLogOrder } from '../../storage/inLogOrder.ts';
import type { ReadModels, Row, RowBatch } from '../../storage/readModels.ts';
import { parkReason } from './parkReason.ts';

/** A read model that is being built: a projection's own, or another one alongside it. */
export interface Target {
  projection: Projection;
  model: string;
}

/** Returns the projection's own read model. */
export function ownTarget(projection: Projection): Target {
  return { projection, model: modelName(projection) };
}

export interface FoldPorts {
  readModels: ReadModels;
  /** Called with an event that a projection could not process, and the error. */
  onParked(model: string, event: Pick<RecordedEvent, 'id' | 'stream' | 'position'>, error: unknown): void;
}

/** A batch, and what tombstones say about the events that were erased, by their positions. */
export interface ToldBatch extends Omit<EventBatch, 'caughtUp'> {
  listed: ReadonlyMap<Position, ListedEvent>;
}

/**
 * Folds a batch of events that the projection wants; resolves with what is to be written. An event that cannot be
 * folded is parked; where a row represents a stream, nothing further of the stream is folded over it. Rejects with
 * `unavailable`.
 */
export async function foldBatch(target: Target, ports: FoldPorts, batch: ToldBatch): Promise<RowBatch[]> {
  const { projection, model } = target;
  const rows = await loadRows(target, ports.readModels, batch);
  const changed = new Set<string>();
  const completed = new Map<string, Row>();
  const take = (row: Row) => {
    rows.set(row.id, row);
    changed.add(row.id);
  };
  const fold = (
    id: string,
    { position }: { position: Position },
    evolve: (row?: Row) => Row | [Row, ...Row[]] | undefined,
  ) => {
    const row = rows.get(id);
    if (row && row.position >= position) return;
    if (row && isIncomplete(row)) return take({ ...row, position });
    const after = evolve(row);
    if (after === undefined) return;
    if (!Array.isArray(after)) return take(after);
    const [next, ...more] = after;
    take(next);
    for (const one of more) completed.set(one.id, one);
  };
  for (const event of inLogOrder(batch)) {
    try {
      if ('data' in event) fold(projection.rowId(event), event, (row) => projection.evolve(row, event));
      else if (!('leaf' in event)) throw new DamagedEvent(event);
      else if (projection.erased) {
        const { rowId, evolve } = projection.erased;
        fold(rowId(event), event, (row) => evolve(row, event, batch.listed.get(event.position)));
      }
    } catch (error) {
      const parked = { position: event.position, eventId: event.id, reason: parkReason(error) };
      await ports.readModels.park(model, parked);
      ports.onParked(model, event, error);
      if (projection.incomplete) take(projection.incomplete(rows.get(event.stream), event as RecordedEvent));
    }
  }
  const all = { model, rows: [...changed].map((id) => rows.get(id) as Row), checkpoint: batch.position };
  // Before the rows that they came from: an interrupted batch is repeated up to those rows' positions.
  if (completed.size === 0) return [all];
  return [{ model, rows: [...completed.values()], checkpoint: 0 }, all];
}

async function loadRows(
  { projection, model }: Target,
  readModels: ReadModels,
  { events, unreadable = [], erased = [] }: ToldBatch,
): Promise<Map<string, Row>> {
  const ids = new Set(events.map((event) => projection.rowId(event)));
  if (projection.incomplete) for (const { stream } of unreadable) ids.add(stream);
  if (projection.erased) for (const event of erased) ids.add(projection.erased.rowId(event));
  if (ids.size === 0) return new Map();
  const rows = await readModels.load(model, [...ids]);
  return new Map(rows.map((row) => [row.id, row]));
}
