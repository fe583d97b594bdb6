import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, type RecordErased, tombstoneTypes } from '../../domain/events/recordErased.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { unlessUnavailable } from '../../platform/unlessUnavailable.ts';
import type { RecordedErasure } from './eraseRecord.ts';
import { type ErasurePorts, finishErasure } from './finishErasure.ts';

/** Kinds whose erasure also erases others. */
const takingKinds: readonly string[] = [patient.kind, encounter.kind];

/**
 * Returns the erasure of an erased record, completing it if it was interrupted; undefined when the stream is not erased. Rejects
 * with `unavailable` when the event log is unreachable, and with `unreadable`.
 */
export async function erasureOf(ports: ErasurePorts, stream: string): Promise<RecordedErasure | undefined> {
  const { eventLog } = ports;
  const [done] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  if (done === undefined || erasureStep(done) !== 'done') return undefined;
  if (!(await unlessUnavailable(finishErasure(ports, done))))
    return { tombstones: [done], isComplete: false };
  const isTaking = takingKinds.includes(dataAs<RecordErased>(done.data).kind);
  return { tombstones: isTaking ? [done, ...(await goneWith(ports, done))] : [done], isComplete: true };
}

/** Returns the last tombstones of what was erased together with a record: they come after its own. */
async function goneWith({ eventLog }: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const { erasure_id, kind, record_id } = dataAs<RecordErased>(done.data);
  const stop = new AbortController();
  const filter = { eventTypes: [...tombstoneTypes] };
  const found: RecordedEvent[] = [];
  try {
    for await (const batch of eventLog.follow({ after: done.position, filter, signal: stop.signal })) {
      const isWith = (event: RecordedEvent) =>
        erasureStep(event) === 'done' &&
        event.data.erasure_id === erasure_id &&
        // For an encounter erased with its patient: what was erased with that encounter.
        (kind === patient.kind || event.data.record_id === record_id);
      found.push(...batch.events.filter(isWith));
      if (batch.caughtUp) break;
    }
  } finally {
    stop.abort();
  }
  return found;
}
