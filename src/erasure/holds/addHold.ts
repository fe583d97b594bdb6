import { notFound, ServiceError } from '../../errors.ts';
import { dataAs, type RecordedEvent } from '../../events/event.ts';
import { type Caller, newActorEvent } from '../../events/newEvent.ts';
import { erasureStep, type RecordErased } from '../../events/recordErased.ts';
import { holdsStream, recordStream } from '../../events/streamNames.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { generateId } from '../../principals/keys/apiKey.ts';
import type { CatalogEntry } from '../../records/catalog.ts';
import { requireReason } from '../requireReason.ts';
import type { HoldChange } from './holdState.ts';
import { patientOf } from './patientOf.ts';

/** Events of a stream that are looked at for the tombstones of its erasure. */
const LOOKED_AT = 10;

/** A record that is to be held. */
export interface HeldRecord {
  entry: CatalogEntry;
  id: string;
}

/**
 * Puts a record, or else the caller's whole workspace, under legal hold, and gives the hold's id. When it resolves, no erasure that
 * is asked for from then on gets through, in any process. Rejects with `not_found` when there is no such record, with `gone`
 * when it was erased before the hold came into force, or goes with its patient, with `validation_failed` without a reason, with
 * `unreadable` and `unavailable`.
 */
export async function addHold(
  eventLog: EventLog,
  caller: Caller,
  record: HeldRecord | undefined,
  reason: string,
): Promise<string> {
  const { workspace } = caller;
  const hold_id = generateId('hold');
  const on = record ? { kind: record.entry.kind, record_id: record.id } : { workspace };
  const append = (type: string, why: string) => {
    const change: HoldChange = { hold_id, ...on, reason: why };
    return eventLog.append(
      holdsStream(workspace),
      newActorEvent(caller, workspace, type, { ...change }),
      'any',
    );
  };
  const said = requireReason(reason);
  if (record) await requireKept(eventLog, workspace, record);
  await append('HoldAdded', said);
  if (!record) return hold_id;
  try {
    // An erasure that looked for holds just before this one was there has its tombstone by now, or sees the hold.
    await requireKept(eventLog, workspace, record);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'gone') {
      await append('HoldReleased', 'The record was erased before the hold came into force.');
    }
    throw error;
  }
  return hold_id;
}

/** Rejects unless the record is there and not being erased, neither by itself nor with its patient. */
async function requireKept(eventLog: EventLog, workspace: string, { entry, id }: HeldRecord): Promise<void> {
  const stream = recordStream(workspace, entry.kind, id);
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  if (last === undefined) throw notFound(entry.title);
  if (erasureStep(last) === 'done') throw tooLate(entry.title, last.recordedAt);
  if (entry.kind !== 'encounter') return;
  const patientId = (await patientOf(eventLog, workspace, id)) ?? '';
  const erased = await erasureWithEncounters(eventLog, recordStream(workspace, 'patient', patientId));
  if (erased && last.position < erased.position) throw tooLate('Patient of the encounter', erased.recordedAt);
}

function tooLate(title: string, erasedAt: string): ServiceError {
  return new ServiceError('gone', `${title} was erased at ${erasedAt}: the hold comes too late.`, {
    erasedAt,
  });
}

/** The last tombstone of a patient's erasure that takes its encounters with it, whether or not the id is in use again. */
async function erasureWithEncounters(
  eventLog: EventLog,
  patient: string,
): Promise<RecordedEvent | undefined> {
  const [first, last] = await Promise.all([
    eventLog.readStream(patient, { limit: LOOKED_AT }),
    eventLog.readStream(patient, { direction: 'backwards', limit: 1 }),
  ]);
  return [...last, ...first].find(
    (event) => erasureStep(event) === 'done' && dataAs<RecordErased>(event.data).with_encounters,
  );
}
