import { v7 as uuidv7 } from 'uuid';
import { dataAs, type JsonObject, type RecordedEvent } from '../../domain/events/event.ts';
import { newEvent } from '../../domain/events/newEvent.ts';
import { type RecordErased, restorer } from '../../domain/events/recordErased.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { evolveRecord, mergeFields, type RecordState } from '../../domain/records/fold.ts';
import { appendBehind } from '../../storage/appendBehind.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import { isRestored } from './isRestored.ts';

/**
 * Restores a record whose erasure came too late: appends a version with all fields that it had before the tombstone, on behalf of
 * the service and the erasure's request. Fields sent since take precedence. Can be repeated, by any process. Rejects with
 * `unreadable` and `unavailable`.
 */
export async function restoreRecord(
  eventLog: EventLog,
  done: RecordedEvent,
  before: RecordState,
): Promise<void> {
  const { stream, metadata } = done;
  const { kind, erasure_id } = dataAs<RecordErased>(done.data);
  const caller = { workspace: metadata.workspace, principal: restorer, requestId: erasure_id };
  const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
  for (;;) {
    if (await isRestored(eventLog, done)) return;
    const state = evolve(undefined, done);
    const since = (await foldStream(eventLog, stream, evolve, { state })) ?? state;
    // A different erasure happened since, which is a separate matter.
    if (since.erased && since.version > state.version) return;
    const fields = mergeFields(before.fields, since.fields) as JsonObject;
    const event = { ...newEvent(caller, catalogEntry(kind).eventType, fields), id: uuidv7() };
    if (await appendBehind(eventLog, stream, event, since.version - 1)) return;
  }
}
