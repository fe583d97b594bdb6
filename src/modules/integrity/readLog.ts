import { setTimeout as sleep } from 'node:timers/promises';
import type { Position } from '../../domain/events/event.ts';
import { type ServiceError, unavailable } from '../../platform/errors.ts';
import type { EventBatch, EventFilter, EventLog } from '../../storage/eventLog.ts';

/** The log itself waits for a store that is unreachable; nobody watching a screen waits longer than this. */
const STALLED_MS = 30_000;

/** The part of the log to read: after one position, up to and including another, which the log has reached. */
export interface LogRange {
  after: Position;
  until: Position;
}

/** Contents of a range of the log. */
export type RangeBatch = Required<Pick<EventBatch, 'events' | 'unreadable' | 'erased' | 'position'>>;

/**
 * Yields all wanted events of a range of the log, those that cannot be read, and the places of erased ones. Rejects with
 * `unavailable` when the log does not advance for half a minute.
 */
export async function* readLog(
  eventLog: EventLog,
  { after, until }: LogRange,
  filter?: EventFilter,
): AsyncGenerator<RangeBatch> {
  const stop = new AbortController();
  const batches = eventLog
    .follow({ after, ...(filter && { filter }), erased: true, signal: stop.signal })
    [Symbol.asyncIterator]();
  const isWithin = ({ position }: { position: Position }) => position <= until;
  try {
    for (let position = after; position < until; ) {
      const { value, done } = await within(batches.next(), position);
      if (done) throw stalled(position);
      const batch: EventBatch = value;
      position = batch.position;
      yield {
        events: batch.events.filter(isWithin),
        unreadable: (batch.unreadable ?? []).filter(isWithin),
        erased: (batch.erased ?? []).filter(isWithin),
        position: Math.min(position, until),
      };
    }
  } finally {
    // Otherwise an iteration waiting for its next batch would only then learn that it is to end.
    stop.abort();
    await batches.return?.();
  }
}

async function within<Result>(work: Promise<Result>, position: Position): Promise<Result> {
  const over = new AbortController();
  const late = sleep(STALLED_MS, undefined, { signal: over.signal }).then(() => {
    throw stalled(position);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

function stalled(position: Position): ServiceError {
  return unavailable(`event log after position ${position}`);
}
