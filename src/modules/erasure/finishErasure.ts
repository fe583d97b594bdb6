import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { type RecordErased, tombstoneTypes } from '../../domain/events/recordErased.ts';
import { documentIdsOf, encounterReadinessStream, recordStream } from '../../domain/events/streamNames.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { appendTombstones, doneTombstone, type Erasure } from './appendTombstones.ts';
import { ErasureRefused } from './ErasureRefused.ts';
import { eraseEach } from './eraseEach.ts';
import { findDocuments } from './findDocuments.ts';
import { findReferrers } from './findReferrers.ts';
import { heldBefore } from './heldBefore.ts';
import { refuseHeld } from './holdsOver.ts';
import { isRestored } from './isRestored.ts';
import { referringAt } from './referringAt.ts';
import { type RemovalPorts, removeErased } from './removeErased.ts';
import { restoreRecord } from './restoreRecord.ts';

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
