import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import type { RecordErased } from '../../domain/events/recordErased.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import type { Referrer } from './findReferrers.ts';
import { type Holding, holdsOver } from './holdsOver.ts';
import { patientsOver } from './patientsOver.ts';
import { readHolds } from './readHolds.ts';

/** A record that was protected by legal holds at its tombstone. */
export interface HeldRecordState {
  holding: Holding;
  /** Its state before the tombstone. */
  record: RecordState;
}

/**
 * Returns the legal holds that precede the last tombstone of an erasure in the log, and protect what it would erase; undefined
 * when there are none, when the events are already removed, and when the record goes with another one, whose tombstone decides.
 * `referrers` is not called when nothing is held. Rejects as `referrers` does, with `unreadable` and `unavailable`.
 */
export async function heldBefore(
  eventLog: EventLog,
  done: RecordedEvent,
  referrers: () => Promise<readonly Referrer[]>,
): Promise<HeldRecordState | undefined> {
  if (goesWithAnother(done)) return undefined;
  const { kind, record_id: id, parts } = dataAs<RecordErased>(done.data);
  const holds = await readHolds(eventLog, done.metadata.workspace, { before: done.position });
  if (holds.inForce.size === 0) return undefined;
  const first = done.revision + 1 - parts;
  const [before] = await eventLog.readStream(done.stream, { from: first - 1, limit: 1 });
  if (before?.revision !== first - 1) return undefined;
  const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
  const record = await foldStream<RecordState>(eventLog, done.stream, evolve, { version: first });
  if (record === undefined || record.erased) return undefined;
  const asThen = { version: first, before: done.position };
  const patientIds = await patientsOver(eventLog, done.metadata.workspace, { kind, id }, asThen);
  const holding = holdsOver(holds, { kind, id, patientIds, referrers: await referrers() });
  return holding && { holding, record };
}

/** Whether a tombstone is for something erased along with the record that was named. */
export function goesWithAnother({ data }: RecordedEvent): boolean {
  const { kind, with_patient } = dataAs<RecordErased>(data);
  return with_patient === true || kind === 'document' || kind === 'readiness';
}
