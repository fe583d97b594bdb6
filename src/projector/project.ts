import { setTimeout as sleep } from 'node:timers/promises';
import { modelName, type Projection } from '../../projections/projection.ts';
import type { EventBatch, EventLog, RecordedEvent } from '../ports/eventLog.ts';
import type { ReadModels, Row } from '../ports/readModels.ts';

/** How often a quiet projection looks whether its read model was set back. */
const PAUSE_MS = 1_000;

export interface ProjectorPorts {
  eventLog: EventLog;
  readModels: ReadModels;
  /** Told of an event that a projection could not take, with the error. */
  onParked(model: string, event: Pick<RecordedEvent, 'id' | 'position'>, error: unknown): void;
}

/**
 * Folds the log into one read model, from its checkpoint on: until the signal, or until `isDone` says so of a batch
 * that was written. Rejects when a store is away; calling it again goes on from the checkpoint, which is read anew
 * because a store that failed over may have lost it, and so may one that was rebuilt: that is looked for, too, while
 * nothing is appended. `model` is the projection's own one, or one built beside it.
 */
export async function project(
  projection: Projection,
  ports: ProjectorPorts,
  signal: AbortSignal,
  model = modelName(projection),
  isDone: (batch: EventBatch) => boolean = () => false,
): Promise<void> {
  const { eventLog, readModels } = ports;
  let position = await readModels.checkpoint(model);
  const filter = { eventTypes: projection.eventTypes };
  const follow = (until: AbortSignal) => eventLog.follow({ after: position, filter, signal: until });
  for await (const batch of withPauses(follow, signal)) {
    if (batch === undefined) {
      await readModels.write(model, [], position);
      continue;
    }
    await applyBatch(projection, ports, model, batch);
    position = batch.position;
    if (isDone(batch)) return;
  }
}

/** What the iteration gives, and `undefined` whenever nothing came for `PAUSE_MS`. */
async function* withPauses<Item>(
  follow: (signal: AbortSignal) => AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item | undefined> {
  const stop = new AbortController();
  const iterator = follow(AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]();
  try {
    for (let next = iterator.next(); ; ) {
      const waiting = new AbortController();
      const pause = sleep(PAUSE_MS, undefined, { signal: waiting.signal }).catch(() => undefined);
      const result = await Promise.race([next, pause]).finally(() => waiting.abort());
      if (result?.done) return;
      yield result?.value;
      if (result) next = iterator.next();
    }
  } finally {
    // An iteration that waits for its next item would only then hear that it is to end.
    stop.abort();
    await iterator.return?.();
  }
}

/** Folds one batch and writes its rows and the checkpoint. An event that cannot be folded is parked. */
async function applyBatch(
  projection: Projection,
  ports: ProjectorPorts,
  model: string,
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
