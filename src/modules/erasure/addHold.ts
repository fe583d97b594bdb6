import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newActorEvent } from '../../domain/events/newEvent.ts';
import { erasureStep, type RecordErased } from '../../domain/events/recordErased.ts';
import { holdsStream, recordStream } from '../../domain/events/streamNames.ts';
import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { notFound, ServiceError, unavailable } from '../../platform/errors.ts';
import { patiently } from '../../platform/patiently.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { generateId } from '../auth/apiKey.ts';
import { goesWithAnother, heldBefore } from './heldBefore.ts';
import type { HoldChange } from './holdState.ts';
import { patientsOver } from './patientsOver.ts';
import { requireReason } from './requireReason.ts';

/** Number of events of a stream to search for the tombstones of its erasure. */
const LOOKED_AT = 10;

/** A record to be placed under hold. */
export interface HeldRecord {
  entry: CatalogEntry;
  id: string;
}

/**
 * Places a record, or otherwise the caller's whole workspace, under legal hold, and returns the hold's id. Once it resolves, no
 * erasure takes effect, in any process, whose last tombstone was not in the log before the hold: an erasure under way finds that
 * it came too late. Rejects with `not_found` when there is no such record, with `gone` when it was erased before the hold came
 * into force, or goes with its patient, with `validation_failed` without a reason, with `unreadable` and `unavailable`.
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
  const { revision, position } = await append('HoldAdded', said);
  if (!record) return hold_id;
  try {
    // A tombstone after the hold is not carried out; one before it is visible as soon as the hold is.
    await patiently(() => requireShown(eventLog, holdsStream(workspace), revision));
    await requireKept(eventLog, workspace, record, position);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'gone') {
      await append('HoldReleased', 'The record was erased before the hold took effect.');
    }
    throw error;
  }
  return hold_id;
}

/** Rejects with `unavailable` while the log does not show an event: a server that has just begun to lead shows late what it holds. */
async function requireShown(eventLog: EventLog, stream: string, revision: number): Promise<void> {
  const [shown] = await eventLog.readStream(stream, { from: revision, limit: 1 });
  if (shown === undefined) throw unavailable('event log');
}

/**
 * Rejects unless the record exists and no erasure that takes effect precedes a position, neither its own nor that of a patient
 * with which it is erased.
 */
async function requireKept(
  eventLog: EventLog,
  workspace: string,
  { entry, id }: HeldRecord,
  before = Number.POSITIVE_INFINITY,
): Promise<void> {
  const stream = recordStream(workspace, entry.kind, id);
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  if (last === undefined) throw notFound(entry.title);
  const own = erasureStep(last) === 'done' ? last : undefined;
  if (own && (await counts(eventLog, own, before))) throw tooLate(entry.title, own.recordedAt);
  const version = own && own.revision + 1 - dataAs<RecordErased>(own.data).parts;
  for (const patientId of await patientsOver(
    eventLog,
    workspace,
    { kind: entry.kind, id },
    { version, before },
  )) {
    const erased = await erasureWithEncounters(eventLog, recordStream(workspace, 'patient', patientId));
    if (erased && last.position < erased.position && (await counts(eventLog, erased, before)))
      throw tooLate(`Patient of the ${entry.kind}`, erased.recordedAt);
  }
}

/** Whether an erasure takes effect: no hold precedes its last tombstone, not even one added at the given position. */
async function counts(eventLog: EventLog, done: RecordedEvent, before: Position): Promise<boolean> {
  if (goesWithAnother(done)) return true;
  return done.position < before && (await heldBefore(eventLog, done, async () => [])) === undefined;
}

function tooLate(title: string, erasedAt: string): ServiceError {
  return new ServiceError(
    'gone',
    `${title} was already erased at ${erasedAt}. A hold can no longer protect it.`,
    {
      erasedAt,
    },
  );
}

/** Returns the last tombstone of a patient's erasure that includes its encounters, whether or not the id is in use again. */
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
