import type { ReadinessCause } from '../../domain/events/encounterReadiness.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { documentIdsOf, kindOfStream, recordIdOf } from '../../domain/events/streamNames.ts';

/** What led to an evaluation. */
export interface Trigger {
  /** Left out where a finding began or ended by itself. */
  cause?: ReadinessCause;
  /** Of the event; beyond all events where there is none. */
  position: Position;
  /** The request that brought it about. */
  requestId?: string;
}

/** Returns what led to an evaluation because of an event. */
export function triggerOf({ id: event_id, stream, revision, position, metadata }: RecordedEvent): Trigger {
  const kind = kindOfStream(stream);
  const id = kind === 'document' ? documentIdsOf(stream).documentId : recordIdOf(stream);
  const cause = { event_id, kind, id, version: revision + 1 };
  return { cause, position, requestId: metadata.requestId };
}
