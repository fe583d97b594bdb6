import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { documentSearchModel } from '../../../projections/documentSearch.ts';
import { models } from '../../../projections/index.ts';
import { readinessModel, rebuildOf } from '../../../projections/projection.ts';
import { documentsModel, encountersModel, recordsModel } from '../../../projections/records.ts';
import { dataAs, type ErasedEvent, type Position, type RecordedEvent } from '../../domain/events/event.ts';
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
import { documentIdsOf, encounterReadinessStream, recordStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { eventLeaf } from '../../domain/merkle.ts';
import { catalog, catalogEntry, referredIds } from '../../domain/records/catalog.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import {
  asUnreadable,
  gone,
  notFound,
  ServiceError,
  UnreadableError,
  unavailable,
} from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { MessageStore } from '../integrations/messages/store.ts';
import { caughtUp } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { removeAttempts } from '../webhooks/attempts.ts';
import { ErasureRefused, heldBefore, refuseHeld } from './holdState.ts';
import { isRestored, restoreRecord } from './holds.ts';
import { findDocuments, findReferrers, referringAt } from './references.ts';

/**
 * Decides how often erased data is purged from the stores' files. A purge reads the whole file of the read models, in small steps
 * between which requests are served. After a purge, none begins for as long as it took: erasures accumulate, and a caller waits for two
 * purges at most.
 */
export class Throttle {
  readonly #now: () => number;
  #nextAt = 0;

  /** `now` returns milliseconds that never decrease. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  get isDue(): boolean {
    return this.#now() >= this.#nextAt;
  }

  /** Awaits a purge, and schedules the next one by its duration. Rejects as the purge does; another one is then due at once. */
  async during(purge: Promise<void>): Promise<void> {
    const begun = this.#now();
    await purge;
    const ended = this.#now();
    this.#nextAt = ended + (ended - begun);
  }
}

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
  'kind' | 'record_id' | 'document_id' | 'reason' | 'with_encounters' | 'with_patient'
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

/** A rebuild that does not advance for this long was cut off. */
const CUT_OFF_MS = 10_000;

/**
 * Drops the read models that nothing maintains any more: those of earlier versions of the service, and what rebuilds have left that
 * were cut off. Rejects with `unavailable` while a rebuild is under way, as it may hold what is erased.
 */
export async function deleteOrphans(readModels: ReadModels, cutOffMs = CUT_OFF_MS): Promise<void> {
  for (const earlier of models.flatMap(earlierVersions)) await readModels.drop(earlier);
  const rebuilds: string[] = [];
  for (const rebuild of models.map(rebuildOf)) {
    if ((await readModels.builtFrom(rebuild)) !== undefined) rebuilds.push(rebuild);
  }
  if (rebuilds.length === 0) return;
  const positions = () => Promise.all(rebuilds.map((rebuild) => readModels.checkpoint(rebuild)));
  const before = await positions();
  await sleep(cutOffMs);
  const after = await positions();
  if (after.some((position, index) => position !== before[index])) throw unavailable('read model store');
  for (const rebuild of rebuilds) await readModels.drop(rebuild);
}

function earlierVersions(model: string): string[] {
  const [, name, version] = /^(.+_v)(\d+)$/.exec(model) ?? [];
  return Array.from({ length: Number(version) - 1 }, (_, index) => `${name}${index + 1}`);
}

/**
 * Calls `erase` with each of some things, and returns the tombstones of all. Rejects with `unreadable` for those that cannot be read,
 * once the others are erased.
 */
async function eraseEach<One>(
  ones: Iterable<One>,
  erase: (one: One) => Promise<RecordedEvent[]>,
): Promise<RecordedEvent[]> {
  const tombstones: RecordedEvent[] = [];
  let unread: UnreadableError | undefined;
  for (const one of ones) {
    const erased = await erase(one).catch(asUnreadable);
    if (erased instanceof UnreadableError) unread = erased;
    else tombstones.push(...erased);
  }
  if (unread) throw unread;
  return tombstones;
}

export interface RemovalPorts {
  eventLog: EventLog;
  documentStore: DocumentStore;
  stateStore: StateStore;
  /** Returns the ids of a workspace's webhooks, including deleted ones. */
  webhooksOf(workspace: string): string[];
}

/**
 * Removes what a last tombstone covers: the bytes of documents, the events before the first tombstone of its erasure, EMR
 * messages, and webhook delivery attempts. Can be repeated after an interruption. Rejects with `unavailable`.
 */
export async function removeErased(ports: RemovalPorts, done: RecordedEvent): Promise<void> {
  const { eventLog, documentStore, stateStore } = ports;
  const { stream } = done;
  const { parts } = dataAs<RecordErased>(done.data);
  const before = done.revision - parts + 1;
  const tombstones = await eventLog.readStream(stream, { from: before, limit: parts });
  // On EventStoreDB, a leader that has just begun may not show all of them yet.
  if (tombstones.length < parts) throw unavailable('event log');
  const erased = tombstones.flatMap((event) => dataAs<RecordErased>(event.data).erased);
  if (done.type === 'DocumentErased') await deleteFiles(eventLog, documentStore, stream, before);
  await eventLog.erase(
    stream,
    before,
    erased.map(
      ({ version, position, event_id: id, leaf }): ErasedEvent => ({
        id,
        stream,
        revision: version - 1,
        position,
        leaf,
      }),
    ),
  );
  await new MessageStore(ports).eraseAbout(stream, done.revision + 1);
  for (const webhookId of ports.webhooksOf(done.metadata.workspace)) {
    await removeAttempts(stateStore, webhookId, stream, before);
  }
}

/** Only the events say where the bytes are, so the bytes are deleted first. */
async function deleteFiles(
  eventLog: EventLog,
  documentStore: DocumentStore,
  stream: string,
  before: number,
): Promise<void> {
  for (let from = 0; from < before; ) {
    const events = await eventLog.readStream(stream, { from, limit: CHUNK });
    for (const event of events) {
      const isErased = event.revision < before && event.type === 'DocumentUploaded';
      if (isErased) await documentStore.delete(uploadedBy(event).object_id);
    }
    from = (events.at(-1)?.revision ?? before) + 1;
  }
}

/** What erasures work with. */
export interface ErasurePorts extends QueryPorts, RemovalPorts {}

/**
 * Does what remains once the last tombstone of an erasure is in the log: erases what goes with the record, and removes the
 * events, the bytes of documents and the attempts to deliver them to webhooks. Can be repeated, by any process, after an
 * interruption. Returns the last tombstones of everything erased with the record. Rejects with `conflict` (`ErasureRefused`) when
 * a legal hold came before the tombstone: the record has then been restored in full. Rejects with `unavailable`, and with
 * `unreadable` once everything that can be read is erased.
 */
export async function finishErasure(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const { kind, with_encounters } = dataAs<RecordErased>(done.data);
  await refuseHeldBefore(ports, done);
  const steps = [
    ...(with_encounters ? [eraseEncounters] : []),
    ...(kind === 'encounter' ? [eraseDocuments, eraseReadiness] : []),
    removeOwn,
  ];
  const others = await eraseEach(steps, (step) => step(ports, done));
  return [done, ...others];
}

async function removeOwn(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  await removeErased(ports, done);
  return [];
}

async function eraseEncounters(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const { kind, record_id, reason } = dataAs<RecordErased>(done.data);
  const { workspace } = done.metadata;
  const referrers = await ofErased(ports, done, await findReferrers(ports, workspace, kind, record_id));
  const referring = await referringAt(ports.eventLog, workspace, record_id, referrers, done.position);
  return eraseEach(referring, ({ kind: other, id }) => {
    const stream = recordStream(workspace, other, id);
    const erasure = { kind: other, record_id: id, reason, with_patient: true as const };
    return eraseAlso(ports, done, stream, catalogEntry(other).title, erasure);
  });
}

async function eraseDocuments(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const documents = await ofErased(ports, done, await findDocuments(ports, done.stream));
  return eraseEach(documents, ({ stream }) => eraseDocument(ports, done, stream));
}

/**
 * Returns what was there at a tombstone and goes with the erased record, also if it was changed since, by requests that were under
 * way; without what was changed since the id was used again: it goes with the new record. Must be called with what was found before.
 */
async function ofErased<Found extends { since: Position; position: Position }>(
  { eventLog }: ErasurePorts,
  { stream, revision, position: tombstone }: RecordedEvent,
  found: Found[],
): Promise<Found[]> {
  const [again] = await eventLog.readStream(stream, { from: revision + 1, limit: 1 });
  const until = again?.position ?? Number.POSITIVE_INFINITY;
  return found.filter(({ since, position }) => since < tombstone && position < until);
}

/**
 * Erases a document along with its encounter, whose last tombstone is given; does nothing if another erasure got to it first.
 * Returns the document's last tombstone. Rejects with `unavailable`, and with `unreadable`.
 */
export function eraseDocument(
  ports: ErasurePorts,
  done: RecordedEvent,
  stream: string,
): Promise<RecordedEvent[]> {
  const { record_id, reason } = dataAs<RecordErased>(done.data);
  const { documentId: document_id } = documentIdsOf(stream);
  const erasure = { kind: 'document', record_id, document_id, reason };
  return eraseAlso(ports, done, stream, 'Document', erasure);
}

/**
 * Erases an encounter's billing along with the encounter, whose last tombstone is given; does nothing if there is none, if
 * another erasure got to it first, or if the id was reused and the events came since. Returns the billing's last tombstone.
 * Rejects with `unavailable`, and with `unreadable`.
 */
export async function eraseReadiness(ports: ErasurePorts, done: RecordedEvent): Promise<RecordedEvent[]> {
  const { eventLog } = ports;
  const { record_id, reason } = dataAs<RecordErased>(done.data);
  const stream = encounterReadinessStream(done.metadata.workspace, record_id);
  const lastOf = (name: string) => eventLog.readStream(name, { direction: 'backwards', limit: 1 });
  const [last] = await lastOf(stream);
  if (last === undefined) return [];
  const [own] = await lastOf(done.stream);
  if (own?.id !== done.id && last.position > done.position && !tombstoneTypes.includes(last.type)) return [];
  return eraseAlso(ports, done, stream, 'Readiness', { kind: 'readiness', record_id, reason });
}

/**
 * Whether a record was under legal hold at its last tombstone depends only on the order of the log: every process that checks
 * gets the same answer, and so does whoever added the hold.
 */
async function refuseHeldBefore(ports: ErasurePorts, done: RecordedEvent): Promise<void> {
  const { kind, record_id, with_encounters } = dataAs<RecordErased>(done.data);
  const { workspace } = done.metadata;
  // Also those changed since, as the hold may be on one of them.
  const referrers = async () => (with_encounters ? findReferrers(ports, workspace, kind, record_id) : []);
  const held = await heldBefore(ports.eventLog, done, referrers);
  if (held) {
    await restoreRecord(ports.eventLog, done, held.record);
    refuseHeld(catalogEntry(kind).title, held.holding);
  }
  // What is held may no longer refer to the record.
  if (await isRestored(ports.eventLog, done)) {
    const message = `${catalogEntry(kind).title} was not erased: a legal hold came first.`;
    throw new ErasureRefused('held', message);
  }
}

/** Erases what goes with a record, on behalf of whoever requested that; does nothing if another erasure got to it first. */
async function eraseAlso(
  ports: ErasurePorts,
  done: RecordedEvent,
  stream: string,
  title: string,
  erasure: Erasure,
): Promise<RecordedEvent[]> {
  try {
    const also = await appendTombstones(ports.eventLog, callerOf(done), stream, title, erasure);
    return await finishErasure(ports, also);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'gone')) throw error;
    // Another process may be completing the same erasure: this one is complete when that part is.
    const also = await doneTombstone(ports.eventLog, stream, done.metadata.requestId);
    return also ? finishErasure(ports, also) : [];
  }
}

function callerOf({ metadata }: RecordedEvent): Caller {
  const { workspace, principal, requestId, clientIp, userAgent } = metadata;
  return { workspace, principal, requestId, ...(clientIp && { clientIp }), ...(userAgent && { userAgent }) };
}

/** Up to which tombstones the stores' files are purged, for each log, by its identity. If lost, they are purged again. */
export const purgesTable: StateTable<{ position: Position }> = {
  name: 'purges_v1',
  body: z.object({ position: z.number() }),
};

/** Read models that contain what was sent about records. */
const purgedModels = [recordsModel, encountersModel, documentsModel, documentSearchModel, readinessModel];
const ASK_MS = 200;
/** The service rests between purges, the longer the larger the files. */
const WAIT_MS = 300_000;

export interface PurgePorts extends QueryPorts {
  stateStore: StateStore;
}

/**
 * Purges erased data from all files of the stores, once the read models have caught up; an event log whose server scavenges is
 * left to that. Only the leader of the projectors does so: two of them would hold each other up. Rejects with `unavailable` when
 * readers hold a file for more than ten seconds, a read model does not advance, one is being rebuilt, and at the signal.
 */
export async function purgeErased(ports: PurgePorts, signal?: AbortSignal): Promise<void> {
  const { eventLog, readModels, stateStore } = ports;
  await modelsCaughtUp(ports);
  await deleteOrphans(readModels);
  await readModels.purge(signal);
  await stateStore.purge(signal);
  await eventLog.purge();
}

/**
 * Resolves once the service has purged everything erased up to a position from the stores' files. Rejects with `unavailable` when
 * the read models lag, as when no service is running, or after five minutes: the service continues then.
 */
export async function untilPurged(ports: PurgePorts, position: Position): Promise<void> {
  const { eventLog, stateStore } = ports;
  await modelsCaughtUp(ports);
  const log = await eventLog.identity();
  for (const until = performance.now() + WAIT_MS; ; await sleep(ASK_MS)) {
    const [row] = await stateStore.load(purgesTable, [log]);
    if (row && row.body.position >= position) return;
    if (performance.now() > until) throw unavailable('purge');
  }
}

async function modelsCaughtUp(ports: QueryPorts): Promise<void> {
  await Promise.all(purgedModels.map((model) => caughtUp(ports, model)));
}
