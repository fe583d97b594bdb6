import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceError, unavailable } from '../errors.ts';
import type { ErasedEvent, Position, RecordedEvent, UnreadableEvent } from '../events/event.ts';
import { sharedStreams } from '../events/streamNames.ts';
import type { EventBatch, EventLog } from '../ports/eventLog.ts';

/** The log waits by itself for a store that is away; nobody who looks at a screen waits longer than this. */
const STALLED_MS = 30_000;

/** Where in the log to read: after one position, up to and including another, which the log has reached. */
export interface LogRange {
  after: Position;
  until: Position;
}

export interface WorkspaceBatch {
  events: RecordedEvent[];
  /** Events of the workspace's own streams that the store holds but cannot read. */
  unreadable: UnreadableEvent[];
  /** Where events of the workspace's own streams were erased. */
  erased: ErasedEvent[];
  /** All up to and including this position has been delivered. */
  position: Position;
}

/**
 * All events of a workspace in log order: of its own streams, and its own in shared ones. Rejects with
 * `unavailable` when the log does not go on for half a minute.
 */
export async function* readWorkspace(
  eventLog: EventLog,
  workspace: string,
  { after, until }: LogRange,
): AsyncGenerator<WorkspaceBatch> {
  const prefix = `${workspace}.`;
  const stop = new AbortController();
  const filter = { streamPrefixes: [prefix, ...sharedStreams] };
  const batches = eventLog
    .follow({ after, filter, erased: true, signal: stop.signal })
    [Symbol.asyncIterator]();
  const isWithin = ({ position }: { position: Position }) => position <= until;
  try {
    for (let position = after; position < until; ) {
      const { value, done } = await within(batches.next(), position);
      if (done) throw stalled(position);
      const batch: EventBatch = value;
      position = batch.position;
      yield {
        events: batch.events.filter((event) => isWithin(event) && event.metadata.workspace === workspace),
        unreadable: (batch.unreadable ?? []).filter(
          (event) => isWithin(event) && event.stream.startsWith(prefix),
        ),
        erased: (batch.erased ?? []).filter((event) => isWithin(event) && event.stream.startsWith(prefix)),
        position: Math.min(position, until),
      };
    }
  } finally {
    // An iteration that waits for its next batch would only then hear that it is to end.
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
