import { v7 as uuidv7 } from 'uuid';
import { dataAs, type JsonObject, type RecordedEvent } from '../../events/event.ts';
import { newEvent } from '../../events/newEvent.ts';
import { isRestoring, type RecordErased, restorer } from '../../events/recordErased.ts';
import { appendBehind } from '../../ports/appendBehind.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { foldStream } from '../../reads/foldStream.ts';
import { catalogEntry } from '../../records/catalog.ts';
import { evolveRecord, mergeFields, type RecordState } from '../../records/fold.ts';

/** Events behind a tombstone among which the one that restores the record is looked for: it comes at once. */
const LOOKED_AT = 100;

/**
 * Brings back a record that an erasure came too late for: appends a version with all fields that it had before the tombstone, in the
 * name of the service and the request of the erasure. What was sent since counts. Can be repeated, by any process. Rejects with
 * `unreadable` and `unavailable`.
 */
export async function restoreRecord(
  eventLog: EventLog,
  done: RecordedEvent,
  before: RecordState,
): Promise<void> {
  const { stream, metadata, revision } = done;
  const { kind, erasure_id } = dataAs<RecordErased>(done.data);
  const caller = { workspace: metadata.workspace, principal: restorer, requestId: erasure_id };
  const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
  for (;;) {
    const behind = await eventLog.readStream(stream, { from: revision + 1, limit: LOOKED_AT });
    if (behind.some((event) => isRestoring(event, erasure_id))) return;
    const state = evolve(undefined, done);
    const since = (await foldStream(eventLog, stream, evolve, { state })) ?? state;
    // Another erasure came, which is another matter.
    if (since.erased && since.version > state.version) return;
    const fields = mergeFields(before.fields, since.fields) as JsonObject;
    const event = { ...newEvent(caller, catalogEntry(kind).eventType, fields), id: uuidv7() };
    if (await appendBehind(eventLog, stream, event, since.version - 1)) return;
  }
}
