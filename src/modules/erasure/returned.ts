import { dataAs, type Principal } from '../../domain/events/event.ts';
import { erasureStep, type RecordErased } from '../../domain/events/payloads.ts';
import { recordStream } from '../../domain/events/streams.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { tombstonesAfter } from './tombstones.ts';

/** A record that was sent again after its erasure. */
export interface ReturnedRecord {
  kind: string;
  id: string;
  /** ISO 8601, UTC. */
  erased_at: string;
  returned_at: string;
  /** Its first version after the erasure. */
  version: number;
  /** Who sent it. */
  principal: Principal;
  request_id: string;
}

/**
 * Yields the records of a workspace that were sent again after an erasure, in the order of the erasures; of those that were erased
 * again since, the next one. Takes one pass through all tombstones, and a read for each that ends an erasure. Rejects with
 * `unavailable`.
 */
export async function* returnedRecords(
  eventLog: EventLog,
  workspace: string,
): AsyncGenerator<ReturnedRecord> {
  for await (const tombstone of tombstonesAfter(eventLog, 0)) {
    const { kind, record_id: id } = dataAs<RecordErased>(tombstone.data);
    const { stream } = tombstone;
    if (erasureStep(tombstone) !== 'done' || stream !== recordStream(workspace, kind, id)) continue;
    const [next] = await eventLog.readStream(stream, { from: tombstone.revision + 1, limit: 1 });
    if (next === undefined || erasureStep(next) !== undefined) continue;
    yield {
      ...{ kind, id, erased_at: tombstone.recordedAt, returned_at: next.recordedAt },
      ...{ version: next.revision + 1, principal: next.metadata.principal },
      request_id: next.metadata.requestId ?? next.id,
    };
  }
}
