import { setImmediate as nextTurn } from 'node:timers/promises';
import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newActorEvent } from '../../domain/events/newEvent.ts';
import {
  type EarlierErasure,
  type ErasedVersion,
  erasureStep,
  type RecordErased,
  tombstoneType,
  tombstoneTypes,
  writtenOf,
} from '../../domain/events/payloads.ts';
import { ownerKind, ownerOfStream, recordStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { eventLeaf } from '../../domain/merkle.ts';
import { catalog, referredIds } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { gone, notFound, ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';

const CHUNK = 200;

/** The present and past contents of a stream: what its tombstones have to list. */
interface StreamToErase {
  /** Every version, in order, including those erased before. */
  erased: ErasedVersion[];
  /** The patients to which it ever referred, each with the first version known to have done so. */
  patients: Map<string, number>;
  earlier: EarlierErasure[];
  /** Its last event; undefined when there is none. */
  last: RecordedEvent | undefined;
}

/** Reads an entire stream, a chunk at a time. Rejects with `unreadable` and `unavailable`. */
async function streamToErase(eventLog: EventLog, stream: string): Promise<StreamToErase> {
  const versions = new Map<number, ErasedVersion>();
  const patients = new Map<string, number>();
  const earlier: EarlierErasure[] = [];
  let tombstones: RecordedEvent[] = [];
  let last: RecordedEvent | undefined;
  for (let from = 0; ; from = (last?.revision ?? 0) + 1) {
    const events = await eventLog.readStream(stream, { from, limit: CHUNK });
    for (const event of events) {
      const { id, revision, position } = event;
      const version = revision + 1;
      for (const one of patientsOf(event)) if (!patients.has(one)) patients.set(one, version);
      const written = writtenOf(event);
      versions.set(version, { version, position, event_id: id, leaf: eventLeaf(event), written });
      const step = erasureStep(event);
      tombstones = step === undefined || event.data.part === 1 ? [] : tombstones;
      if (step) tombstones.push(event);
      if (step === 'done') {
        const parts = tombstones.map(({ data }) => dataAs<RecordErased>(data));
        for (const one of parts.flatMap(({ erased }) => erased)) versions.set(one.version, one);
        earlier.push(...(parts[0]?.earlier ?? []), earlierErasure(tombstones));
      }
      last = event;
    }
    if (events.length < CHUNK) break;
    await nextTurn();
  }
  const erased = [...versions.values()].sort((a, b) => a.version - b.version);
  return { erased, patients, earlier, last };
}

/** Returns the patients to which an event refers; for a tombstone, those to which the erased versions did. */
function patientsOf(event: RecordedEvent): string[] {
  const entry = catalog.find(({ eventType }) => eventType === event.type);
  if (entry) return referredIds(entry, upcast(event).data, patient.kind);
  return erasureStep(event) ? (dataAs<RecordErased>(event.data).patient_ids ?? []) : [];
}

function earlierErasure(tombstones: RecordedEvent[]): EarlierErasure {
  const [first] = tombstones as [RecordedEvent];
  const { erasure_id, reason } = dataAs<RecordErased>(first.data);
  const versions = tombstones.reduce(
    (count, { data }) => count + dataAs<RecordErased>(data).erased.length,
    0,
  );
  const { principal } = first.metadata;
  return { erasure_id, reason, erased_at: first.recordedAt, principal, versions };
}

/** Limit for what one tombstone lists, so that it stays below 1 MiB: bytes of versions and of patient ids. */
const BYTES_A_PART = 680_000;

/** What is erased, and why. */
export type Erasure = Pick<
  RecordErased,
  'kind' | 'record_id' | 'document_id' | 'reason' | 'with_encounters' | 'with_patient' | 'patient_id'
>;

/**
 * Called right before the first tombstone and before the last one with the stream's last event; rejects when the stream may not
 * be erased.
 */
export type ErasureGuard = (last: RecordedEvent) => Promise<void>;

/**
 * Appends tombstones for everything in a stream, and returns the last one: with it everything before is erased, for every reader.
 * A write in between restarts the process, so the write falls either before or after the erasure. Rejects with `not_found` when
 * the stream is empty, with `gone` when it is already erased, with `unreadable` when an event cannot be read, with `unavailable`,
 * and with the guard's error.
 */
export async function appendTombstones(
  eventLog: EventLog,
  caller: Caller,
  stream: string,
  title: string,
  erasure: Erasure,
  guard: ErasureGuard = async () => undefined,
): Promise<RecordedEvent> {
  for (;;) {
    const found = await streamToErase(eventLog, stream);
    const { last } = found;
    if (last === undefined) throw notFound(title);
    if (erasureStep(last) === 'done') throw gone(title, last.recordedAt);
    try {
      await appendParts(eventLog, caller, stream, erasure, found, last, () => guard(last));
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'version_conflict')) throw error;
      continue;
    }
    const done = await doneTombstone(eventLog, stream, caller.requestId);
    if (done) return done;
  }
}

async function appendParts(
  eventLog: EventLog,
  caller: Caller,
  stream: string,
  erasure: Erasure,
  found: StreamToErase,
  last: RecordedEvent,
  guard: () => Promise<void>,
): Promise<void> {
  const parts = partsOf(found);
  for (const [index, listed] of parts.entries()) {
    if (index === 0 || index === parts.length - 1) await guard();
    const data: RecordErased = {
      erasure_id: caller.requestId,
      ...erasure,
      ...(listed.patient_ids.length > 0 && { patient_ids: listed.patient_ids }),
      part: index + 1,
      parts: parts.length,
      erased: listed.erased,
      ...(index === 0 && found.earlier.length > 0 && { earlier: found.earlier }),
    };
    // One request may erase several records, so each event needs its own id.
    const event = newActorEvent(caller, caller.workspace, tombstoneType(erasure.kind), { ...data });
    await eventLog.append(stream, event, last.revision + index);
  }
}

/** Returns what each tombstone lists. */
function partsOf({
  erased,
  patients,
}: StreamToErase): Required<Pick<RecordErased, 'erased' | 'patient_ids'>>[] {
  const byVersion = Map.groupBy(patients, ([, version]) => version);
  const parts: Required<Pick<RecordErased, 'erased' | 'patient_ids'>>[] = [];
  let bytes = BYTES_A_PART;
  for (const version of erased) {
    const ids = byVersion.get(version.version)?.map(([id]) => id) ?? [];
    const size = Buffer.byteLength(JSON.stringify([version, ids]));
    if (bytes + size > BYTES_A_PART) {
      parts.push({ erased: [], patient_ids: [] });
      bytes = 0;
    }
    bytes += size;
    parts.at(-1)?.erased.push(version);
    parts.at(-1)?.patient_ids.push(...ids);
  }
  return parts;
}

/** Returns the last tombstone of an erasure, as recorded in the log; undefined when the stream has none. */
export async function doneTombstone(
  eventLog: EventLog,
  stream: string,
  erasureId: string,
): Promise<RecordedEvent | undefined> {
  const events = await eventLog.readStream(stream, { direction: 'backwards', limit: 10 });
  return events.find((event) => erasureStep(event) === 'done' && event.data.erasure_id === erasureId);
}

/**
 * Returns the last tombstones of what was erased together with a record, in the order of the log: they come after its own. Other
 * records that the same request erased, such as those of a retention run, are not among them. Rejects with `unavailable`.
 */
export async function takenWith(eventLog: EventLog, done: RecordedEvent): Promise<RecordedEvent[]> {
  const { erasure_id, kind, record_id } = dataAs<RecordErased>(done.data);
  if (kind !== patient.kind && kind !== encounter.kind) return [];
  const taken: RecordedEvent[] = [];
  const owners = new Set([recordStream(done.metadata.workspace, kind, record_id)]);
  let ownPatient = record_id;
  for await (const event of tombstonesAfter(eventLog, done.position)) {
    const one = dataAs<RecordErased>(event.data);
    if (erasureStep(event) !== 'done' || one.erasure_id !== erasure_id) continue;
    if (ownerKind(one.kind) !== undefined) {
      if (owners.has(ownerOfStream(event.stream))) taken.push(event);
      continue;
    }
    if (kind !== patient.kind) continue;
    if (one.kind === patient.kind && !one.with_patient) ownPatient = one.record_id;
    if (!isOfPatient(one, record_id, ownPatient)) continue;
    taken.push(event);
    owners.add(event.stream);
  }
  return taken;
}

/** Earlier versions of the service did not name the patient, and finished one, the last that was erased on its own, before the next. */
function isOfPatient(one: RecordErased, id: string, lastOwn: string): boolean {
  if (one.patient_id !== undefined) return one.patient_id === id;
  return lastOwn === id && (one.with_patient === true || one.patient_ids?.includes(id) === true);
}

/** Yields the tombstones of all workspaces after a position, up to the end of the log. Rejects with `unavailable`. */
export async function* tombstonesAfter(eventLog: EventLog, after: Position): AsyncGenerator<RecordedEvent> {
  const stop = new AbortController();
  const filter = { eventTypes: [...tombstoneTypes] };
  try {
    for await (const { events, caughtUp } of eventLog.follow({ after, filter, signal: stop.signal })) {
      yield* events;
      if (caughtUp) return;
    }
  } finally {
    stop.abort();
  }
}
