import { v7 as uuidv7 } from 'uuid';
import { dataAs, type JsonObject, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newActorEvent, newEvent } from '../../domain/events/newEvent.ts';
import { erasureStep, isRestoring, type RecordErased, restorer } from '../../domain/events/payloads.ts';
import { holdsStream, recordStream } from '../../domain/events/streams.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { evolveRecord, mergeFields, type RecordState } from '../../domain/records/fold.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { notFound, ServiceError, unavailable } from '../../platform/errors.ts';
import { withRetry } from '../../platform/retry.ts';
import { appendBehind, appendDecided, type EventLog } from '../../storage/eventLog.ts';
import { generateId } from '../auth/apiKeys.ts';
import { foldStream } from '../records/queries/records.ts';
import {
  goesWithAnother,
  type Hold,
  type HoldChange,
  heldBefore,
  patientsOver,
  readHolds,
  requireReason,
} from './holdState.ts';

/** Number of events of a stream to search for the tombstones of its erasure. */
const EVENTS_WITH_TOMBSTONES = 10;

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
  if (record) await requireNotErased(eventLog, workspace, record);
  const { revision, position } = await append('HoldAdded', said);
  if (!record) return hold_id;
  try {
    // A tombstone after the hold is not carried out; one before it is visible as soon as the hold is.
    await withRetry(() => requireShown(eventLog, holdsStream(workspace), revision));
    await requireNotErased(eventLog, workspace, record, position);
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
async function requireNotErased(
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
    eventLog.readStream(patient, { limit: EVENTS_WITH_TOMBSTONES }),
    eventLog.readStream(patient, { direction: 'backwards', limit: 1 }),
  ]);
  return [...last, ...first].find(
    (event) => erasureStep(event) === 'done' && dataAs<RecordErased>(event.data).with_encounters,
  );
}

/** Number of events after a tombstone to search for the one that restores the record: it follows at once. */
const EVENTS_AFTER_TOMBSTONE = 100;

/**
 * Whether a legal hold restored a record after the given last tombstone, which is then never carried out. Rejects with
 * `unavailable`.
 */
export async function isRestored(
  eventLog: EventLog,
  { stream, revision, data }: RecordedEvent,
): Promise<boolean> {
  const { erasure_id } = dataAs<RecordErased>(data);
  const behind = await eventLog.readStream(stream, { from: revision + 1, limit: EVENTS_AFTER_TOMBSTONE });
  return behind.some((event) => isRestoring(event, erasure_id));
}

/**
 * Releases a legal hold of the caller's workspace, and returns its previous state. What other holds cover stays held. Rejects
 * with `not_found` when there is none with that id, with `conflict` when it is already released, with `validation_failed` without
 * a reason, with `unreadable` and `unavailable`.
 */
export async function releaseHold(
  eventLog: EventLog,
  caller: Caller,
  id: string,
  reason: string,
): Promise<Hold> {
  const { workspace } = caller;
  const said = requireReason(reason);
  const read = () => readHolds(eventLog, workspace);
  const { holds } = await appendDecided(eventLog, holdsStream(workspace), read, ({ holds }) => {
    const { record, released } = findHold(holds, id);
    if (released) throw new ServiceError('conflict', `Hold ${id} was already released at ${released.at}.`);
    const on = record ? { kind: record.kind, record_id: record.id } : { workspace };
    const change: HoldChange = { hold_id: id, ...on, reason: said };
    return newActorEvent(caller, workspace, 'HoldReleased', { ...change });
  });
  return findHold(holds, id);
}

/** Returns the hold with an id. Throws `not_found`. */
export function findHold(holds: ReadonlyMap<string, Hold>, id: string): Hold {
  const hold = holds.get(id);
  if (hold === undefined) throw new ServiceError('not_found', `The workspace has no hold ${id}.`);
  return hold;
}

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
    const state = evolve(undefined, done);
    const since = (await foldStream(eventLog, stream, evolve, { state })) ?? state;
    // After the fold, behind which it is appended: what another process restores in the meantime is either found here, or in the way.
    if (await isRestored(eventLog, done)) return;
    // A different erasure happened since, which is a separate matter.
    if (since.erased && since.version > state.version) return;
    const fields = mergeFields(before.fields, since.fields) as JsonObject;
    const event = { ...newEvent(caller, catalogEntry(kind).eventType, fields), id: uuidv7() };
    if (await appendBehind(eventLog, stream, event, since.version - 1)) return;
  }
}
